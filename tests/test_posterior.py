from __future__ import annotations

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import bare_record

from parnidag.errors import ParnidagError
from parnidag.results import datatree
from parnidag.results import record as record_module
from parnidag.results.convergence import edge_ess, edge_mcse, edge_rhat
from parnidag.results.packing import pack_graphs
from parnidag.results.posterior import Posterior
from parnidag.results.record import RunRecord

NODES = ("A", "B", "C", "D")
EDGES = {("A", "B"): 0.95, ("A", "C"): 0.5, ("B", "C"): 0.2, ("B", "D"): 1.0, ("C", "D"): 0.03}
CHAINS, DRAWS, THIN, BATCHES = 3, 200, 10, 20


def codes_of(edges):
    return np.array([NODES.index(parent) * len(NODES) + NODES.index(child) for parent, child in edges], dtype=np.int32)


def simulated(seed=1):
    """A record of independent graphs, and the 0/1 values (chain, iteration, edge) it was made from."""
    rng = np.random.default_rng(seed)
    values = rng.random((CHAINS, DRAWS * THIN, len(EDGES))) < np.array(list(EDGES.values()))
    codes = codes_of(EDGES)
    stored = values[:, ::THIN].reshape(-1, len(codes))
    index, offsets, edges = pack_graphs(
        np.concatenate([rng.permutation(codes[row]) for row in stored]), np.cumsum(stored.sum(axis=1))
    )
    record = RunRecord(
        nodes=NODES,
        log_posterior=-100 + values[:, ::THIN] @ np.array([1.0, 0.5, -1.0, 2.0, -2.0]),
        graph_index=index.reshape(CHAINS, DRAWS),
        graph_offsets=offsets,
        graph_edges=edges,
        edge_codes=codes,
        batch_counts=values.reshape(CHAINS, BATCHES, -1, len(codes)).sum(axis=2),
        batch_iterations=np.full((CHAINS, BATCHES), DRAWS * THIN // BATCHES),
        best_edges=codes_of([("A", "B"), ("B", "D")]),
        best_log_posterior=-96.5,
        statistics={"acceptance": np.array([0.2, 0.3, 0.4])},
        settings={"draws": DRAWS, "seed": np.int64(7)},
    )
    return record, values


def exact_record(**changes):
    probabilities = np.zeros((4, 4))
    for (parent, child), probability in EDGES.items():
        probabilities[NODES.index(parent), NODES.index(child)] = probability
    return bare_record(**({"nodes": NODES, "exact_probabilities": probabilities, "log_evidence": -12.25} | changes))


# ── probabilities and graphs ──────────────────────────────────────────────────────────────────────────────────────────


def test_edge_probabilities_are_over_all_kept_iterations():
    record, values = simulated()
    found = Posterior(record).edge_probabilities
    assert list(found.index) == list(found.columns) == list(NODES)
    assert (found.index.name, found.columns.name) == ("parent", "child")
    for edge, (parent, child) in enumerate(EDGES):
        assert found.loc[parent, child] == pytest.approx(values[:, :, edge].mean(), abs=1e-15)
        stored_only = values[:, ::THIN, edge].mean()
        assert stored_only == 1.0 or found.loc[parent, child] != stored_only
    assert found.to_numpy().sum() == pytest.approx(values.mean(axis=(0, 1)).sum())


def test_chains_weigh_the_same_whatever_their_length():
    record, _ = simulated()
    counts, iterations = record.batch_counts.copy(), record.batch_iterations.copy()
    counts[0, 5:], iterations[0, 5:] = 0, 0
    counts[2], iterations[2] = 0, 0
    found = Posterior(replace(record, batch_counts=counts, batch_iterations=iterations)).edge_probabilities
    by_chain = [counts[0].sum(axis=0) / iterations[0].sum(), counts[1].sum(axis=0) / iterations[1].sum()]
    np.testing.assert_allclose(found.to_numpy().ravel()[record.edge_codes], np.mean(by_chain, axis=0))


def test_what_is_handed_out_cannot_change_the_result():
    result = Posterior(simulated()[0])
    before = result.edge_probabilities
    handed_out = result.edge_probabilities
    handed_out.iloc[:, :] = 9.0
    result.nodes.append("E")
    result.settings["draws"] = 0
    pd.testing.assert_frame_equal(result.edge_probabilities, before)
    assert result.nodes == list(NODES)
    assert result.settings == {"draws": DRAWS, "seed": 7}
    with pytest.raises(ValueError, match="read-only"):
        result.log_posterior[0, 0] = 0.0


@pytest.mark.parametrize("draws_at_once", [7, 4096])
def test_expanded_graphs_against_naive_loops(monkeypatch, draws_at_once):
    monkeypatch.setattr(record_module, "_DRAWS_AT_ONCE", draws_at_once)
    record, values = simulated()
    result = Posterior(record)
    expected = np.zeros((CHAINS, DRAWS, 4, 4), dtype=bool)
    for chain in range(CHAINS):
        for draw in range(DRAWS):
            for edge, (parent, child) in enumerate(EDGES):
                present = values[chain, draw * THIN, edge]
                expected[chain, draw, NODES.index(parent), NODES.index(child)] = present
    np.testing.assert_array_equal(result.graphs, expected)
    assert result.graphs.dtype == np.bool_
    np.testing.assert_array_equal(result.graph_at(2, 17), expected[2, 17])
    np.testing.assert_array_equal(result.graph_at(-1, -1), expected[-1, -1])
    assert result.n_graphs == len(np.unique(expected.reshape(-1, 16), axis=0))


def test_graph_outside_the_draws_is_refused():
    with pytest.raises(ParnidagError, match=r"\(3, 0\) is outside the stored 3 chains × 200 draws"):
        Posterior(simulated()[0]).graph_at(3, 0)


def test_expansions_beyond_the_limit_are_refused_before_allocating(monkeypatch):
    result = Posterior(simulated()[0])
    monkeypatch.setattr(record_module, "EXPANDED_LIMIT_BYTES", 3000)
    with pytest.raises(ParnidagError, match=r"3 × 200 × 4 × 4 bytes.*graph_at"):
        result.graphs  # noqa: B018
    monkeypatch.setattr(record_module, "EXPANDED_LIMIT_BYTES", 2999)
    with pytest.raises(ParnidagError, match="min_probability"):
        result.to_datatree()
    assert result.to_datatree(min_probability=0.1)["posterior"].sizes["edge"] == 4


def test_best_graph():
    result = Posterior(simulated()[0])
    best = result.best
    assert best.probabilities[0, 1] == result.edge_probabilities.loc["A", "B"]
    assert best.edges == [("A", "B"), ("B", "D")]
    assert best.log_posterior == -96.5
    assert "A → B" in repr(best)
    assert "2 edges" in repr(best)


def test_networkx_graph_has_all_nodes_and_probabilities():
    result = Posterior(simulated()[0])
    graph = result.graph(threshold=0.9)
    assert isinstance(graph, nx.DiGraph)
    assert list(graph.nodes) == list(NODES)
    assert set(graph.edges) == {("A", "B"), ("B", "D")}
    assert graph.edges["A", "B"]["probability"] == result.edge_probabilities.loc["A", "B"]
    exactly = result.edge_probabilities.loc["A", "C"].item()
    assert ("A", "C") in result.graph(threshold=exactly).edges


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), "0.5", True, None])
def test_senseless_probabilities_are_refused(value):
    result = Posterior(simulated()[0])
    with pytest.raises(ParnidagError, match="threshold must be a number above 0"):
        result.graph(value)
    for tabulated in (result.summary, result.to_datatree):
        with pytest.raises(ParnidagError, match="min_probability must be a number from 0"):
            tabulated(value)
    with pytest.raises(ParnidagError, match="threshold must be a number above 0"):
        result.graph(0)


# ── summary ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_summary_lists_edges_by_probability_with_their_errors():
    record, _ = simulated()
    record = replace(record, prior_probabilities=np.full((4, 4), 0.25))
    table = Posterior(record).summary()
    columns = ["parent", "child", "probability", "mcse", "ess", "rhat", "prior", "bayes_factor", "evidence"]
    assert list(table.columns) == [*columns, "coefficient"]
    assert table["coefficient"].isna().all()  # nothing is kept of the data
    assert list(zip(table["parent"], table["child"], strict=True)) == sorted(EDGES, key=EDGES.get, reverse=True)
    assert list(table["evidence"]) == ["included", "included", "inconclusive", "inconclusive", "excluded"]
    mcse = edge_mcse(record.batch_counts, record.batch_iterations)
    row = table[(table["parent"] == "B") & (table["child"] == "C")].iloc[0]
    assert row["mcse"] == mcse[2]
    assert row["rhat"] == edge_rhat(record.batch_counts, record.batch_iterations)[2]
    assert row["ess"] == edge_ess(np.array([row["probability"]]), mcse[2:3], CHAINS * DRAWS * THIN)[0]


def test_summary_has_no_figures_for_edges_that_never_replace():
    table = Posterior(simulated()[0]).summary(min_probability=0)
    assert len(table) == 4 * 3
    constant = table["probability"].isin([0.0, 1.0])
    assert constant.sum() == 12 - 4
    for name in ("mcse", "ess", "rhat"):
        assert table[name].dtype == pd.Float64Dtype()
        assert (table[name].isna() == constant).all()
    assert "nan" not in table.to_string().lower()


def test_representation_is_short_and_shows_edges_and_verdict():
    text = repr(Posterior(simulated()[0]))
    assert "4 nodes" in text
    assert "3 chains × 200 draws" in text
    assert "B → D" in text
    assert "1.00" in text
    assert Posterior(simulated()[0]).diagnostics().verdict in text
    long_names = tuple(f"a long and\nwinding column name {'x' * 60} {i}" for i in range(4))
    text = repr(Posterior(replace(simulated()[0], nodes=long_names)))
    assert len(text.splitlines()) == 1 + len(EDGES) + 1
    assert max(map(len, text.splitlines())) <= 80


# ── exact results ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("chains", [0, 1])
def test_exact_results_without_draws_answer_everything(chains):
    result = Posterior(exact_record(log_posterior=np.zeros((chains, 0)), edge_codes=codes_of(EDGES)))
    assert result.edge_probabilities.loc["A", "C"] == 0.5
    assert result.log_evidence == -12.25
    assert result.best is None
    assert result.n_graphs == 0
    assert result.log_posterior.shape == (chains, 0)
    assert result.graphs.shape == (chains, 0, 4, 4)
    assert set(result.graph(0.5).edges) == {("A", "B"), ("A", "C"), ("B", "D")}
    table = result.summary()
    assert len(table) == len(EDGES)
    assert table[["mcse", "ess", "rhat"]].isna().all(axis=None)
    found = result.diagnostics()
    assert (found.converged, found.verdict) == (True, "exact: edge probabilities have no Monte-Carlo error")
    assert found.iterations is None
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert "exact: edge probabilities have no Monte-Carlo error" in repr(result)
    assert result.to_datatree()["edges"]["probability"].sel(parent="A", child="C") == 0.5


def test_exact_results_may_have_draws():
    record, _ = simulated()
    names = ("log_posterior", "graph_index", "graph_offsets", "graph_edges", "best_edges", "best_log_posterior")
    result = Posterior(exact_record(**{name: getattr(record, name) for name in names}))
    assert result.edge_probabilities.loc["A", "C"] == 0.5
    assert result.graphs.shape == (CHAINS, DRAWS, 4, 4)
    assert result.best.log_posterior == -96.5
    assert result.diagnostics().converged is True
    assert result.summary()["mcse"].isna().all()
    assert "exact, 600 independent draws (" in repr(result)


# ── DataTree ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_datatree_has_the_groups_and_dimensions_that_arviz_reads(monkeypatch):
    monkeypatch.setattr(datatree, "as_arviz_reads_it", lambda tree: tree)  # an older ArviZ gets another form of it
    monkeypatch.setattr(record_module, "_DRAWS_AT_ONCE", 7)
    record, values = simulated()
    tree = Posterior(record).to_datatree()
    assert isinstance(tree, xr.DataTree)
    draws = tree["posterior"]
    assert draws["present"].dims == ("chain", "draw", "edge")
    stored = values[:, ::THIN]
    for edge, (parent, child) in enumerate(EDGES):
        np.testing.assert_array_equal(draws["present"].sel(edge=f"{parent} → {child}"), stored[:, :, edge])
    np.testing.assert_array_equal(draws["edge_count"], stored.sum(axis=2))
    np.testing.assert_array_equal(tree["sample_stats/lp"], record.log_posterior)
    assert json.loads(tree.attrs["settings"]) == {"draws": DRAWS, "seed": 7}
    assert json.loads(tree.attrs["statistics"]) == {"acceptance": [0.2, 0.3, 0.4]}
    # Quantiles interpolate, which booleans cannot: the usual summaries need numbers.
    assert draws["present"].quantile(0.5, dim=("chain", "draw")).sel(edge="B → D") == 1.0


# ── runs of any size ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_that_ended_while_tuning_is_refused():
    record, _ = simulated()
    nothing = replace(record, batch_counts=0 * record.batch_counts, batch_iterations=0 * record.batch_iterations)
    with pytest.raises(ParnidagError, match="no kept iterations"):
        Posterior(nothing)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(0, 6), st.integers(0, 2**31))
def test_small_runs_of_any_shape_can_be_summarised(chains, draws, seed):
    rng = np.random.default_rng(seed)
    record, _ = simulated()
    n_graphs = len(record.graph_offsets) - 1
    small = replace(
        record,
        log_posterior=rng.normal(size=(chains, draws)),
        graph_index=rng.integers(n_graphs, size=(chains, draws)),
        batch_counts=rng.integers(0, 3, size=(chains, 2, len(EDGES))),
        batch_iterations=np.full((chains, 2), 2),
        statistics={},
    )
    result = Posterior(small)
    assert result.graphs.shape == (chains, draws, 4, 4)
    assert (
        "nan" not in repr(result).lower() + repr(result.diagnostics()).lower() + result.summary(0).to_string().lower()
    )
    assert json.dumps(result.diagnostics().to_dict(), allow_nan=False)
