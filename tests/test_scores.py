"""The scores against vectors, independent derivations and equivalence; their names, and what they refuse."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import reference
from scipy import integrate, stats
from scipy.special import multigammaln
from score_cases import SCORES
from test_discrete_score import largest_change

import parnidag
from parnidag import EdgePrior, ParnidagError, scores
from parnidag._util.splines import curves
from parnidag.data import Data
from parnidag.errors import DataError
from parnidag.scores.by_name import NAMES, choose_score, named_score
from parnidag.tables.all_sets import all_local_scores
from parnidag.tables.build import build_tables
from parnidag.target import Target

ROWS = np.array(
    [
        (0.1, -0.4, 1.2),
        (1.3, 0.8, -0.5),
        (-0.7, -1.1, 0.3),
        (0.9, 1.5, -1.4),
        (-1.6, -0.2, 0.8),
        (0.4, 0.6, 0.1),
    ]
)
EVEN = EdgePrior(h=0.5)
"""Adds nothing to a score."""


def test_every_named_score_is_public_and_gets_the_tests_of_all_scores():
    kinds = {home.rpartition(".")[2] for home in NAMES.values()}
    assert kinds <= set(scores.__all__)
    assert kinds == set(SCORES)


def target_of(values, score, **data):
    return Target.build(Data(values, **data), score, EVEN)


def example(n=5, rows=40, seed=1):
    rng = np.random.default_rng(seed)
    mixing = np.triu(rng.normal(size=(n, n)), 1)
    return rng.normal(size=(rows, n)) @ np.linalg.inv(np.eye(n) - mixing) + rng.normal(size=n)


def standardised(values):
    return (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)


def test_determinants_beyond_the_range_of_numbers():
    """Columns of scale 10⁷, whose determinant has four hundred digits."""
    target = target_of(1e7 * np.random.default_rng(8).normal(size=(60, 28)), scores.BGe(standardise=False))
    table, parents = target.problem.table, np.arange(1, 27)
    a, b, c = table.coefficients[0][:, parents.size]
    among, shared = table.gram[0][np.ix_(parents, parents)], table.gram[0][0, parents]
    left = table.own[0] - shared @ np.linalg.solve(among, shared)
    determinant = np.linalg.slogdet(among)[1]
    assert determinant > 400 * np.log(10)
    assert target.local(0, parents) == pytest.approx(a + b * determinant + c * np.log(left), rel=1e-12)


# vectors


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (scores.Gaussian(g=10), (-7.5693562143, -7.4262079617, -8.0457874209)),
        (scores.GPrior(g=10), (-7.5693562143, -6.8738889441, -7.2500749272)),
        (scores.BGe(alpha_mu=1, alpha_w=5, standardise=False), (-11.0807442980, -9.1100722255, -9.0365762916)),
    ],
)
def test_known_values(score, expected):
    target = target_of(ROWS, score)
    found = [target.local(0, []), target.local(1, [0]), target.local(2, [0, 1])]
    assert found == pytest.approx(expected, abs=1e-9)


# independent derivations


def covariance_score(x, covariance):
    """Log density of x ~ Normal(0, σ² V), with σ² integrated over p(σ²) = 1/σ² numerically."""
    rows = len(x)
    _, log_determinant = np.linalg.slogdet(covariance)
    quadratic = x @ np.linalg.solve(covariance, x)
    peak = math.log(quadratic / rows)

    def log_density(log_variance):
        variance = math.exp(log_variance)
        return -rows / 2 * math.log(2 * math.pi * variance) - log_determinant / 2 - quadratic / variance / 2

    top = log_density(peak)
    area, _ = integrate.quad(lambda t: math.exp(log_density(t) - top), peak - 12, peak + 12, epsabs=0, epsrel=1e-11)
    return top + math.log(area)


@pytest.mark.parametrize("parents", [[], [0], [2, 4], [0, 1, 2, 4]])
def test_slab_scores_are_normal_regressions_with_the_variance_integrated_out(parents):
    values = example()
    z = standardised(values)
    x, design = z[:, 3], z[:, parents]
    slab = np.eye(len(z)) + 7.0 * design @ design.T
    assert target_of(values, scores.Gaussian(g=7)).local(3, parents) == pytest.approx(
        covariance_score(x, slab), abs=1e-7
    )
    hat = design @ np.linalg.pinv(design) if parents else np.zeros((len(z), len(z)))
    zellner = np.eye(len(z)) + 7.0 * hat
    assert target_of(values, scores.GPrior(g=7)).local(3, parents) == pytest.approx(
        covariance_score(x, zellner), abs=1e-7
    )
    assert target_of(values, scores.GPrior()).local(3, parents) == pytest.approx(
        covariance_score(x, np.eye(len(z)) + len(z) * hat), abs=1e-7
    )


def sequential_evidence(values, alpha_mu, alpha_w, n, mean):
    """Log p(columns) under the normal-Wishart prior of all n nodes: a product of multivariate t predictions."""
    width = values.shape[1]
    scale = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1) * np.eye(width)
    freedom, weight, centre = alpha_w - n + width, alpha_mu, mean.copy()
    total = 0.0
    for row in values:
        df = freedom - width + 1
        shape = scale * (weight + 1) / (weight * df)
        total += stats.multivariate_t(centre, shape, df=df).logpdf(row)
        off = row - centre
        scale = scale + weight / (weight + 1) * np.outer(off, off)
        centre = (weight * centre + row) / (weight + 1)
        freedom, weight = freedom + 1, weight + 1
    return total


@pytest.mark.parametrize("parents", [[], [0], [2, 4], [0, 1, 2, 4]])
@pytest.mark.parametrize("settings", [(1.0, None, None), (0.3, 9.5, 0.7), (2.0, 11.0, (0.1, -1.0, 0.0, 2.0, 0.5))])
def test_bge_is_a_product_of_t_predictions(parents, settings):
    values, (alpha_mu, alpha_w, mean) = example(), settings
    n, family = 5, [*parents, 3]
    centre = np.broadcast_to(np.asarray(0.0 if mean is None else mean), (n,)).astype(float)
    freedom = n + alpha_mu + 1 if alpha_w is None else alpha_w
    expected = sequential_evidence(values[:, family], alpha_mu, freedom, n, centre[family])
    if parents:
        expected -= sequential_evidence(values[:, parents], alpha_mu, freedom, n, centre[parents])
    found = target_of(values, scores.BGe(alpha_mu, alpha_w, mean, standardise=False)).local(3, parents)
    assert found == pytest.approx(expected, rel=1e-10)


def test_bge_in_closed_form():
    """Kuipers, Moffa and Heckerman (2014), equations 17 and 18, over all nodes at once."""
    values = example()
    rows, n = values.shape
    alpha_mu, alpha_w = 1.0, n + 2.0
    scale = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    off = values.mean(axis=0)
    centred = values - off
    matrix = scale * np.eye(n) + centred.T @ centred + rows * alpha_mu / (rows + alpha_mu) * np.outer(off, off)
    expected = (
        -n * rows / 2 * math.log(math.pi)
        + n / 2 * math.log(alpha_mu / (rows + alpha_mu))
        + multigammaln((rows + alpha_w) / 2, n)
        - multigammaln(alpha_w / 2, n)
        + alpha_w / 2 * n * math.log(scale)
        - (rows + alpha_w) / 2 * np.linalg.slogdet(matrix)[1]
    )
    target = target_of(values, scores.BGe(standardise=False))
    assert sum(target.local(j, range(j)) for j in range(n)) == pytest.approx(expected, rel=1e-12)


def test_standardised_bge_does_not_know_the_units():
    values = example()
    one = target_of(values, scores.BGe(standardise=True))
    other = target_of(values * np.array([1e-3, 1.0, 50.0, 7.0, 1e5]) + 3.0, scores.BGe(standardise=True))
    assert one.local(3, [0, 1]) == pytest.approx(other.local(3, [0, 1]), rel=1e-9)
    assert one.local(3, [0, 1]) == pytest.approx(
        target_of(standardised(values), scores.BGe()).local(3, [0, 1]), rel=1e-9
    )
    assert target_of(values, scores.BGe(standardise=False)).local(3, []) != pytest.approx(
        target_of(values * 2, scores.BGe(standardise=False)).local(3, []) + len(values) * math.log(2), abs=1e-3
    )


def test_bic_is_the_largest_likelihood_less_its_price():
    values = example()
    z = standardised(values)
    for parents in ([], [0, 4]):
        design = np.column_stack([np.ones(len(z)), z[:, parents]])
        left = z[:, 3] - design @ np.linalg.lstsq(design, z[:, 3], rcond=None)[0]
        likelihood = stats.norm(scale=math.sqrt((left**2).mean())).logpdf(left).sum()
        expected = likelihood - (len(parents) + 2) / 2 * math.log(len(z))
        assert target_of(values, scores.BIC()).local(3, parents) == pytest.approx(expected, rel=1e-10)


def build(values, prior, g=10.0):
    return Target.build(Data(values), scores.Gaussian(g=g), prior)


def test_random_parent_sets_against_dense_algebra():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(40, 12)) @ rng.normal(size=(12, 12))
    target = build(values, EdgePrior(h=0.2, log_odds={(3, 4): 1.25}), g=3.0)
    odds = np.full((12, 12), math.log(0.25))
    odds[3, 4] += 1.25
    for _ in range(200):
        node = int(rng.integers(12))
        parents = [p for p in range(12) if p != node and rng.random() < 0.4]
        naive = reference.gaussian_local_score(values, node, parents, 3.0) + odds[parents, node].sum()
        assert target.local(node, parents) == pytest.approx(naive, rel=1e-11)


def test_more_parents_than_rows_is_well_defined():
    values = np.random.default_rng(2).normal(size=(5, 9))
    target = build(values, EdgePrior(h="paper"))
    naive = reference.gaussian_local_score(values, 0, range(1, 9), 10.0) + 8 * math.log((1 / 9) / (8 / 9))
    assert target.local(0, range(1, 9)) == pytest.approx(naive, rel=1e-10)


def test_tables_hold_every_allowed_parent_set():
    values = np.random.default_rng(4).normal(size=(30, 5))
    target = build(values, EdgePrior(forbidden=[(0, 3)], required=[(2, 1)], max_parents=2))
    tables = all_local_scores(target)
    for node in range(5):
        others = [k for k in range(5) if k != node]
        for subset in range(16):
            parents = {other for bit, other in enumerate(others) if subset >> bit & 1}
            allowed = len(parents) <= 2 and not (node == 3 and 0 in parents) and (node != 1 or 2 in parents)
            allowed = allowed and not (node == 2 and 1 in parents)  # the reverse of a required edge
            found = tables[node, subset]
            assert found == (pytest.approx(target.local(node, parents), rel=1e-12) if allowed else -math.inf)


def test_log_posterior_of_a_graph_sums_local_scores():
    values = reference.small_values(4)
    target = build(values, EdgePrior(h="paper"))
    graph = np.zeros((4, 4), bool)
    graph[0, 1] = graph[1, 3] = graph[0, 3] = True
    assert target.log_posterior(graph) == pytest.approx(
        reference.log_target(values, graph, 10.0, target.problem.log_odds), rel=1e-12
    )


# equivalence


@pytest.mark.parametrize(
    ("score", "equivalent"),
    [
        (scores.BGe(standardise=False), True),
        (scores.BGe(alpha_mu=0.2, alpha_w=9.0, mean=1.0, standardise=False), True),
        (scores.BIC(), True),
        (scores.Gaussian(), False),
        (scores.GPrior(g=10), False),
        (scores.Spline(), False),
    ],
)
def test_turning_a_covered_edge(score, equivalent):
    change = largest_change(target_of(example(), score).local, 5, seed=3)
    assert change < 1e-11 if equivalent else change > 1e-5


# interventions


GAUSSIAN = {
    "paper": scores.Gaussian(),
    "gprior": scores.GPrior(g=10),
    "bge": scores.BGe(standardise=False),
    "bic": scores.BIC(),
    "spline": scores.Spline(),
}


def interfered(values, seed=2):
    """Node 1 was set in some rows, node 3 in others."""
    mask = np.zeros(values.shape, bool)
    rows = np.random.default_rng(seed).permutation(len(values))
    mask[rows[:9], 1] = mask[rows[5:17], 3] = True
    return mask


def regression_score(name, x, design):
    """The score of centred columns by its definition; a parent of the spline has one straight column and three bent."""
    hat = design @ np.linalg.pinv(design)
    if name == "bic":
        likelihood = stats.norm.logpdf(x - hat @ x, scale=(x - hat @ x).std()).sum()
        return likelihood - (design.shape[1] + 2) / 2 * math.log(len(x))
    slabs = np.tile([10.0, 0.1, 0.1, 0.1], design.shape[1] // 4) if name == "spline" else 10.0
    return covariance_score(x, np.eye(len(x)) + (10.0 * hat if name == "gprior" else (design * slabs) @ design.T))


@pytest.mark.parametrize("name", GAUSSIAN)
def test_nodes_use_the_rows_in_which_they_were_not_set(name):
    """BGe of the rows that are left; the other scores too, in units, and with bends, of all rows."""
    values = example()
    mask, z = interfered(values), standardised(values)
    bends = 3 if name == "spline" else 0
    target = target_of(values, GAUSSIAN[name], interventions=mask)
    for node in range(5):
        kept = ~mask[:, node]
        for parents in ([], [0], [2, 4] if node not in (2, 4) else [1, 3]):
            parents = [parent for parent in parents if parent != node]
            if name == "bge":
                expected = target_of(values[kept], scores.BGe(standardise=False)).local(node, parents)
            else:
                columns = [z[:, node]] + [np.column_stack([z[:, k], curves(z[:, k], bends)]) for k in parents]
                centred = np.column_stack(columns)[kept]
                centred -= centred.mean(axis=0)
                expected = regression_score(name, centred[:, 0], centred[:, 1:])
            assert target.local(node, parents) == pytest.approx(expected, rel=1e-7)


NOISE = np.where(np.arange(20) % 3, 0.3, 0.1 + 0.2)
"""One number, up to rounding."""


def still(level, seed=3):
    """Nodes 2 and 3 were set in rows in which alone node 4 varies; it is at `level` in the others."""
    values, mask = example(seed=seed), np.zeros((40, 5), bool)
    mask[20:, 2:4] = True
    values[:20, 4] = level
    return values, mask


def without_a_trace(x, design, rng):
    """A column that varies by next to nothing, and not with any other: the limit of one that does not vary."""
    others = np.column_stack([np.ones(len(x)), x, design])
    left = rng.normal(size=len(x))
    return 1e-7 * (left - others @ np.linalg.lstsq(others, left, rcond=None)[0])


@pytest.mark.parametrize("level", [1.5, 0.0, 1e8, NOISE, 1e8 + np.spacing(1e8) * (np.arange(20) % 2)])
@pytest.mark.parametrize("name", ["paper", "gprior", "bic", "spline"])
def test_a_parent_that_does_not_vary_where_its_child_was_observed(name, level):
    """The slabs cost nothing then, since (I + g XᵀX) has a row of the identity; the others charge a coefficient."""
    values, mask = still(level)
    target, z = target_of(values, GAUSSIAN[name], interventions=mask), standardised(values)
    bends, rng = 3 if name == "spline" else 0, np.random.default_rng(1)
    price = {"paper": 0.0, "spline": 0.0, "gprior": math.log1p(10.0) / 2, "bic": math.log(20) / 2}[name]
    for node, others in [(2, []), (2, [0]), (3, [0, 1])]:
        bent = [np.column_stack([z[:, k], curves(z[:, k], bends)]) for k in others]
        centred = np.column_stack([z[:, node], *bent])[:20]
        centred -= centred.mean(axis=0)
        x, design = centred[:, 0], centred[:, 1:]
        nothing = without_a_trace(x, design, rng)[:, None] * np.ones(1 + bends)
        found = target.local(node, [*others, 4])
        assert found == pytest.approx(regression_score(name, x, np.column_stack([design, nothing])), rel=1e-9)
        assert found == pytest.approx(target.local(node, others) - price, rel=1e-9)


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("level", [1.5, 0.0, NOISE])
def test_bge_of_a_parent_that_does_not_vary_where_its_child_was_observed(standardise, level):
    """Its prior has a mean as well, so that even one number says something; as by its predictions row by row."""
    values, mask = still(level)
    target = target_of(values, scores.BGe(standardise=standardise), interventions=mask)
    rows = (standardised(values) if standardise else values)[:20]
    for family, parents in [([4, 2], [4]), ([0, 4, 3], [0, 4])]:
        family_score, parents_score = (
            sequential_evidence(rows[:, nodes], 1.0, 7.0, 5, np.zeros(len(nodes))) for nodes in (family, parents)
        )
        assert target.local(family[-1], parents) == pytest.approx(family_score - parents_score, rel=1e-10)


def test_runs_know_that_a_parent_does_not_vary_where_its_child_was_observed():
    """Then its edge has its prior odds, and the other direction what the rows say."""
    rng = np.random.default_rng(8)
    values, mask = rng.normal(size=(30, 2)), np.zeros((30, 2), bool)
    values[:15, 0], mask[15:, 1] = 2.0, True
    data = Data(values, interventions=mask)
    z = standardised(values)
    backward = regression_score("paper", z[:, 0], z[:, [1]]) - regression_score("paper", z[:, 0], np.zeros((30, 0)))
    odds = 1 / 3
    weights = np.array([1.0, odds, odds * math.exp(backward)])
    expected = weights[1:] / weights.sum()
    prior = EdgePrior(h=0.25)
    exact = parnidag.exact(data, score="paper", prior=prior).edge_probabilities.to_numpy()
    assert exact[[0, 1], [1, 0]] == pytest.approx(expected, rel=1e-9)
    sampler = parnidag.samplers.PARNI()
    sampled = parnidag.sample(data, score="paper", prior=prior, sampler=sampler, draws=4000, seed=1, progress=False)
    assert sampled.edge_probabilities.to_numpy()[[0, 1], [1, 0]] == pytest.approx(expected, abs=0.02)


def test_bends_that_few_values_leave_no_room_for_cost_nothing():
    values = example()
    values[:, 0] = np.repeat([0.0, 1.0], 20)
    z = standardised(values)
    straight = covariance_score(z[:, 3], np.eye(40) + 10.0 * np.outer(z[:, 0], z[:, 0]))
    assert target_of(values, scores.Spline()).local(3, [0]) == pytest.approx(straight, abs=1e-7)


def test_interventions_tell_directions():
    """Observed alone, x → y and y → x are even; rows in which x was set decide."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    mask = np.zeros((300, 2), bool)
    mask[150:, 0] = True
    x[150:] = 3.0 * rng.normal(size=150)
    values = np.column_stack([x, 0.8 * x + rng.normal(size=300)])
    observed = parnidag.exact(values[:150], score=scores.BGe(standardise=False)).edge_probabilities
    assert observed.iloc[0, 1] == pytest.approx(observed.iloc[1, 0], rel=1e-6)
    both = parnidag.exact(Data(values, interventions=mask), score=scores.BGe(standardise=False)).edge_probabilities
    assert both.iloc[0, 1] > 0.99


# tables, and limits


@pytest.mark.parametrize("name", GAUSSIAN)
@pytest.mark.parametrize("set_by_hand", [False, True])
def test_tables_hold_the_scores(name, set_by_hand):
    values = example()
    mask = interfered(values) if set_by_hand else None
    target = target_of(values, GAUSSIAN[name], interventions=mask)
    tables = build_tables(target, ~np.eye(5, dtype=bool))
    arrays = tables.arrays
    for node in range(5):
        candidates = arrays.candidates[node, : arrays.candidate_count[node]]
        for subset in range(16):
            parents = [int(c) for k, c in enumerate(candidates) if subset >> k & 1]
            row = arrays.first_entry[node] + subset * (1 + arrays.extra_count[node])
            assert arrays.scores[row] == pytest.approx(target.local(node, parents), rel=1e-9)


@pytest.mark.parametrize("score", [scores.GPrior(), scores.BIC()])
def test_more_parents_than_rows_can_carry_are_ruled_out(score):
    values = np.random.default_rng(6).normal(size=(4, 6))
    target = target_of(values, score)
    assert target.local(0, [1, 2]) > -math.inf
    assert target.local(0, [1, 2, 3]) == -math.inf
    posterior = parnidag.sample(values, score=score, draws=50, seed=1, progress=False)
    assert np.isfinite(posterior.log_posterior).all()
    assert max(int(graph.sum(axis=0).max()) for graph in posterior.graphs[0]) <= 2


@pytest.mark.parametrize("score", [scores.Spline(), scores.BGe(standardise=True), scores.BIC(), scores.GPrior()])
@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_units_make_no_difference_even_extreme_ones(score, unit):
    values = example()
    assert target_of(values * unit, score).local(2, [0, 4]) == pytest.approx(
        target_of(values, score).local(2, [0, 4]), rel=1e-9
    )


def test_bic_refuses_columns_that_are_combinations_of_others():
    values = example()
    values[:, 3] = 0.3 * values[:, 0] + 0.7 * values[:, 1]
    with pytest.raises(DataError, match="linear combinations"):
        target_of(values, scores.BIC())


def determined(node, seed=3):
    """A table in which a node is the sum of two others wherever nobody set it, and where somebody did."""
    values = example(seed=seed)
    mask = np.zeros(values.shape, bool)
    mask[25:, node] = True
    first, second = [j for j in range(5) if j != node][:2]
    values[:25, node] = values[:25, first] + values[:25, second]
    return values, mask


@pytest.mark.parametrize("node", [0, 3])
def test_bic_refuses_combinations_in_the_rows_of_any_node(node):
    """Over all rows nothing depends on anything, but a node is scored in the rows in which it was not set."""
    values, mask = determined(node)
    target_of(values, scores.BIC())
    with pytest.raises(DataError, match=f"linear combinations of others in the rows without interventions on X{node}"):
        target_of(values, scores.BIC(), interventions=mask)


def test_bic_takes_rows_that_are_few():
    values = example()
    few = np.zeros(values.shape, bool)
    few[4:, 2] = True  # four rows of five columns are dependent whatever they hold
    assert math.isfinite(target_of(values, scores.BIC(), interventions=few).local(2, [0]))


# --- curves


def test_curved_columns_are_orthogonal_to_a_line_and_to_each_other():
    x = standardised(np.random.default_rng(1).gamma(2.0, size=(200, 1)))[:, 0]
    found = curves(x, 4)
    assert found.T @ found == pytest.approx(199 * np.eye(4), abs=1e-8)
    assert found.T @ np.column_stack([np.ones(200), x]) == pytest.approx(np.zeros((4, 2)), abs=1e-8)


def test_two_values_have_no_bends():
    x = standardised(np.repeat([0.0, 1.0], 20)[:, None])[:, 0]
    assert not curves(x, 3).any()


def test_spline_score_is_a_regression_on_its_columns():
    values = example()
    z = standardised(values)
    score = scores.Spline(df=3, g=5.0, g_curve=0.5)
    design = np.column_stack([np.column_stack([z[:, k], curves(z[:, k], 2)]) for k in (0, 4)])
    slab = np.diag(np.tile([5.0, 0.5, 0.5], 2))
    expected = covariance_score(z[:, 2], np.eye(len(z)) + design @ slab @ design.T)
    assert target_of(values, score).local(2, [0, 4]) == pytest.approx(expected, abs=1e-7)


def test_curved_relations_tell_cause_from_effect():
    rng = np.random.default_rng(4)
    x = rng.normal(size=300)
    values = np.column_stack([x, np.tanh(2 * x) + 0.3 * x**2 + 0.3 * rng.normal(size=300)])
    found = parnidag.exact(values, score=scores.Spline()).edge_probabilities
    assert found.iloc[0, 1] > 0.99
    u_shaped = np.column_stack([x, x**2 + 0.2 * rng.normal(size=300)])
    straight = parnidag.exact(u_shaped, score=scores.Gaussian()).edge_probabilities
    curved = parnidag.exact(u_shaped, score=scores.Spline()).edge_probabilities
    assert straight.values.sum() < 0.5
    assert curved.iloc[0, 1] > 0.99


# --- by name and word

SLABS = [0, -1.0, 1e-310, 1e13, math.inf, math.nan, "10", True, None]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *((lambda g=g: scores.Gaussian(g=g), "g must be a positive number") for g in SLABS),
        (lambda: scores.GPrior(g=0), "g must be a positive number"),
        (lambda: scores.BGe(alpha_mu=-1), "alpha_mu must be a positive number"),
        (lambda: scores.BGe(alpha_w="7"), "alpha_w must be a positive number"),
        (lambda: scores.BGe(mean=["a"]), "mean must be"),
        (lambda: scores.BGe(standardise=1), "standardise must be"),
        (lambda: scores.Spline(df=1), "df must be a whole number from 2 to 20"),
        (lambda: scores.Spline(df=2.5), "df must be a whole number"),
        (lambda: scores.Spline(df=math.inf), "df must be a whole number"),
        (lambda: scores.BGe(mean=math.nan), "mean must be"),
        (lambda: scores.BGe(alpha_mu=1e300), "alpha_mu must be a positive number"),
        (lambda: scores.Spline(g_curve=math.nan), "g_curve must be a positive number"),
        (lambda: target_of(ROWS, scores.BGe(alpha_w=4)), "alpha_w must be more than n . 1 = 4"),
        (lambda: target_of(ROWS, scores.BGe(mean=[1.0, 2.0])), "mean must be one number or 3 of them"),
        (lambda: named_score("bayes"), "score must be"),
        (lambda: named_score("bge", {"g": "3"}), "has no option 'g'; its options: alpha_mu, alpha_w, mean"),
        (lambda: named_score("bic", {"g": "3"}), "its options: none"),
        (lambda: named_score("bge", {"alpha_w": "much"}), "'much' is neither a number"),
        (lambda: parnidag.sample(ROWS, score="nothing"), "score must be"),
        (lambda: parnidag.exact(ROWS, score=scores.BGe), "call it: BGe"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ParnidagError, match=message):
        make()


def test_names_and_words():
    data = Data(ROWS)
    assert choose_score(None, data) == choose_score("auto", data) == scores.BGe(alpha_w="learn")
    assert choose_score("paper", data) == scores.Gaussian(g=10)
    assert choose_score("Spline", data) == scores.Spline()
    assert named_score("bge", {"mean": "1,2,3", "alpha_w": "none"}) == scores.BGe(mean=(1.0, 2.0, 3.0))
    assert named_score("spline", {"df": "5"}) == scores.Spline(df=5)


@pytest.mark.parametrize("score", [*GAUSSIAN.values()])
def test_settings_are_kept_and_travel(score):
    described = score.describe()
    assert described["name"] == type(score).__name__
    assert pickle.loads(pickle.dumps(score)) == score
    posterior = parnidag.exact(ROWS, score=score)
    assert posterior.settings["score"] == described


def test_spaces_without_tests_refuse_their_level():
    values = example(n=14)
    with pytest.raises(ParnidagError, match=r"alpha=0\.1 is for the tests of PC"):
        parnidag.space.iterative(values, score="spline", alpha=0.1)
    with pytest.raises(ParnidagError, match="know nothing of interventions"):
        parnidag.space.pc(Data(values, interventions={0: "X1"}))
