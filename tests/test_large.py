"""Large graphs: memory is estimated and refused in time, arrays take memory only where written, maps stay readable."""

import math
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from plotting import exact

import parnidag
from parnidag import EdgePrior, api, plots, samplers, scores
from parnidag._util import free_memory
from parnidag.data.table import Data
from parnidag.errors import ParnidagError
from parnidag.kernels.lazy_zeros import MAPPED_FROM, lazy_zeros
from parnidag.plots.maps import largest_in_blocks
from parnidag.results.prior_marginals import alike_marginal, counted_marginal, drawn_marginals
from parnidag.run import memory
from parnidag.run.memory import LARGE, check_memory, need_of, time_in_words
from parnidag.samplers.base import Prepared, new_chain
from parnidag.target import Target

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def target_of(n, **prior):
    values = np.random.default_rng(n).normal(size=(20, n))
    return Target.build(Data(values), scores.Gaussian(), EdgePrior(**prior))


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ── room ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((3, 4), np.int32), ((700, 800), np.float64), (2 * MAPPED_FROM, np.bool_)]
)
def test_room_is_an_ordinary_array_of_zeros(shape, dtype, busy):
    array = lazy_zeros(shape, dtype, busy=busy)
    assert array.shape == np.empty(shape).shape
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert not array.any()
    array.reshape(-1)[-1] = 1
    assert pickle.loads(pickle.dumps(array)).sum() == 1


@on_linux
def test_room_takes_memory_only_where_it_is_written():
    """Also after the same amount was used and freed, when NumPy's own zeros would be cleared memory."""
    size = 400 * 2**20
    before = resident_bytes()
    array = lazy_zeros(size, np.uint8)
    array[: size // 8] = 1
    part = resident_bytes() - before
    array[:] = 1
    whole = resident_bytes() - before
    del array
    assert size / 8 * 0.9 < part < size / 4
    assert whole > 0.9 * size  # the measurement sees what is written
    assert resident_bytes() - before < size / 8


def test_working_arrays_are_as_large_as_moves_can_need():
    n = 30
    pairs = n * (n - 1) // 2
    for kernel, most in (("gibbs", 1), ("printed", pairs)):
        target = target_of(n)
        chain = new_chain(target, target.required, 1, 0)
        prepared = Prepared(warm=np.full((n, n), 0.1))
        samplers.PARNI(kernel=kernel, moves="paper").begin(target, prepared, chain, 100)
        assert chain.own.parni.undo_codes.size == most
        assert chain.own.parni.block_codes.size == pairs
        assert chain.graph.edges.size == pairs
    assert target_of(n, max_parents=2).most_edges == 2 * n
    assert target_of(n).most_edges == pairs
    assert target_of(3, max_parents=2).most_edges == 3


@pytest.mark.parametrize("sampler", [samplers.PARNI(), samplers.ADR(exchange=0.1), samplers.PARNI(kernel="printed")])
def test_the_list_of_edges_holds_the_densest_graph(sampler):
    """A prior for full graphs fills every place that a limit on parents leaves."""
    table = parnidag.simulate(nodes=6, edges=6, rows=30, seed=2)
    prior = EdgePrior(h=0.999, max_parents=2)
    posterior = parnidag.sample(
        table.values, prior=prior, sampler=sampler, draws=50, thin=50, chains=1, seed=1, progress=False
    )
    sizes = posterior.graphs.sum(axis=(2, 3))
    assert sizes.max() == 9  # two parents for each of the nodes, but the first in an order has none and the next one
    assert posterior.graphs.sum(axis=2).max() == 2


# ── memory and time ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_estimate_of_a_chain_is_the_size_of_its_arrays():
    """At 120 nodes most arrays are still NumPy's own, and all that grow with the pairs of nodes are counted."""
    n = 120
    target = target_of(n)
    chain = new_chain(target, target.required, 1, 0)
    samplers.PARNI(moves="paper").begin(target, Prepared(warm=np.full((n, n), 0.1)), chain, 100)
    graph, own = chain.graph, chain.own.parni
    arrays = (graph.parents, graph.position, graph.visits, graph.visits, own.eta_odds, own.eta_logit, own.pairs)
    cache = chain.scratch(target).cache.nbytes
    estimate = need_of(target, samplers.PARNI(), 1).a_chain
    assert estimate - memory.batch_bytes(n) == pytest.approx(sum(array.nbytes for array in arrays) + cache, rel=0.02)
    assert need_of(target, samplers.ADR(), 1).a_chain < estimate
    assert need_of(target_of(n, max_parents=3), samplers.PARNI(), 1).a_chain < estimate


def test_need_adds_up():
    need = memory.memory_need(1000, chains=4)
    assert need.total == need.shared + max(need.search, 4 * need.a_chain)
    assert memory.memory_need(1000, chains=16).total == pytest.approx(need.shared + 16 * need.a_chain)
    assert memory.memory_need(2000, chains=4).a_chain > 2 * need.a_chain
    assert memory.memory_need(1000, chains=4, searched=False).search == 0


def test_need_of_a_search_is_near_what_was_measured():
    """With 3000 edges and 200 rows the search of 2000 nodes took 3.6 GB; tables of 3000 nodes are not made."""
    assert memory.memory_need(2000, chains=1).total == pytest.approx(3.6e9, rel=0.05)
    assert memory.memory_need(2500, chains=1).search == 2 * memory.DEFAULT_MEMORY
    assert memory.memory_need(3000, chains=1).search == 0


def test_a_run_that_does_not_fit_is_refused_before_anything_is_done(monkeypatch):
    values = np.random.default_rng(1).normal(size=(20, LARGE))
    need = need_of(target_of(LARGE), samplers.PARNI(), 40)

    def never(*arguments, **named):
        raise AssertionError("work was done before the refusal")

    monkeypatch.setattr(api, "prior_of_edges", never)
    monkeypatch.setattr(memory, "free_bytes", lambda: need.shared + 10.5 * need.a_chain)
    with pytest.raises(
        ParnidagError, match=rf"{LARGE} columns: 40 chains of PARNI would take about .* of memory"
    ) as refusal:
        parnidag.sample(values, chains=40, progress=False)
    assert "chains=" in str(refusal.value)
    assert "max_parents=10" in str(refusal.value)
    with pytest.raises(AssertionError, match="work was done"):  # what fits goes on
        parnidag.sample(values, chains=4, progress=False)


def test_the_advised_number_of_chains_fits(monkeypatch):
    target = target_of(LARGE)
    need = need_of(target, samplers.PARNI(), 40)
    for chains in (2, 9, 39):
        free = (need.shared + max(chains * need.a_chain, need.search)) / (1 - memory.KEPT_FREE) * 1.0001
        monkeypatch.setattr(memory, "free_bytes", lambda free=free: free)
        check_memory(target, samplers.PARNI(), chains)
        with pytest.raises(ParnidagError) as refusal:
            check_memory(target, samplers.PARNI(), 40)
        advised = int(str(refusal.value).split("chains=")[1].split(",")[0])
        check_memory(target, samplers.PARNI(), advised)
        assert advised >= chains
        with pytest.raises(ParnidagError):
            check_memory(target, samplers.PARNI(), advised + 1)


def test_small_graphs_and_unknown_machines_are_not_refused(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 1.0)
    check_memory(target_of(20), samplers.PARNI(), 4)
    monkeypatch.setattr(memory, "free_bytes", lambda: None)
    check_memory(target_of(LARGE), samplers.PARNI(), 10**6)


@on_linux
def test_free_memory_is_read(monkeypatch):
    free = free_memory.free_bytes()
    assert free is not None
    assert 1e6 < free < 1e15
    monkeypatch.setattr(free_memory, "_available", lambda: 5e9)
    for left, least in ((None, 5e9), (2e9, 2e9)):
        monkeypatch.setattr(free_memory, "_left_in_group", lambda left=left: left)
        assert free_memory.free_bytes() == least


def test_the_time_of_a_large_run_is_announced(monkeypatch):
    monkeypatch.setattr(memory, "usable_cores", lambda: 2)
    target = target_of(LARGE)
    iterations = 2 * 60 * 10 * memory.ITERATIONS_PER_SECOND  # ten minutes, and some seconds for the search
    assert time_in_words(target, samplers.PARNI(), iterations) == f"n={LARGE}: about 10 minutes on 2 free cores"
    assert time_in_words(target, samplers.PARNI(), 1) == f"n={LARGE}: about 1 minute on 2 free cores"
    assert time_in_words(target, samplers.ADR(), iterations) is None
    assert time_in_words(target_of(20), samplers.PARNI(), iterations) is None


# ── prior marginals ───────────────────────────────────────────────────────────────────────────────────────────────────

DRAWS, SEEDS = 30, 30


@pytest.mark.parametrize(("n", "h"), [(80, 1 / 80), (12, 0.4)])
def test_drawn_graphs_tell_the_marginal_of_alike_edges(n, h):
    found = [alike_marginal(n, math.log(h / (1 - h)), n - 1, DRAWS, seed) for seed in range(SEEDS)]
    error = np.std(found, ddof=1) / math.sqrt(SEEDS)
    truth = counted_marginal(n, math.log(h / (1 - h)))
    assert abs(np.mean(found) - truth) < 4.5 * error
    assert abs(h - truth) > 9 * error  # graphs with cycles counted as well would be told apart


def test_drawn_graphs_heed_the_limit_on_parents():
    n, log_odds = 15, 0.0
    status = np.where(np.eye(n, dtype=bool), 0, 1).astype(np.uint8)
    found = [alike_marginal(n, log_odds, 2, DRAWS, seed) for seed in range(SEEDS)]
    other = [drawn_marginals(np.full((n, n), log_odds), status, 2, DRAWS, seed)[0, 1] for seed in range(SEEDS)]
    error = math.hypot(np.std(found, ddof=1), np.std(other, ddof=1)) / math.sqrt(SEEDS)
    assert abs(np.mean(found) - np.mean(other)) < 4.5 * error
    assert abs(np.mean(found) - counted_marginal(n, log_odds)) > 9 * error


# ── maps ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_map_of_many_nodes_joins_cells_and_loses_no_edge():
    n = 450
    matrix = np.zeros((n, n))
    matrix[3, 440], matrix[4, 441] = 0.9, 0.2
    ax = plots.heatmap(exact(matrix), order="given")
    shown = np.ma.filled(ax.images[0].get_array(), 0.0)
    assert shown.shape == (150, 150)
    assert shown[1, 146] == 0.9
    assert (shown > 0).sum() == 2
    assert "largest of each 3 × 3" in ax.get_title()
    assert max(ax.figure.get_size_inches()) < 26
    assert "each" not in plots.heatmap(exact(matrix[:9, :9]), order="given").get_title()


def test_the_largest_of_blocks_is_that_of_a_loop():
    rng = np.random.default_rng(5)
    matrix = rng.uniform(size=(23, 23))
    np.fill_diagonal(matrix, np.nan)
    found = largest_in_blocks(matrix, 4)
    for row, column in np.ndindex(found.shape):
        block = matrix[4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
        assert found[row, column] == np.nanmax(block)
