"""DiBS by its authors (Lorch et al., 2021): particles that move by gradients towards probable graphs.

The marginal variant with the BGe score, a scale-free prior and every other setting as in the authors' example of
linear Gaussian data. DiBS counts each particle once, DiBS+ weights them by their marginal likelihood, which is what
the library calls the mixture.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from benchmarks.baselines.base import Baseline, Estimate, Package
from benchmarks.harness.task import NoMemory
from parnidag._util.free_memory import free_bytes
from parnidag.graphs.adjacency import topological_order

DIBS_LIB = Package("dibs", "dibs-lib", "dibs", ("dibs.inference", "dibs.models"))
SHARE = 0.8
"""Of the CPU limit: the rest is for a step that is slower than all before it, and for what is compiled at the end."""

BYTES = 12
"""A step holds an n × n matrix for each node of each sampled graph: 4 bytes a number, and 2.6 times that measured."""


class _OutOfTime(Exception):  # noqa: N818 — no error
    """Carries the particles out of the library's loop, which knows no other way to end early."""


def run_dibs(
    values: NDArray[np.float64],
    seed: int,
    seconds: float,
    *,
    weighted: bool,
    particles: int,
    steps: int,
    edges_per_node: int,
    gradient_samples: int,
) -> Estimate:
    """Run all the steps, or as many as the CPU limit leaves time for."""
    clock = Clock(SHARE * seconds)
    nodes = values.shape[1]
    need, free = BYTES * particles * gradient_samples * nodes**3, free_bytes()
    if free is not None and need > free:
        raise NoMemory(f"a step needs about {need / 1e9:.0f} GB of memory, {free / 1e9:.0f} GB are free")

    from dibs.inference import MarginalDiBS
    from dibs.models import BGe, ScaleFreeDAGDistribution
    from jax import numpy as jnp
    from jax import random

    model = MarginalDiBS(
        x=jnp.asarray(values),
        graph_model=ScaleFreeDAGDistribution(nodes, n_edges_per_node=edges_per_node),
        likelihood_model=BGe(n_vars=nodes),
        n_grad_mc_samples=gradient_samples,
    )
    try:
        graphs = model.sample(
            key=random.PRNGKey(seed), n_particles=particles, steps=steps, callback=clock.tick, callback_every=1
        )
    except _OutOfTime as stop:
        graphs = model.particle_to_g_lim(stop.args[0])
    if not clock.finite:
        return Estimate(note=f"numbers are not finite after {clock.steps} steps")
    return summarise(np.asarray(graphs) != 0, model, weighted, f"{clock.steps} steps")


class Clock:
    """Counts steps and ends the library's loop when the next step might not fit into the time."""

    def __init__(self, seconds: float) -> None:
        self.end = time.process_time() + seconds
        self.steps, self.longest, self.finite = 0, 0.0, True
        self.last: float | None = None

    def tick(self, *, zs: Any, t: int, **_: object) -> None:
        """Be called after each step."""
        self.finite = bool(np.isfinite(zs).all())  # waits for the step, which was only ordered when this is called
        now = time.process_time()
        if self.last is not None:  # the first step compiles
            self.longest = max(self.longest, now - self.last)
        self.steps, self.last = t, now
        if not self.finite or now + self.longest > self.end:
            raise _OutOfTime(zs)


def summarise(graphs: NDArray[np.bool_], model: Any, weighted: bool, done: str) -> Estimate:
    """Turn particles into probabilities; those with a cycle have none, as in the authors' own figures."""
    acyclic = graphs[[topological_order(graph) is not None for graph in graphs]]
    note = f"{done}, {len(acyclic)} of {len(graphs)} particles are acyclic"
    if not len(acyclic):
        return Estimate(note=note)
    log_weights = np.asarray(model.get_mixture(acyclic.astype(np.int32)).logp, float)
    _, which, counts = np.unique(acyclic, axis=0, return_inverse=True, return_counts=True)
    shares = softmax(log_weights) if weighted else np.full(len(acyclic), 1 / len(acyclic))
    # particles that are there as often as others: the more probable one
    order = log_weights if weighted else counts[which.ravel()] + softmax(log_weights) / 2
    return Estimate(None, np.tensordot(shares, acyclic, 1), acyclic[np.argmax(order)], note)


def _variant(name: str, weighted: bool) -> Baseline:
    settings = {"particles": 20, "steps": 3000, "edges_per_node": 2, "gradient_samples": 128}
    return Baseline(name, DIBS_LIB, run_dibs, {"standardise": True, "weighted": weighted, **settings})


DIBS, DIBS_PLUS = _variant("DiBS", weighted=False), _variant("DiBS+", weighted=True)
