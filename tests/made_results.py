"""Results made by hand, quickly and without sampling: graphs drawn edge by edge from known probabilities."""

from __future__ import annotations

import numpy as np

from parnidag.results.packing import pack_graphs
from parnidag.results.posterior import Posterior
from parnidag.results.record import RunRecord

BATCHES = 10

HOSTILE = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror=window.hacked=1>',
    "=1+1",
    "a'b",
    "long " * 59 + "name!",
    "🌧️ rain",
    "مطر",
    "{{ 7*7 }}",
    "</script><script>window.hacked=1</script>",
    "tab\tand\nline",
    "javascript:window.hacked=1",
    "&lt;b&gt; \\u003c ${window.hacked=1}",
)
"""Column names that would run, break out, or fill the page if they were taken for anything but text."""


def made_record(names, *, edges=None, chains=4, draws=60, seed=1, apart=0.0, settings=None, **fields):
    """A record of independent draws. Nodes 2k and 2k + 1 may be joined in either direction, so that classes differ.

    `apart` shifts the probabilities of the last chain: chains that disagree.
    """
    rng = np.random.default_rng(seed)
    n = len(names)
    above = np.triu(np.ones((n, n), bool), 1)
    pairs = np.argwhere(above)
    wanted = min(len(pairs), 3 * n // 2 if edges is None else edges)
    chosen = pairs[rng.permutation(len(pairs))[:wanted]]
    probabilities = rng.choice([0.02, 0.3, 0.6, 0.95, 1.0], wanted)
    graphs = np.zeros((chains, draws, n, n), bool)
    for (i, j), probability in zip(chosen, probabilities, strict=True):
        by_chain = np.full(chains, probability)
        by_chain[-1] = np.clip(by_chain[-1] - apart, 0, 1)
        present = rng.random((chains, draws)) < by_chain[:, None]
        turned = (rng.random((chains, draws)) < 0.4) & (j == i + 1) & (i % 2 == 0)
        graphs[:, :, i, j] = present & ~turned
        graphs[:, :, j, i] = present & turned
    return record_of(names, graphs, rng, settings, **fields)


def bare_record(**fields):
    """A record with these fields; the others are as empty as they allow, and draws all of the graph without edges."""
    fields = {"nodes": ("A", "B", "C"), "log_posterior": np.zeros((0, 0)), "edge_codes": np.zeros(0, np.int32)} | fields
    shape = fields["log_posterior"].shape
    known = {
        "graph_index": np.zeros(shape, np.int64),
        "graph_offsets": np.zeros(2 if shape[1] else 1, np.int64),
        "graph_edges": np.zeros(0, np.int32),
        "batch_iterations": np.zeros((shape[0], 0), np.int64),
        "best_edges": np.zeros(0, np.int32),
        "best_log_posterior": float("nan"),
    } | fields
    counts = np.zeros((*known["batch_iterations"].shape, len(known["edge_codes"])), np.int64)
    return RunRecord(**({"batch_counts": counts} | known))


def packed(graphs):
    """The fields of a record that hold graphs (chain, draw, parent, child)."""
    flat = graphs.reshape(*graphs.shape[:2], graphs.shape[2] ** 2)
    index, offsets, edges = pack_graphs(np.nonzero(flat)[2].astype(np.int32), np.cumsum(flat.sum(axis=2)))
    return {"graph_index": index.reshape(graphs.shape[:2]), "graph_offsets": offsets, "graph_edges": edges}


def record_of(names, graphs, rng, settings=None, **fields):
    """The record of a run that stored every iteration, of given graphs (chain, draw, parent, child)."""
    chains, draws, n, _ = graphs.shape
    flat, known = graphs.reshape(chains * draws, n * n), packed(graphs)
    offsets = known["graph_offsets"]
    seen = np.flatnonzero(flat.any(axis=0)).astype(np.int32)
    values = flat.reshape(chains, BATCHES, draws // BATCHES, n * n)
    best = int(rng.integers(len(offsets) - 1))
    known |= {
        "nodes": tuple(names),
        "log_posterior": -1000.0 - 3.0 * rng.random(len(offsets) - 1)[known["graph_index"]],
        "edge_codes": seen,
        "batch_counts": values.sum(axis=2)[:, :, seen],
        "batch_iterations": np.full((chains, BATCHES), draws // BATCHES),
        "best_edges": known["graph_edges"][offsets[best] : offsets[best + 1]],
        "best_log_posterior": -1000.0,
        "statistics": {"acceptance": np.full(chains, 0.25), "cpu_seconds": np.full(chains, 2.0)},
        "settings": {"draws": draws, "seed": 7, "n_rows": 250, **(settings or {})},
        "prior_probabilities": np.where(np.eye(n, dtype=bool), 0.0, 0.1),
    }
    return RunRecord(**(known | fields))


def made_result(names, **options):
    """The result of `made_record`."""
    return Posterior(made_record(names, **options))


def flat_result(nodes, *, chains=4, draws=40, seed=1):
    """A result that knows nothing: dense graphs along random orders, so that all edges are about equally probable."""
    rng = np.random.default_rng(seed)
    place = rng.permuted(np.tile(np.arange(nodes), (chains, draws, 1)), axis=2)
    graphs = (place[..., :, None] < place[..., None, :]) & (rng.random((chains, draws, nodes, nodes)) < 0.9)
    return Posterior(record_of([f"measured_quantity_{k}" for k in range(nodes)], graphs, rng))


def exact_result(names, seed=1):
    """An exact result without draws."""
    rng = np.random.default_rng(seed)
    n = len(names)
    probabilities = np.triu(rng.random((n, n)), 1)
    return Posterior(bare_record(nodes=tuple(names), exact_probabilities=probabilities, log_evidence=-12.25))
