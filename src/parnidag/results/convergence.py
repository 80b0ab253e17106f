"""Convergence figures as numbers: R-hat, effective sample sizes and Monte-Carlo errors, from counters and draws.

Edges are judged from batch counters over *all* kept iterations (an edge is a 0/1 variable, so counters hold everything
R-hat and batch means need), the log posterior from its stored draws. A figure that does not exist, such as the R-hat of
an edge that never changed, is NaN, never a flattering number.

References
----------
Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and localization: an improved
R-hat for assessing convergence of MCMC", Bayesian Analysis 16(2). Geyer (1992), "Practical Markov chain Monte Carlo".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MINIMUM_DRAWS = 4
"""Two half-chains of two draws: the least for which a variance within half-chains exists."""

FEWEST_JOINED = 8
"""With fewer groups of batches a variance between them is too noisy to be a bound."""

TIE_GAP = 1e-13
"""Log posteriors closer than this, relative to the largest, differ by rounding only and count as equal."""


# ── edges, from counters ──────────────────────────────────────────────────────────────────────────────────────────────


def chain_probabilities(batch_counts: Integers, batch_iterations: Integers) -> Floats:
    """Frequency of every edge in every chain that kept at least one iteration; arrays are those of a `RunRecord`."""
    lengths = batch_iterations.sum(axis=1)
    kept = lengths > 0
    frequencies: Floats = batch_counts[kept].sum(axis=1) / lengths[kept, None]
    return frequencies


def edge_rhat(batch_counts: Integers, batch_iterations: Integers) -> Floats:
    """Split R-hat of every edge at once.

    Each chain is cut into two halves of whole batches (without the middle one if their number is odd). For 0/1 values
    rank normalisation is an affine map, so this *is* the rank-normalised R-hat. NaN for an edge that never changed,
    infinity for one that is frozen at different values in different halves.
    """
    halves = [half for chain in zip(batch_counts, batch_iterations, strict=True) for half in _halves(*chain)]
    if len(halves) < 2:
        return np.full(batch_counts.shape[2], np.nan)
    present = np.array([count for count, _ in halves])
    lengths = np.array([length for _, length in halves], dtype=np.float64)[:, None]
    means = present / lengths
    within = (means * (1 - means) * lengths / (lengths - 1)).mean(axis=0)
    return _ratio_to_rhat(within, means.var(axis=0, ddof=1), float(lengths.mean()))


def _halves(counts: Integers, iterations: Integers) -> list[tuple[Integers, int]]:
    """Edge counts and lengths of the two halves of one chain; nothing if a half would have no variance."""
    filled = np.flatnonzero(iterations)
    size = len(filled) // 2
    parts = (filled[:size], filled[len(filled) - size :])
    lengths = [int(iterations[part].sum()) for part in parts]
    if min(lengths) < 2:
        return []
    return [(counts[part].sum(axis=0), length) for part, length in zip(parts, lengths, strict=True)]


def _ratio_to_rhat(within: Floats, between: Floats, length: float) -> Floats:
    """√(pooled variance / within-chain variance): NaN where nothing varies, infinity where only the chains differ."""
    frozen = within == 0
    ratio = between / np.where(frozen, 1.0, within)
    rhat = np.sqrt((length - 1) / length + ratio)
    return np.where(frozen, np.where(between > 0, np.inf, np.nan), rhat)


def edge_mcse(batch_counts: Integers, batch_iterations: Integers) -> Floats:
    """Monte-Carlo standard error of every edge probability (the mean over chains of their frequencies).

    The larger of two estimates: batch means of all chains around the *grand* mean, and the spread of the chain means.
    The second sees modes that a chain visits for longer than a batch; taking the larger errs on the careful side.
    NaN for an edge that never changed: its error cannot be estimated from the run.
    """
    chains = chain_probabilities(batch_counts, batch_iterations)
    if len(chains) == 0:
        return np.full(batch_counts.shape[2], np.nan)
    mean = chains.mean(axis=0)
    variance = _batch_variance(batch_counts, batch_iterations, mean)
    if len(chains) > 1:
        variance = np.fmax(variance, chains.var(axis=0, ddof=1) / len(chains))
    changed = (chains > 0).any(axis=0) & (chains < 1).any(axis=0)
    return np.where(changed, np.sqrt(variance), np.nan)


def _batch_variance(batch_counts: Integers, batch_iterations: Integers, mean: Floats) -> Floats:
    """Variance of `mean` from batch means; a batch weighs what it weighs in the mean over chains."""
    lengths = batch_iterations.sum(axis=1)
    chains = int((lengths > 0).sum())
    total = np.zeros_like(mean)
    weights_squared = 0.0
    # One batch at a time: a float copy of all counters would be the largest array of the whole result.
    for chain, batch in np.argwhere(batch_iterations > 0):
        size = batch_iterations[chain, batch]
        weight = size / (chains * lengths[chain])
        total += (weight * (batch_counts[chain, batch] / size - mean)) ** 2
        weights_squared += weight**2
    if weights_squared >= 1 - 1e-12:  # a single batch has no spread
        return np.full_like(mean, np.nan)
    return total / (1 - weights_squared)


def careful_mcse(batch_counts: Integers, batch_iterations: Integers) -> Floats:
    """Return the largest of such errors with batches as they are, joined by two, by four and so on, while eight remain.

    It sees stays that outlast a batch, and is on average too large: for bounds, not for estimates.
    """
    error = edge_mcse(batch_counts, batch_iterations)
    joined, (chains, batches) = 2, batch_iterations.shape
    while chains * (batches // joined) >= FEWEST_JOINED and batches >= 2 * joined:
        starts = np.arange(0, batches, joined)
        merged = np.add.reduceat(batch_counts, starts, axis=1), np.add.reduceat(batch_iterations, starts, axis=1)
        error = np.fmax(error, edge_mcse(*merged))
        joined *= 2
    return error


def edge_ess(probabilities: Floats, mcse: Floats, iterations: int) -> Floats:
    """Effective number of independent graphs behind every edge probability: p(1−p) / mcse², at most `iterations`."""
    spread = probabilities * (1 - probabilities)
    # Batches that agree exactly have no measurable error: the cap then says how many iterations there were.
    no_error = mcse == 0
    return np.minimum(np.where(no_error, np.inf, spread / np.where(no_error, 1.0, mcse) ** 2), float(iterations))


def edge_disagreement(chains: Floats, n_nodes: int) -> tuple[Floats, float]:
    """How far the rows of `chain_probabilities`, two or more, disagree: per edge, and over all edges.

    The first is the largest minus the smallest probability over chains. The second is the root of the mean square, over
    the n(n−1) ordered pairs of nodes and all pairs of chains, of the difference between the two chains' probabilities;
    edges never seen count as agreement.
    """
    n_chains, n_edges = chains.shape
    pairs = n_nodes * (n_nodes - 1) * n_chains * (n_chains - 1) / 2
    if n_edges == 0 or pairs == 0:
        return np.zeros(n_edges), 0.0
    # Σ over pairs of (p_a − p_b)² = C·Σ(p − mean)², without the cancellation of the textbook shortcut.
    squares = n_chains * ((chains - chains.mean(axis=0)) ** 2).sum()
    return chains.max(axis=0) - chains.min(axis=0), math.sqrt(squares / pairs)


# ── the log posterior, from draws: NaN if nothing ever changes or there are fewer than four ───────────────────────────


def rank_rhat(draws: Floats) -> float:
    """Rank-normalised split R-hat of a scalar, the larger of its bulk and folded versions; infinity if frozen apart."""
    if not _usable(draws):
        return math.nan
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves))
    return float(np.fmax.reduce([_plain_rhat(_normal_scores(values)) for values in (halves, folded)]))


def bulk_ess(draws: Floats) -> float:
    """Effective sample size of rank-normalised split chains: how well the centre of the distribution is known."""
    return _ess(_normal_scores(_split(draws))) if _usable(draws) else math.nan


def tail_ess(draws: Floats) -> float:
    """Effective sample size of the 5 % and 95 % quantiles, the smaller of the two."""
    if not _usable(draws):
        return math.nan
    halves = _split(draws)
    below = [(halves <= np.quantile(halves, level)).astype(np.float64) for level in (0.05, 0.95)]
    return float(np.fmin.reduce([_ess(chains) for chains in below]))


def _usable(draws: Floats) -> bool:
    return draws.shape[0] > 0 and draws.shape[1] >= MINIMUM_DRAWS and bool(np.isfinite(draws).all())


def _split(draws: Floats) -> Floats:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normal_scores(values: Floats) -> Floats:
    """Return normal quantiles of the pooled ranks; ties share their average rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    scores: Floats = ndtri((ranks - 3 / 8) / (values.size + 1 / 4))
    return scores[inverse].reshape(values.shape)


def _plain_rhat(chains: Floats) -> float:
    if np.ptp(chains) == 0:
        return math.nan
    within = chains.var(axis=1, ddof=1)
    within[np.ptp(chains, axis=1) == 0] = 0.0  # the variance of equal numbers can come out as rounding
    return float(_ratio_to_rhat(within.mean(), chains.mean(axis=1).var(ddof=1), chains.shape[1]))


def _ess(chains: Floats) -> float:
    """Divide the number of draws by the autocorrelation time, summed by Geyer's initial monotone sequence."""
    if np.ptp(chains) == 0:
        return math.nan
    length = chains.shape[1]
    covariances = _autocovariances(chains).mean(axis=0)
    within = covariances[0] * length / (length - 1)
    pooled = covariances[0] + chains.mean(axis=1).var(ddof=1)
    correlations = 1 - (within - covariances * length / (length - 1)) / pooled
    correlations[0] = 1.0
    pairs = correlations[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    positive = pairs[: negative[0]] if len(negative) else pairs
    time = 2 * float(np.minimum.accumulate(positive).sum()) - 1
    # Antithetic chains can look better than independence; the usual bound keeps a noisy sum from claiming wonders.
    return chains.size / max(time, 1 / math.log10(chains.size))


def _autocovariances(chains: Floats) -> Floats:
    """Autocovariance of every chain at every lag, divided by the length whatever the lag."""
    length = chains.shape[1]
    padded = 1 << (2 * length - 1).bit_length()
    transformed = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), n=padded, axis=1)
    covariances: Floats = np.fft.irfft(np.abs(transformed) ** 2, n=padded, axis=1)[:, :length] / length
    return covariances


def rank_counts(values: Floats, bins: int) -> Floats:
    """Count each chain's draws by rank among all; equal values share the ranks they take up evenly.

    Log posteriors of few graphs have many ties. Sharing is the mean over all ways of breaking them, so chains that
    visit the same graphs equally often have flat histograms, as they should.
    """
    values = merge_rounding(values)
    levels, place = np.unique(values, return_inverse=True)
    place = place.reshape(values.shape)
    by_level = np.array([np.bincount(row, minlength=levels.size) for row in place])
    ends = np.concatenate([[0], np.cumsum(by_level.sum(axis=0))])
    edges = np.linspace(0, values.size, bins + 1)
    below = np.array([np.interp(edges, ends, np.concatenate([[0], np.cumsum(row)])) for row in by_level])
    return np.diff(below, axis=1)


def merge_rounding(values: Floats) -> Floats:
    """Make values that differ by rounding only exactly equal.

    The same graph can get log posteriors that differ in the last digits, summed in another order; ranks would take
    such differences for real ones.
    """
    order = np.unique(values)
    if order.size == 0 or not np.isfinite(order).all():
        return values
    first_of_group = np.diff(order, prepend=-np.inf) > TIE_GAP * max(1.0, float(np.abs(order).max()))
    return order[first_of_group][np.searchsorted(order[first_of_group], values, side="right") - 1]
