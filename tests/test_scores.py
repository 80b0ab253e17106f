"""The scores against vectors, independent derivations, equivalence, and what they are asked to be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import multigammaln
from test_discrete_score import covered_edges, random_dag

import parnidag
from parnidag import EdgePrior, scores
from parnidag.data import Data
from parnidag.errors import DataError
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


def target_of(values, score, **data):
    return Target.build(Data(values, **data), score, EVEN)


def example(n=5, rows=40, seed=1):
    rng = np.random.default_rng(seed)
    mixing = np.triu(rng.normal(size=(n, n)), 1)
    return rng.normal(size=(rows, n)) @ np.linalg.inv(np.eye(n) - mixing) + rng.normal(size=n)


def standardised(values):
    return (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)


# vectors


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (scores.Gaussian(g=10), (-7.5693562143, -7.4262079617, -8.0457874209)),
        (scores.GPrior(g=10), (-7.5693562143, -6.8738889441, -7.2500749272)),
        (scores.BGe(alpha_mu=1, alpha_w=5), (-11.0807442980, -9.1100722255, -9.0365762916)),
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
    found = target_of(values, scores.BGe(alpha_mu, alpha_w, mean)).local(3, parents)
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
    target = target_of(values, scores.BGe())
    assert sum(target.local(j, range(j)) for j in range(n)) == pytest.approx(expected, rel=1e-12)


def test_standardised_bge_does_not_know_the_units():
    values = example()
    one = target_of(values, scores.BGe(standardise=True))
    other = target_of(values * np.array([1e-3, 1.0, 50.0, 7.0, 1e5]) + 3.0, scores.BGe(standardise=True))
    assert one.local(3, [0, 1]) == pytest.approx(other.local(3, [0, 1]), rel=1e-9)
    assert one.local(3, [0, 1]) == pytest.approx(
        target_of(standardised(values), scores.BGe()).local(3, [0, 1]), rel=1e-9
    )
    assert target_of(values, scores.BGe()).local(3, []) != pytest.approx(
        target_of(values * 2, scores.BGe()).local(3, []) + len(values) * math.log(2), abs=1e-3
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


# equivalence


@pytest.mark.parametrize(
    ("score", "equivalent"),
    [
        (scores.BGe(), True),
        (scores.BGe(alpha_mu=0.2, alpha_w=9.0, mean=1.0), True),
        (scores.BIC(), True),
        (scores.Gaussian(), False),
        (scores.GPrior(g=10), False),
        (scores.Spline(), False),
    ],
)
def test_turning_a_covered_edge(score, equivalent):
    rng = np.random.default_rng(3)
    target, largest, turned = target_of(example(), score), 0.0, 0
    for _ in range(20):
        graph = random_dag(5, rng)
        for i, j in covered_edges(graph):
            other = graph.copy()
            other[i, j], other[j, i] = False, True
            largest = max(largest, abs(target.log_posterior(graph) - target.log_posterior(other)))
            turned += 1
    assert turned > 20
    assert largest < 1e-9 if equivalent else largest > 1e-3


# interventions


GAUSSIAN = {
    "paper": scores.Gaussian(),
    "gprior": scores.GPrior(g=10),
    "bge": scores.BGe(),
    "bic": scores.BIC(),
    "spline": scores.Spline(),
}


def interfered(values, seed=2):
    """Node 1 was set in some rows, node 3 in others."""
    mask = np.zeros(values.shape, bool)
    rows = np.random.default_rng(seed).permutation(len(values))
    mask[rows[:9], 1] = mask[rows[5:17], 3] = True
    return mask


@pytest.mark.parametrize("name", ["bge", "paper"])
def test_nodes_use_the_rows_in_which_they_were_not_set(name):
    """BGe of the rows that are left; the paper's score too, in units of all rows."""
    values = example()
    mask = interfered(values)
    target = target_of(values, GAUSSIAN[name], interventions=mask)
    for node in range(5):
        kept = values[~mask[:, node]]
        for parents in ([], [0], [2, 4] if node not in (2, 4) else [1, 3]):
            parents = [parent for parent in parents if parent != node]
            if name == "bge":
                expected = target_of(kept, scores.BGe()).local(node, parents)
            else:
                z = kept / values.std(axis=0, ddof=1)
                z = z - z.mean(axis=0)
                design = z[:, parents]
                expected = covariance_score(z[:, node], np.eye(len(z)) + 10.0 * design @ design.T)
            assert target.local(node, parents) == pytest.approx(expected, rel=1e-7)


def test_interventions_tell_directions():
    """Observed alone, x → y and y → x are even; rows in which x was set decide."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    mask = np.zeros((300, 2), bool)
    mask[150:, 0] = True
    x[150:] = 3.0 * rng.normal(size=150)
    values = np.column_stack([x, 0.8 * x + rng.normal(size=300)])
    observed = parnidag.exact(values[:150], score=scores.BGe()).edge_probabilities
    assert observed.iloc[0, 1] == pytest.approx(observed.iloc[1, 0], rel=1e-6)
    both = parnidag.exact(Data(values, interventions=mask), score=scores.BGe()).edge_probabilities
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


def test_bic_takes_rows_that_are_few_or_in_which_a_column_does_not_vary():
    values = example()
    few = np.zeros(values.shape, bool)
    few[4:, 2] = True  # four rows of five columns are dependent whatever they hold
    assert math.isfinite(target_of(values, scores.BIC(), interventions=few).local(2, [0]))
    still = np.zeros(values.shape, bool)
    still[20:, 2] = True
    values[:20, 4] = 1.5
    target = target_of(values, scores.BIC(), interventions=still)
    assert target.local(2, [0, 4]) == pytest.approx(target.local(2, [0]) - math.log(20) / 2, rel=1e-12)
