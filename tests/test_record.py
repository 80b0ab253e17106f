from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parnidag.errors import ParnidagError
from parnidag.results.packing import pack_graphs
from parnidag.results.record import RunRecord, settings_json

FIELDS = {
    "nodes": ("A", "B", "C"),
    "log_posterior": np.array([[-3.0, -2.0]]),
    "graph_index": np.array([[0, 1]]),
    "graph_offsets": np.array([0, 0, 2]),
    "graph_edges": np.array([1, 5], dtype=np.int32),
    "edge_codes": np.array([1, 5], dtype=np.int32),
    "batch_counts": np.array([[[3, 4]]]),
    "batch_iterations": np.array([[5]]),
    "best_edges": np.array([1, 5], dtype=np.int32),
    "best_log_posterior": -2.0,
}


@given(st.lists(st.lists(st.integers(0, 8), unique=True), max_size=12))
def test_packing_against_a_naive_twin(graphs):
    codes = np.array([code for graph in graphs for code in graph], dtype=np.int32)
    index, offsets, edges = pack_graphs(codes, np.cumsum([len(graph) for graph in graphs], dtype=np.int64))
    unpacked = [edges[offsets[u] : offsets[u + 1]].tolist() for u in index]
    assert unpacked == [sorted(graph) for graph in graphs]
    assert len(offsets) - 1 == len({frozenset(graph) for graph in graphs})
    assert (index.dtype, offsets.dtype, edges.dtype) == (np.int64, np.int64, np.int32)
    edges[:0] = 0  # the arrays are ordinary ones, not read-only views of bytes
    assert edges.flags.writeable


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": ("A", "B", "A")}, "unique"),
        ({"graph_index": np.zeros((1, 1), dtype=np.int64)}, "same"),
        ({"batch_iterations": np.ones((1, 2), dtype=np.int64)}, "batch_counts"),
        ({"graph_edges": np.zeros(3, dtype=np.int32)}, "graph_offsets"),
        ({"graph_offsets": np.zeros(0, dtype=np.int64)}, "graph_offsets"),
        ({"graph_index": np.full((1, 2), 99)}, "point at stored graphs"),
        ({"best_edges": np.array([9], dtype=np.int32)}, "edge codes"),
        ({"exact_probabilities": np.zeros((2, 2))}, "exact_probabilities"),
        ({"start_offsets": np.array([0, 1])}, "start_offsets"),
        ({"start_edges": np.array([1], dtype=np.int32)}, "start_offsets"),
        ({"start_offsets": np.array([0, 2]), "start_edges": np.array([1], dtype=np.int32)}, "start_offsets"),
        ({"start_offsets": np.array([0, 0, 1]), "start_edges": np.array([1], dtype=np.int32)}, "for each chain"),
        ({"start_offsets": np.array([0, 1]), "start_edges": np.array([9], dtype=np.int32)}, "edge codes"),
    ],
)
def test_inconsistent_records_are_refused(changes, message):
    with pytest.raises(ParnidagError, match=message):
        RunRecord(**(FIELDS | changes))


def test_where_chains_started_is_known_or_not():
    record = RunRecord(**FIELDS, start_offsets=np.array([0, 2]), start_edges=np.array([1, 5], dtype=np.int32))
    assert record.starts[0].tolist() == [1, 5]
    assert RunRecord(**FIELDS).starts is None


def test_settings_with_numpy_values_become_plain_json():
    record = RunRecord(**FIELDS, settings={"seed": np.int64(7), "β": np.arange(2), "note": None})
    assert json.loads(settings_json(record)) == {"seed": 7, "β": [0, 1], "note": None}
    with pytest.raises(TypeError, match="cannot be written as JSON"):
        settings_json(RunRecord(**FIELDS, settings={"odd": object()}))
