from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parnidag.results import packing
from parnidag.results.packing import pack_store
from parnidag.run.draws import Block, MemoryStore
from parnidag.run.run_file import RunFile

N = 5
GRAPHS = st.lists(st.sampled_from([code for code in range(N * N) if code % (N + 1)]), unique=True, max_size=5)
CHAINS = st.lists(st.lists(GRAPHS, min_size=12, max_size=12), min_size=1, max_size=3)


def filled(store, chains, sizes):
    """A store with the draws of all chains, in blocks of these sizes."""
    for chain, graphs in enumerate(chains):
        start = 0
        for size in sizes:
            some = graphs[start : start + size]
            start += size
            lengths = np.array([len(graph) for graph in some], np.int32)
            codes = np.array([code for graph in some for code in graph], np.int32)
            store.append(chain, Block(lengths, codes, np.arange(start - size, start) + 100.0 * chain))
    return store


def expected(chains, draws, required):
    """The same the plain way: a dictionary of all graphs."""
    graphs = [tuple(sorted([*graph, *required])) for graphs in chains for graph in graphs[:draws]]
    numbers = {graph: number for number, graph in enumerate(dict.fromkeys(graphs))}
    edges = np.array([code for graph in numbers for code in graph], np.int32)
    return np.array([numbers[graph] for graph in graphs]), np.cumsum([0, *map(len, numbers)]), edges


def found(chains, draws, required, sizes, store):
    packed = pack_store(filled(store, chains, sizes), len(chains), draws, np.array(required, np.int32))
    scores = np.arange(draws) + 100.0 * np.arange(len(chains))[:, None]
    np.testing.assert_array_equal(packed["log_posterior"], scores)
    return packed["graph_index"].ravel(), packed["graph_offsets"], packed["graph_edges"].whole()


def same(one, other):
    return all(
        np.array_equal(first, second) and first.dtype == second.dtype for first, second in zip(one, other, strict=True)
    )


@settings(max_examples=100, deadline=None)
@given(CHAINS, st.integers(1, 12), st.sampled_from([[12], [1] * 12, [5, 4, 3], [11, 1]]))
def test_packing_in_blocks_is_packing_at_once(chains, draws, sizes):
    chains = [[sorted(set(graph) - {7}) for graph in graphs] for graphs in chains]
    for required in ([], [7]):
        wanted = expected(chains, draws, required)
        assert same(found(chains, draws, required, sizes, MemoryStore(len(chains))), wanted)


def test_so_it_is_from_a_file(tmp_path):
    rng = np.random.default_rng(3)
    chains = [[rng.choice([1, 2, 3, 4], rng.integers(5), replace=False).tolist() for _ in range(12)] for _ in range(2)]
    store = RunFile(tmp_path / "run.draws", temporary=True)
    assert same(found(chains, 12, [], [5, 4, 3], store), expected(chains, 12, []))
    store.close()
    assert list(tmp_path.iterdir()) == []


def by_order(codes, lengths):
    places = np.arange(1, len(codes) + 1, dtype=np.uint64)
    return twice(np.array([(codes[a:b] * places[: b - a]).sum() for a, b in bounds(lengths)], np.uint64))


def constant(codes, lengths):
    return twice(np.zeros(len(lengths), np.uint64))


def by_length(codes, lengths):
    return twice(lengths.astype(np.uint64))


def plain_sum(codes, lengths):
    return twice(np.array([codes[a:b].sum() for a, b in bounds(lengths)], np.uint64))


def bounds(lengths):
    ends = np.cumsum(lengths)
    return zip(ends - lengths, ends, strict=True)


def twice(values):
    return np.stack([values, values])


@pytest.mark.parametrize("broken", [by_order, constant, by_length, plain_sum])
def test_a_fingerprint_that_is_none_is_noticed(monkeypatch, broken):
    """Graphs whose edges come in another order, are as many, or have the same sum of codes."""
    chains = [[[1, 2], [2, 1], [1, 3], [4], [], [3, 1], [1, 2], [2, 3], [3], [1, 4], [2, 4], [4, 1]]]
    monkeypatch.setattr(packing, "fingerprints", broken)
    assert not same(found(chains, 12, [], [12], MemoryStore(1)), expected(chains, 12, []))
