"""Effects given a graph beside what DoWhy makes of the same graph and the same rows."""

import logging

import numpy as np
import pandas as pd
import pytest

import parnidag
from parnidag import Data, scores

NAMES = list("abcde")


@pytest.fixture(scope="module")
def rows():
    values = parnidag.simulate(nodes=5, edges=6, rows=300, seed=4).values * [1, 5, 0.1, 1, 20]
    return pd.DataFrame(values, columns=NAMES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("cause", "effect"), ["ab", "ae", "bd", "de", "ca"])
def test_dowhy_finds_the_same_slopes(rows, cause, effect):
    """Paths of least squares and adjustment agree to the last digit in a complete graph, which fits any rows."""
    dowhy = pytest.importorskip("dowhy")
    logging.getLogger("dowhy").setLevel(logging.ERROR)
    complete = pd.DataFrame(np.triu(np.ones((5, 5), bool), 1), NAMES, NAMES)
    graph = parnidag.as_graph(complete)
    posterior = parnidag.exact(Data(rows), score=scores.BIC(), draws=1, seed=1)
    ours = posterior.effects().given_graph(graph).loc[cause, effect]
    if NAMES.index(cause) > NAMES.index(effect):
        assert ours == 0
        return
    model = dowhy.CausalModel(rows, treatment=cause, outcome=effect, graph=graph.to_dowhy())
    estimand = model.identify_effect(proceed_when_unidentifiable=True)
    theirs = model.estimate_effect(estimand, method_name="backdoor.linear_regression").value
    assert ours == pytest.approx(theirs, rel=1e-8)
