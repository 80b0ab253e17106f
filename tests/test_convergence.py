from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from parnidag.results.convergence import (
    bulk_ess,
    chain_probabilities,
    edge_disagreement,
    edge_ess,
    edge_mcse,
    edge_rhat,
    merge_rounding,
    rank_rhat,
    tail_ess,
)
from parnidag.results.diagnostics import RHAT_LIMIT

CHAINS, BATCHES, BATCH = 4, 20, 500


def counts_of(values, batches=BATCHES):
    """Batch counters of 0/1 values (chain, iteration, edge)."""
    chains, iterations, edges = values.shape
    counts = values.reshape(chains, batches, iterations // batches, edges).sum(axis=2, dtype=np.int64)
    return counts, np.full((chains, batches), iterations // batches, dtype=np.int64)


def bernoulli_counts(rng, probabilities, chains=CHAINS):
    """Batch counters of independent draws; `probabilities` is (edge,) or (chain, 1, edge)."""
    shape = (chains, BATCHES, np.shape(probabilities)[-1])
    return rng.binomial(BATCH, np.broadcast_to(probabilities, shape)), np.full((chains, BATCHES), BATCH)


# ── edges ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def naive_edge_rhat(values):
    """Split R-hat of one 0/1 series (chain, iteration), by the textbook."""
    half = values.shape[1] // 2
    parts = [part for chain in values for part in (chain[:half], chain[half:])]
    within = np.mean([np.var(part, ddof=1) for part in parts])
    between = half * np.var([np.mean(part) for part in parts], ddof=1)
    return math.sqrt(((half - 1) / half * within + between / half) / within)


def test_edge_rhat_equals_the_textbook_formula_on_the_full_series():
    rng = np.random.default_rng(1)
    values = rng.random((3, 400, 5)) < np.array([0.1, 0.5, 0.9, 0.3, 0.7])
    values[0, :, 3] |= rng.random(400) < 0.5
    expected = [naive_edge_rhat(values[:, :, edge].astype(float)) for edge in range(5)]
    np.testing.assert_allclose(edge_rhat(*counts_of(values, batches=8)), expected, rtol=1e-12)


def test_edge_rhat_of_an_edge_equals_its_rank_normalised_version():
    values = np.random.default_rng(2).random((4, 1000, 1)) < np.array([0.2, 0.3, 0.4, 0.3])[:, None, None]
    by_ranks = naive_rank_rhat(values[:, :, 0].astype(float), folded=False)
    np.testing.assert_allclose(edge_rhat(*counts_of(values)), by_ranks, rtol=1e-10)


def test_edge_rhat_is_near_one_for_independent_chains():
    counts, iterations = bernoulli_counts(np.random.default_rng(3), np.linspace(0.05, 0.95, 200))
    # R̂² − 1 ≈ (χ²₇/7 − 1) / L for halves of length L: 40/7 lies beyond the 1 − 10⁻⁶ quantile of χ²₇ / 7.
    half = BATCH * BATCHES // 2
    np.testing.assert_array_less(np.abs(edge_rhat(counts, iterations) ** 2 - 1), 40 / 7 / half)


def test_edges_that_never_change_have_no_figures():
    counts, iterations = bernoulli_counts(np.random.default_rng(4), np.array([0.0, 0.5, 1.0]))
    mcse = edge_mcse(counts, iterations)
    ess = edge_ess(chain_probabilities(counts, iterations).mean(axis=0), mcse, iterations.sum())
    for figure in (edge_rhat(counts, iterations), mcse, ess):
        np.testing.assert_array_equal(np.isnan(figure), [True, False, True])


def test_chains_frozen_apart_have_infinite_rhat_and_few_effective_draws():
    probabilities = np.array([1.0, 1.0, 0.0, 0.0])[:, None, None]
    counts, iterations = bernoulli_counts(np.random.default_rng(5), probabilities)
    assert edge_rhat(counts, iterations) == [np.inf]
    mcse = edge_mcse(counts, iterations)
    np.testing.assert_allclose(mcse, math.sqrt(1 / 3 / 4))  # the variance of 1, 1, 0, 0 over four chains
    np.testing.assert_allclose(edge_ess(np.array([0.5]), mcse, iterations.sum()), 3.0)


def test_mcse_of_independent_draws_is_the_binomial_one():
    edges = 300
    probabilities = np.random.default_rng(6).uniform(0.1, 0.9, edges)
    total = CHAINS * BATCHES * BATCH
    truth = probabilities * (1 - probabilities) / total

    one_chain = bernoulli_counts(np.random.default_rng(7), probabilities, chains=1)
    ratio = edge_mcse(*one_chain) ** 2 / (truth * CHAINS)
    # A variance from K batch means is χ²_{K−1}/(K−1), relative standard deviation √(2/(K−1)); averaged over edges.
    assert abs(ratio.mean() - 1) < 5 * math.sqrt(2 / (BATCHES - 1) / edges)

    counts, iterations = bernoulli_counts(np.random.default_rng(8), probabilities)
    ratio = edge_mcse(counts, iterations) ** 2 / truth
    # The larger of the two estimates: at least the pooled one on average, at most the sum of both.
    assert 1 - 5 * math.sqrt(2 / (CHAINS * BATCHES - 1) / edges) < ratio.mean() < 2
    ess = edge_ess(chain_probabilities(counts, iterations).mean(axis=0), edge_mcse(counts, iterations), total)
    assert np.all(ess <= total)
    assert np.median(ess) > total / 2


def test_mcse_of_one_chain_is_the_standard_error_of_its_batch_means():
    counts, iterations = bernoulli_counts(np.random.default_rng(26), np.array([0.2, 0.7]), chains=1)
    expected = (counts[0] / BATCH).std(axis=0, ddof=1) / math.sqrt(BATCHES)
    np.testing.assert_allclose(edge_mcse(counts, iterations), expected, rtol=1e-12)


def two_state_chain(rng, shape, switch):
    """0/1 chains (chain, iteration, edge) that flip with probability `switch`, started from their uniform law."""
    flips = rng.random(shape) < switch
    flips[:, 0] = rng.random((shape[0], shape[2])) < 0.5
    return np.cumsum(flips, axis=1, dtype=np.int32) % 2 == 1


def test_mcse_of_a_markov_chain_includes_its_autocorrelation():
    switch, batches, length, edges = 0.05, 20, 1000, 100
    values = two_state_chain(np.random.default_rng(9), (1, batches * length, edges), switch)
    rho = 1 - 2 * switch
    time = (1 + rho) / (1 - rho) - 2 * rho * (1 - rho**length) / (length * (1 - rho) ** 2)
    expected = 0.25 * time / length / batches
    found = edge_mcse(*counts_of(values, batches)) ** 2
    tolerance = 5 * math.sqrt(2 / (batches - 1) / edges)
    assert abs(found.mean() / expected - 1) < tolerance
    # The error that ignores the correlation must be told apart by the same tolerance.
    independent = 0.25 / length / batches
    assert abs(independent / expected - 1) > tolerance
    ess = edge_ess(np.full(edges, 0.5), np.sqrt(found), batches * length)
    # The median of (K−1)/χ²_{K−1} is 1 + 2/(3(K−1)); the median of `edges` values scatters 1.25 times their mean.
    middle = 1 + 2 / (3 * (batches - 1))
    assert abs(np.median(ess) * time / (batches * length) - middle) < 1.25 * tolerance


def test_slow_modes_show_in_the_error_though_batches_agree_within_chains():
    probabilities = np.array([0.2, 0.4, 0.6, 0.8])[:, None, None]
    counts, iterations = bernoulli_counts(np.random.default_rng(10), probabilities)
    chains = chain_probabilities(counts, iterations)
    np.testing.assert_allclose(edge_mcse(counts, iterations), chains.std(axis=0, ddof=1) / 2)


def test_interrupted_chains_count_for_what_they_did():
    counts, iterations = bernoulli_counts(np.random.default_rng(11), np.array([0.3, 0.6]))
    counts, iterations = counts.copy(), iterations.copy()
    for chain, done in enumerate((20, 13, 1, 0)):
        counts[chain, done:], iterations[chain, done:] = 0, 0
    chains = chain_probabilities(counts, iterations)
    assert chains.shape == (3, 2)
    np.testing.assert_allclose(chains[1], counts[1, :13].sum(axis=0) / (13 * BATCH))
    expected_parts = [counts[0, :10], counts[0, 10:], counts[1, :6], counts[1, 7:13]]
    means = np.array([part.mean(axis=0) / BATCH for part in expected_parts])
    lengths = np.array([10, 10, 6, 6])[:, None] * BATCH
    within = (means * (1 - means) * lengths / (lengths - 1)).mean(axis=0)
    length = lengths.mean()
    expected = np.sqrt(((length - 1) / length * within + means.var(axis=0, ddof=1)) / within)
    np.testing.assert_allclose(edge_rhat(counts, iterations), expected)
    assert np.all(np.isfinite(edge_mcse(counts, iterations)))


@pytest.mark.parametrize("iterations", [[[0, 0]], [[5, 0]], [[1, 1]]])
def test_too_little_to_judge_gives_no_rhat(iterations):
    iterations = np.array(iterations)
    counts = np.minimum(iterations, 1)[:, :, None]
    assert np.isnan(edge_rhat(counts, iterations)).all()
    assert np.isnan(edge_mcse(np.zeros((1, 2, 1), dtype=np.int64), np.zeros((1, 2), dtype=np.int64))).all()


def test_disagreement_against_loops_over_pairs():
    chains = np.random.default_rng(12).random((4, 7))
    n = 5
    squares = [(chains[a] - chains[b]) ** 2 for a in range(4) for b in range(a)]
    spread, rms = edge_disagreement(chains, n)
    assert rms == pytest.approx(math.sqrt(np.sum(squares) / (n * (n - 1) * 6)), rel=1e-12)
    np.testing.assert_allclose(spread, chains.max(axis=0) - chains.min(axis=0))
    assert edge_disagreement(np.zeros((4, 0)), n)[1] == 0.0


# ── log posterior ─────────────────────────────────────────────────────────────────────────────────────────────────────


def naive_split(draws):
    half = draws.shape[1] // 2
    return np.array([part for chain in draws for part in (chain[:half], chain[-half:])])


def naive_scores(values):
    ranks = stats.rankdata(values, method="average")
    return stats.norm.ppf((ranks - 0.375) / (values.size + 0.25)).reshape(values.shape)


def naive_rank_rhat(draws, folded=True):
    halves = naive_split(draws)
    found = []
    for values in [halves, np.abs(halves - np.median(halves))][: 2 if folded else 1]:
        scores = naive_scores(values)
        length = scores.shape[1]
        within = np.mean([np.var(chain, ddof=1) for chain in scores])
        between = length * np.var([np.mean(chain) for chain in scores], ddof=1)
        found.append(math.sqrt(((length - 1) / length * within + between / length) / within))
    return max(found)


def naive_ess(chains):
    """Effective sample size of split chains with loops over lags."""
    count, length = chains.shape
    within = np.mean([np.var(chain, ddof=1) for chain in chains])
    pooled = within * (length - 1) / length + np.var([np.mean(chain) for chain in chains], ddof=1)

    def correlation(lag):
        products = [np.sum((c[: length - lag] - c.mean()) * (c[lag:] - c.mean())) / (length - 1) for c in chains]
        return 1 - (within - np.mean(products)) / pooled

    total, smallest = 0.0, math.inf
    for lag in range(0, length - 1, 2):
        pair = (1.0 if lag == 0 else correlation(lag)) + correlation(lag + 1)
        if pair < 0:
            break
        smallest = min(smallest, pair)
        total += smallest
    return count * length / max(2 * total - 1, 1 / math.log10(count * length))


def autoregressive(rng, shape, phi):
    draws = rng.normal(size=shape)
    draws[:, 0] /= math.sqrt(1 - phi**2)
    for t in range(1, shape[1]):
        draws[:, t] += phi * draws[:, t - 1]
    return draws


@pytest.mark.parametrize("case", ["independent", "correlated", "tied", "shifted", "one chain", "odd and short"])
def test_log_posterior_figures_equal_the_naive_ones(case):
    rng = np.random.default_rng(13)
    draws = autoregressive(rng, (4, 301 if case != "odd and short" else 15), 0.0 if case == "independent" else 0.7)
    if case == "tied":
        draws = draws.round()
    if case == "shifted":
        draws += np.arange(4)[:, None]
    if case == "one chain":
        draws = draws[:1]
    assert rank_rhat(draws) == pytest.approx(naive_rank_rhat(draws), rel=1e-10)
    assert bulk_ess(draws) == pytest.approx(naive_ess(naive_scores(naive_split(draws))), rel=1e-8)
    halves = naive_split(draws)
    tails = [naive_ess((halves <= np.quantile(halves, level)).astype(float)) for level in (0.05, 0.95)]
    assert tail_ess(draws) == pytest.approx(min(tails), rel=1e-8)


def test_bulk_ess_of_an_autoregression_is_the_theoretical_one():
    phi, replicates, shape = 0.6, 20, (4, 2500)
    rng = np.random.default_rng(14)
    found = np.array([bulk_ess(autoregressive(rng, shape, phi)) for _ in range(replicates)])
    expected = shape[0] * shape[1] * (1 - phi) / (1 + phi)
    # The standard error over replicates is the Monte-Carlo error; the truncated sum is biased by about 1 %.
    assert abs(found.mean() / expected - 1) < 5 * found.std() / expected / math.sqrt(replicates) + 0.02


@pytest.mark.parametrize(
    ("draws", "rhat"),
    [
        (np.full((4, 100), -3.3), math.nan),
        (np.repeat([[-1.0], [-1.1]], 100, axis=1), math.inf),
        (np.zeros((0, 0)), math.nan),
        (np.zeros((4, 3)), math.nan),
        (np.array([[1.0, 2.0, np.nan, 4.0]]), math.nan),
    ],
)
def test_degenerate_log_posteriors_raise_no_warning_and_claim_nothing(draws, rhat):
    assert rank_rhat(draws) == pytest.approx(rhat, nan_ok=True)
    if math.isnan(rhat):
        assert math.isnan(bulk_ess(draws))
        assert math.isnan(tail_ess(draws))
    else:
        assert bulk_ess(draws) < 4


def test_one_frozen_chain_among_moving_ones_is_noticed():
    draws = np.random.default_rng(15).normal(size=(4, 200))
    draws[0] = 3.0
    assert RHAT_LIMIT < rank_rhat(draws) < math.inf


def test_rounding_does_not_look_like_disagreement():
    draws = np.repeat([[-1234.5], [-1234.5 + 2e-13]], 100, axis=1)
    assert rank_rhat(draws) == math.inf
    assert math.isnan(rank_rhat(merge_rounding(draws)))
    different = np.random.default_rng(16).normal(size=(2, 50))
    np.testing.assert_array_equal(merge_rounding(different), different)
