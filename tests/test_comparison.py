from __future__ import annotations

import numpy as np
import pytest
from test_posterior import NODES, changed, exact_record, simulated

from parnidag.comparison import compare, root_mean_square
from parnidag.errors import ParnidagError
from parnidag.posterior import Posterior


def test_a_result_equals_itself():
    result = Posterior(simulated()[0])
    assert compare(result, result).empty
    assert root_mean_square(result, result) == 0.0


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
    assert both["z"].isna().all()
    assert "nan" not in both.to_string().lower()


def test_nodes_are_matched_by_name():
    probabilities = exact_record().exact_probabilities
    order = [2, 0, 3, 1]
    turned = exact_record(nodes=tuple(NODES[k] for k in order), exact_probabilities=probabilities[np.ix_(order, order)])
    assert compare(Posterior(exact_record()), Posterior(turned)).empty


def test_different_nodes_are_refused_by_name():
    other = Posterior(changed(simulated()[0], nodes=("A", "B", "C", "E")))
    with pytest.raises(ParnidagError, match="only one of them has D, E"):
        compare(Posterior(simulated()[0]), other)
