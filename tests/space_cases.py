"""What order MCMC and partition MCMC are both judged by: small spaces with their exact laws, and chains of any cut."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import dags
import numpy as np
import reference_spaces as twin
from judging import assert_same_run, short_segments

from parnidag import EdgePrior, scores
from parnidag.data import Data
from parnidag.target import Target

RING = {n: np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1) for n in (4, 5)}
LAWS = {
    "full": (4, EdgePrior(h="paper"), None, None),
    "constrained": (4, EdgePrior(h=0.3, required=[(0, 2)], forbidden=[(3, 1), (1, 0)], max_parents=2), None, None),
    "ring": (4, EdgePrior(h="paper"), RING[4], False),
    "five": (5, EdgePrior(h="paper"), None, None),
    "five, ring with extras": (5, EdgePrior(h=0.3, max_parents=3), RING[5], True),
}
"""Number of nodes, prior, space and `plus_one`."""

CONSTRAINED = EdgePrior(h=0.2, required=[(0, 1), (5, 3)], forbidden=[(2, 4), (7, 0)], max_parents=3)
"""For nine nodes."""


def make_target(values, prior=None):
    return Target.build(Data(values), scores.Gaussian(), EdgePrior(h="paper") if prior is None else prior)


def exact_laws(values, prior, space, plus_one):
    """All graphs with their posterior probabilities on a space, and those that order MCMC gives them."""
    n = values.shape[1]
    target = make_target(values, prior)
    considered = np.ones((n, n), bool) if space is None else space.astype(bool)
    sets = twin.scored_sets(target, considered, bool(plus_one))
    graphs = dags.all_dags(n)
    return graphs, *(twin.graph_law(sets, graphs, weigh_orders) for weigh_orders in (False, True))


def assert_cuts_do_not_change_a_bit(quick, table, monkeypatch):
    """Neither the lengths of segments nor the process a chain runs in; the seed does. The table has nine nodes."""
    options = {"thin": 37, "prior": CONSTRAINED, "space": np.eye(9, k=1) + np.eye(9, k=3)}
    expected = quick(table, **options)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert_same_run(expected, quick(table, executor=pool, **options))
    short_segments(monkeypatch, 7)
    assert_same_run(expected, quick(table, **options))
    assert (quick(table, **{**options, "seed": 2}).log_posterior != expected.log_posterior).any()
