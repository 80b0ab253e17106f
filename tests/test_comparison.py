from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_posterior import NODES, exact_record, simulated

from parnidag.errors import ParnidagError
from parnidag.results.compare import compare
from parnidag.results.posterior import Posterior


def test_a_result_equals_itself():
    result = Posterior(simulated()[0])
    assert compare(result, result).empty


def test_differences_come_with_their_monte_carlo_error():
    first, second = (Posterior(simulated(seed)[0]) for seed in (1, 2))
    table = compare(first, second).set_index(["parent", "child"])
    a, b = (result.summary(0).set_index(["parent", "child"]) for result in (first, second))
    for edge in table.index:
        row = table.loc[edge]
        assert row["difference"] == b["probability"][edge] - a["probability"][edge]
        assert row["mcse"] == pytest.approx(np.hypot(a["mcse"][edge], b["mcse"][edge]))
        assert row["z"] == pytest.approx(row["difference"] / row["mcse"])
    assert (table["difference"].abs().diff().dropna() <= 0).all()
    assert table["z"].abs().max() < 5  # two samples of the same law


def test_an_exact_result_has_no_error_of_its_own():
    sampled, exact = Posterior(simulated()[0]), Posterior(exact_record())
    row = compare(sampled, exact).set_index(["parent", "child"]).loc[("B", "C")]
    assert row["mcse"] == sampled.summary().set_index(["parent", "child"])["mcse"]["B", "C"]
    both = compare(exact, Posterior(exact_record(exact_probabilities=np.zeros((4, 4)))))
    assert (both["mcse"] == 0).all()
    assert both["z"].isna().all()
    assert "nan" not in both.to_string().lower()


def test_nodes_are_matched_by_name():
    probabilities = exact_record().exact_probabilities
    order = [2, 0, 3, 1]
    turned = exact_record(nodes=tuple(NODES[k] for k in order), exact_probabilities=probabilities[np.ix_(order, order)])
    assert compare(Posterior(exact_record()), Posterior(turned)).empty


def test_different_nodes_are_refused_by_name():
    other = Posterior(replace(simulated()[0], nodes=("A", "B", "C", "E")))
    with pytest.raises(ParnidagError, match=r"^second: must be on the same nodes as first; only one of them has D, E"):
        compare(Posterior(simulated()[0]), other)


def reordered(record, order):
    """The same sampled result with its nodes in another order."""
    n = len(order)
    place = np.argsort(order)

    def moved(codes):
        return (place[codes // n] * n + place[codes % n]).astype(np.int32)

    graphs = np.split(moved(record.graph_edges), record.graph_offsets[1:-1])
    rank = np.argsort(moved(record.edge_codes))
    return replace(
        record,
        nodes=tuple(record.nodes[k] for k in order),
        graph_edges=np.concatenate([np.sort(graph) for graph in graphs]),
        edge_codes=moved(record.edge_codes)[rank],
        batch_counts=record.batch_counts[:, :, rank],
        rare_codes=moved(record.rare_codes),
        best_edges=np.sort(moved(record.best_edges)),
    )


def test_errors_are_matched_by_name_too():
    """Probabilities in the right order with errors in another would go unnoticed among exact results."""
    first, second = (simulated(seed)[0] for seed in (1, 2))
    expected = compare(Posterior(first), Posterior(second))
    for order in ([2, 0, 3, 1], [3, 2, 1, 0]):
        pd.testing.assert_frame_equal(compare(Posterior(first), Posterior(reordered(second, order))), expected)
        turned = compare(Posterior(reordered(first, order)), Posterior(second)).set_index(["parent", "child"])
        pd.testing.assert_frame_equal(
            turned.sort_index(), expected.set_index(["parent", "child"]).sort_index(), check_exact=True
        )
    assert expected["mcse"].dropna().nunique() > 2


def test_small_differences_are_left_out():
    first, second = (Posterior(simulated(seed)[0]) for seed in (1, 2))
    everything = compare(first, second)
    limit = everything["difference"].abs().iloc[1]
    pd.testing.assert_frame_equal(compare(first, second, min_difference=limit), everything.head(1))
    assert compare(first, second, 1).empty


@pytest.mark.parametrize("value", ["a", np.nan, -1, -0.01, 1.5, True, None])
def test_a_senseless_limit_is_refused(value):
    result = Posterior(simulated()[0])
    with pytest.raises(ParnidagError, match=r"^min_difference must be a number from 0 to 1, got"):
        compare(result, result, min_difference=value)


def test_only_results_are_compared():
    result = Posterior(simulated()[0])
    with pytest.raises(ParnidagError, match=r"^second: must be a Posterior, .* not 3"):
        compare(result, 3)
    with pytest.raises(ParnidagError, match=r"^first: must be a Posterior"):
        compare(result.edge_probabilities, result)
