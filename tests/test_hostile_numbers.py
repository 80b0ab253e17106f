"""Numbers at the edge of double precision: a result that exact arithmetic confirms, or a clear refusal."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hostile import eliminated, exact_moments, log_of
from reference import all_dags
from tables import EPSILON

import parnidag
from parnidag import samplers, scores
from parnidag.data import Data
from parnidag.errors import DataError, ParnidagError

SCORES = {
    "gaussian": scores.Gaussian(),
    "wide slab": scores.Gaussian(g=1e12),
    "narrow slab": scores.Gaussian(g=1e-8),
    "gprior": scores.GPrior(),
    "wide gprior": scores.GPrior(g=1e12),
    "bic": scores.BIC(),
    "bge": scores.BGe(standardise=False),
}


def three(rows=12, seed=3):
    values = np.random.default_rng(seed).normal(size=(rows, 3))
    values[:, 1] += 0.8 * values[:, 0]
    values[:, 2] += 0.5 * values[:, 1]
    return values


def tables(rows=12):
    """Tables of three columns, by what is wrong with them."""
    plain = three(rows)
    found = {"plain": plain, "N = 3": plain[:3], "N = 4": plain[:4]}
    for noise in (0.0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-3):
        found[f"sum, noise {noise:g}"] = plain * [1, 1, noise] + [[0, 0, row[0] + row[1]] for row in plain]
    for noise in (0.0, 1e-8, 1e-6, 1e-4):
        found[f"copy, noise {noise:g}"] = plain * [1, 1, noise] + plain[:, [0]] * [0, 0, 1]
    for scale in (1e150, 1e-150, 1e-320):
        found[f"scale {scale:g}"] = plain * scale
    found["mixed scales"] = plain * [1e150, 1e-150, 1.0]
    found["scales of BGe"] = plain * [1e8, 0.1, 1.0]
    for offset in (1e3, 1e5, 1e8, 1e12):
        found[f"offset {offset:g}"] = plain + offset
    found["offset 1e15"] = 1e15 + 100 * plain
    for spread in (1e-12, 1e-15):
        found[f"nearly constant {spread:g}"] = 1 + spread * plain
    found["offset beyond squares"] = 1e160 + 1e150 * plain
    for size in (1e200, 1e6):
        found[f"outlier {size:g}"] = np.where(np.arange(3 * rows).reshape(rows, 3) == 4, size, plain)
    found["outliers in one row"] = np.where(np.arange(rows)[:, None] == 1, [[1.0, 1e6, 1e6]], plain)
    found["zeros of both signs"] = np.where(plain > 0.5, plain, np.where(plain > 0, 0.0, -0.0))
    found["beyond 2⁵³"] = 2**60 + np.rint(plain * 1e6).astype(np.int64)
    found["rank one"] = np.outer(plain[:, 0], [1.0, 2.0, -3.0])
    found["three rows that differ"] = np.vstack([plain[:3], np.zeros((rows - 3, 3))])
    return found


TABLES = tables()


# ── against exact arithmetic ──────────────────────────────────────────────────────────────────────────────────────────


def local_score(score, moments, node, parents):
    """Score a node in fractions; also, the share of its sum of squares that is left."""
    gram, means, rows = moments
    n, q = len(gram), len(parents)
    unit = [gram[i][i] / (rows - 1) for i in range(n)]
    if isinstance(score, scores.Gaussian):
        ridge = [0 if i == node else unit[i] / Fraction(score.g) for i in range(n)]
        matrix = [[gram[i][j] + (ridge[i] if i == j else 0) for j in range(n)] for i in range(n)]
        determinant, left = eliminated(matrix, parents, node)
        determinant /= math.prod((unit[i] for i in parents), start=Fraction(1))
        flat = math.lgamma(rows / 2) - rows / 2 * math.log(math.pi)
        value = flat - q / 2 * math.log(score.g) - log_of(determinant) / 2 - rows / 2 * log_of(left / unit[node])
        return value, left / gram[node][node]
    if isinstance(score, scores.BGe):
        prior = Fraction(1, 2)  # alpha_mu = 1, alpha_w = n + 2
        weight = Fraction(rows, rows + 1)
        matrix = [
            [gram[i][j] + weight * means[i] * means[j] + (prior if i == j else 0) for j in range(n)] for i in range(n)
        ]
        determinant, left = eliminated(matrix, parents, node)
        before, after = (q + 3) / 2, (rows + q + 3) / 2
        value = -rows / 2 * math.log(math.pi) - math.log(rows + 1) / 2 + math.lgamma(after) - math.lgamma(before)
        value += (2 * q + 3) / 2 * math.log(0.5) - log_of(determinant) / 2 - after * log_of(left)
        return value, left / matrix[node][node]
    if q >= rows - 1:
        return -math.inf, 1
    _, left = eliminated(gram, parents, node)
    if isinstance(score, scores.BIC):
        value = -rows / 2 * (math.log(2 * math.pi / rows) + 1) - (q + 2) / 2 * math.log(rows)
        return value - rows / 2 * log_of(left / unit[node]), left / gram[node][node]
    g = Fraction(rows if score.g is None else score.g)
    mixed = (gram[node][node] + g * left) / (1 + g)
    flat = math.lgamma(rows / 2) - rows / 2 * math.log(math.pi)
    value = flat - q / 2 * math.log1p(g) - rows / 2 * log_of(mixed / unit[node])
    return value, min(mixed, max(left, mixed / 10**6)) / gram[node][node]


def summed(local):
    """Edge probabilities and log evidence over all 25 graphs of three nodes, from local scores."""
    graphs = list(all_dags(3))
    families = [[(j, tuple(np.flatnonzero(graph[:, j]).tolist())) for j in range(3)] for graph in graphs]
    weights = np.array([math.fsum(local(*family) for family in graph) for graph in families])
    weights += math.log(0.5) * np.array([graph.sum() for graph in graphs])  # h = 1/3, the paper's
    law = np.exp(weights - weights.max())
    return np.tensordot(law / law.sum(), np.array(graphs), 1), float(weights.max() + math.log(law.sum()))


def exact_posterior(score, values):
    """Edge probabilities and log evidence of all 25 graphs, and how wrong double precision may make a local score."""
    moments = exact_moments(values)
    found = {
        (node, parents): local_score(score, moments, node, parents)
        for node in range(3)
        for size in range(3)
        for parents in itertools.combinations([i for i in range(3) if i != node], size)
    }
    probabilities, evidence = summed(lambda node, parents: found[node, parents][0])
    # A few roundings of a sum of squares, beside what is left of it, once for every row.
    slack = len(values) * 32 * EPSILON / float(min(left for _, left in found.values()))
    return probabilities, evidence, slack


@pytest.mark.parametrize("name", SCORES)
def test_results_are_those_of_exact_arithmetic(name):
    given, refused = [], {}
    for what, values in TABLES.items():
        try:
            posterior = parnidag.exact(Data(values, kind="continuous"), score=SCORES[name], prior="paper")
        except DataError as error:
            refused[what] = str(error)
            continue
        probabilities, evidence, slack = exact_posterior(SCORES[name], values)
        assert slack < 0.1, what  # a score that may be wrong by more should have been refused
        assert abs(posterior.log_evidence - evidence) <= 3 * slack + 1e-13 * abs(evidence), what
        np.testing.assert_allclose(
            posterior.edge_probabilities, probabilities, rtol=0, atol=6 * slack + 1e-12, err_msg=what
        )
        given.append(what)
    assert {"plain", "offset 1000", "scales of BGe"} <= set(given)
    assert {"copy, noise 0", "rank one", "nearly constant 1e-15"} <= set(refused)
    assert all("\n" not in message for message in refused.values())


def test_the_default_score_takes_all_but_copies_and_constants():
    taken = {what for what, values in TABLES.items() if is_taken(values, scores.Gaussian())}
    words = ("copy, noise 0", "copy, noise 1e-08", "rank one", "nearly constant 1e-15")
    assert set(TABLES) - taken == set(words)


def is_taken(values, score):
    try:
        score.table(Data(values, kind="continuous"))
    except DataError:
        return False
    return True


@pytest.mark.parametrize(
    ("score", "values", "words"),
    [
        (
            scores.BGe(standardise=False),
            TABLES["offset 1e+08"],
            "their means are too far from the prior mean beside their spread",
        ),
        (scores.BGe(standardise=False), three() * 1e-6, "X0, X1, X2: the prior of BGe .* use standardise=True"),
        (scores.BGe(alpha_w=7.5, standardise=False), three() * [1.0, 1e-6, 1.0], "X1: the prior of BGe"),
        (scores.BGe(standardise=False), TABLES["offset beyond squares"], "too far from the prior mean"),
        (scores.BGe(standardise=False), TABLES["sum, noise 0"] * 1e7, "nearly linear combinations of others"),
        (scores.BGe(alpha_mu=1e-8, standardise=True), TABLES["sum, noise 0"], "use a larger alpha_mu"),
        (scores.Gaussian(g=1e12), TABLES["sum, noise 0"], "which g=1e.12 cannot tell apart in double precision"),
        (scores.Spline(g=1e12), TABLES["sum, noise 0"], "use a smaller g or g_curve"),
        (scores.GPrior(), TABLES["copy, noise 1e-06"], "they have no g-prior"),
        (scores.GPrior(g=1e12), TABLES["sum, noise 0"], "they have no g-prior"),
        (scores.BIC(), TABLES["sum, noise 1e-07"], "their BIC is infinite"),
    ],
)
def test_what_rounding_or_the_prior_would_decide_is_refused(score, values, words):
    with pytest.raises(DataError, match=words):
        score.table(Data(values, kind="continuous"))


def test_columns_with_empty_cells_that_the_prior_would_outweigh_are_refused():
    values = three() * [1.0, 1e-6, 1.0]
    values[2, 0] = np.nan
    with pytest.raises(DataError, match="X1: the prior of BGe"):
        parnidag.sample(values, score=scores.BGe(alpha_w="learn", standardise=False), draws=2, progress=False)


@pytest.mark.parametrize(
    ("score", "what"),
    [
        (scores.BGe(standardise=False), "offset 1e+08"),
        (scores.BGe(standardise=False), "offset 1e+12"),
        (scores.BIC(), "sum, noise 1e-07"),
    ],
)
def test_without_the_refusal_rounding_would_decide(monkeypatch, score, what):
    monkeypatch.setattr("parnidag.scores.gaussian.is_singular", lambda matrix: False)
    posterior = parnidag.exact(Data(TABLES[what]), score=score)
    probabilities, evidence, slack = exact_posterior(score, TABLES[what])
    assert slack > 0.1
    wrong = abs(posterior.edge_probabilities.to_numpy() - probabilities).max()
    assert max(wrong, abs(posterior.log_evidence - evidence)) > 0.01


@pytest.mark.parametrize("score", [scores.BIC(), scores.GPrior()])
def test_dependent_columns_are_found_among_few_rows(score):
    """With no more rows than columns all of them depend on each other, which is no reason to refuse them."""
    values = np.random.default_rng(1).normal(size=(6, 9))
    assert is_taken(values, score)
    values[:, 5] = values[:, 2] - values[:, 7]
    assert not is_taken(values, score)
    values = np.random.default_rng(1).normal(size=(6, 9))
    values[:, 5] = values[:, 2] + 1e-6 * values[:, 5]
    assert not is_taken(values, score)


def test_columns_that_add_up_leave_all_sets_of_parents_independent():
    shares = np.random.default_rng(1).dirichlet(np.ones(5), size=40)
    assert is_taken(shares, scores.GPrior())
    assert not is_taken(shares, scores.BIC())


# ── classes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def rising(start, steps):
    return math.fsum(math.log(start + step) for step in range(steps))


def bdeu(codes, node, parents):
    arity = codes.max(axis=0) + 1
    cells = math.prod(int(arity[j]) for j in parents)
    families, _, counts = np.unique(codes[:, [*parents, node]], axis=0, return_inverse=True, return_counts=True)
    groups = np.unique(codes[:, list(parents)], axis=0, return_counts=True)[1] if parents else [len(codes)]
    assert len(families) == len(counts)
    return math.fsum(rising(1 / cells / int(arity[node]), count) for count in counts) - math.fsum(
        rising(1 / cells, count) for count in groups
    )


def class_tables():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (50, 3))
    return {
        "seen once": np.column_stack([codes[:, :2], np.arange(50) == 7]),
        "copy": codes[:, [0, 1, 0]],
        "skewed": np.column_stack([np.arange(500) < k for k in (1, 2, 499)]),
        "all different": np.column_stack([rng.permutation(40) for _ in range(3)]),
        "1000 levels": np.column_stack([np.arange(1000), rng.permutation(1000), rng.integers(0, 2, 1000)]),
        "N = 3": np.array([[0, 1, 0], [1, 0, 0], [1, 1, 1]]),
    }


@pytest.mark.parametrize("what", class_tables())
def test_classes_of_every_shape(what):
    codes = class_tables()[what].astype(np.int64)
    posterior = parnidag.exact(Data(codes, kind="discrete"), score=scores.BDeu(), prior="paper")
    expected, evidence = summed(partial(bdeu, codes))
    assert posterior.log_evidence == pytest.approx(evidence, rel=1e-11)
    np.testing.assert_allclose(posterior.edge_probabilities, expected, rtol=0, atol=1e-11 * abs(evidence))


# ── samplers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

SAMPLERS = {"parni": samplers.PARNI(), "order": samplers.OrderMCMC(), "partition": samplers.PartitionMCMC()}
SHORT = {"draws": 10, "tune": 50, "thin": 5, "chains": 2, "seed": 1, "progress": False}
MADNESS = ("sum, noise 0", "copy, noise 0.0001", "mixed scales", "outlier 1e+200", "N = 3", "three rows that differ")


def assert_sound(posterior):
    """Probabilities, log posteriors and the best graph are what they should be, and nothing is NaN."""
    probabilities = posterior.edge_probabilities.to_numpy()
    assert np.isfinite(probabilities).all()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert np.isfinite(posterior.log_posterior).all()
    assert posterior.best.is_acyclic
    assert math.isfinite(posterior.best.log_posterior)
    summary = posterior.summary()
    assert not summary[["probability", "prior", "evidence"]].isna().any().any()
    assert (summary["bayes_factor"] >= 0).all()
    assert posterior.diagnostics().verdict


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("score", [*SCORES, "spline"])
def test_chains_on_hostile_numbers_are_sound(sampler, score):
    run = 0
    for what in MADNESS:
        values = np.column_stack([TABLES[what], np.linspace(-1, 1, len(TABLES[what])) ** 3])
        chosen = scores.Spline() if score == "spline" else SCORES[score]
        try:
            data = Data(values, kind="continuous")
            posterior = parnidag.sample(data, score=chosen, sampler=SAMPLERS[sampler], **SHORT)
        except ParnidagError:
            continue
        assert_sound(posterior)
        run += 1
    assert run >= (0 if "wide" in score else 2)


def test_many_nodes_and_few_rows():
    values = np.random.default_rng(1).normal(size=(4, 8))
    for score in ("gaussian", "gprior", "bge", "bic", "spline"):
        posterior = parnidag.sample(values, score=score, **SHORT)
        assert_sound(posterior)
