"""Have the chains converged? Figures from counters and draws, and a verdict in words.

Edges are judged from batch counters over *all* kept iterations (an edge is a 0/1 variable, so counters hold everything
R-hat and batch means need), the log posterior from its stored draws. A figure that does not exist, such as the R-hat of
an edge that never changed, is NaN in the arrays here and None in `Diagnostics`, never a flattering number.

References
----------
Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and localization: an improved
R-hat for assessing convergence of MCMC", Bayesian Analysis 16(2). Geyer (1992), "Practical Markov chain Monte Carlo".
"""

from __future__ import annotations

import dataclasses
import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parnidag.posterior import RunRecord

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RHAT_LIMIT = 1.05
"""Above it the halves of the chains differ by more than their own noise. A stricter 1.01 is usual for a few parameters;
here the worst of thousands of edges is taken, which exceeds 1.01 by chance alone."""

DISAGREEMENT_LIMIT = 0.1
"""Two chains whose probabilities of an edge differ by more than this can put it into different classes of evidence."""

ESS_LIMIT_PER_CHAIN = 50.0
"""With fewer effective draws of the log posterior a chain, R-hat itself is too noisy to be believed."""

MINIMUM_DRAWS = 4
"""Two half-chains of two draws: the least for which a variance within half-chains exists."""

WORST_EDGES = 10
"""How many of the edges that the chains disagree on most are named."""

ROUNDING = 1e-10
"""Log posteriors closer than this, relative to the largest, differ by rounding only and count as equal."""


# ── edges, from counters ──────────────────────────────────────────────────────────────────────────────────────────────


def chain_probabilities(batch_counts: Integers, batch_iterations: Integers) -> Floats:
    """Frequency of every edge in every chain that kept at least one iteration.

    Parameters
    ----------
    batch_counts : (chain, batch, edge) array
        In how many iterations of the batch the edge was present.
    batch_iterations : (chain, batch) array
        Iterations in each batch; 0 for a batch that an interrupted chain never reached.

    Returns
    -------
    (kept chain, edge) array

    Examples
    --------
    >>> chain_probabilities(np.array([[[1, 4], [3, 4]]]), np.array([[4, 4]]))
    array([[0.5, 1. ]])
    """
    lengths = batch_iterations.sum(axis=1)
    kept = lengths > 0
    frequencies: Floats = batch_counts[kept].sum(axis=1) / lengths[kept, None]
    return frequencies


def edge_rhat(batch_counts: Integers, batch_iterations: Integers) -> Floats:
    """Split R-hat of every edge at once.

    Each chain is cut into two halves of whole batches (without the middle one if their number is odd). For 0/1 values
    rank normalisation is an affine map, so this *is* the rank-normalised R-hat. NaN for an edge that never changed,
    infinity for one that is frozen at different values in different halves.

    Parameters
    ----------
    batch_counts, batch_iterations
        As for `chain_probabilities`.

    Examples
    --------
    >>> frozen_apart = np.array([[[50], [50]], [[0], [0]]])
    >>> edge_rhat(frozen_apart, np.array([[50, 50], [50, 50]]))
    array([inf])
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

    Parameters
    ----------
    batch_counts, batch_iterations
        As for `chain_probabilities`.

    Examples
    --------
    >>> edge_mcse(np.array([[[1, 0], [3, 0]], [[3, 0], [1, 0]]]), np.array([[4, 4], [4, 4]])).round(3)
    array([0.144,   nan])
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


def edge_ess(probabilities: Floats, mcse: Floats, iterations: int) -> Floats:
    """Effective number of independent graphs behind every edge probability: p(1−p) / mcse², at most `iterations`.

    Examples
    --------
    >>> edge_ess(np.array([0.5, 1.0]), np.array([0.05, np.nan]), iterations=1000)
    array([100.,  nan])
    """
    spread = probabilities * (1 - probabilities)
    # Batches that agree exactly have no measurable error: the cap then says how many iterations there were.
    no_error = mcse == 0
    return np.minimum(np.where(no_error, np.inf, spread / np.where(no_error, 1.0, mcse) ** 2), float(iterations))


def edge_disagreement(chains: Floats, n_nodes: int) -> tuple[Floats, float]:
    """How far chains disagree: per edge, and over all edges.

    Parameters
    ----------
    chains : (chain, edge) array
        Per-chain probabilities of the edges seen by any chain (`chain_probabilities`), at least two chains.
    n_nodes : int
        Number of nodes n; edges never seen count as agreement.

    Returns
    -------
    spread : (edge,) array
        Largest minus smallest probability over chains.
    rms : float
        Square root of the mean, over the n(n−1) ordered pairs of nodes and over all pairs of chains, of the squared
        difference between the two chains' probabilities.

    Examples
    --------
    >>> spread, rms = edge_disagreement(np.array([[0.9, 0.2], [0.5, 0.2]]), n_nodes=2)
    >>> spread.round(2), round(rms, 4)
    (array([0.4, 0. ]), 0.2828)
    """
    n_chains, n_edges = chains.shape
    pairs = n_nodes * (n_nodes - 1) * n_chains * (n_chains - 1) / 2
    if n_edges == 0 or pairs == 0:
        return np.zeros(n_edges), 0.0
    # Σ over pairs of (p_a − p_b)² = C·Σ(p − mean)², without the cancellation of the textbook shortcut.
    squares = n_chains * ((chains - chains.mean(axis=0)) ** 2).sum()
    return chains.max(axis=0) - chains.min(axis=0), math.sqrt(squares / pairs)


# ── the log posterior, from draws ─────────────────────────────────────────────────────────────────────────────────────


def rank_rhat(draws: Floats) -> float:
    """Rank-normalised split R-hat of a scalar, the larger of its bulk and folded versions (Vehtari et al. 2021).

    Parameters
    ----------
    draws : (chain, draw) array

    Returns
    -------
    float
        NaN if nothing ever changes or there are fewer than four draws; infinity if chains are frozen apart.

    Examples
    --------
    >>> rank_rhat(np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]))
    inf
    """
    if not _usable(draws):
        return math.nan
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves))
    both = [_plain_rhat(_normal_scores(values)) for values in (halves, folded)]
    defined = [value for value in both if not math.isnan(value)]
    return max(defined, default=math.nan)


def bulk_ess(draws: Floats) -> float:
    """Effective sample size of rank-normalised split chains: how well the centre of the distribution is known.

    Parameters
    ----------
    draws : (chain, draw) array

    Returns
    -------
    float
        NaN if nothing ever changes or there are fewer than four draws.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> 1600 < bulk_ess(draws) < 2400
    True
    """
    return _ess(_normal_scores(_split(draws))) if _usable(draws) else math.nan


def tail_ess(draws: Floats) -> float:
    """Effective sample size of the 5 % and 95 % quantiles, the smaller of the two.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> 1400 < tail_ess(draws) < 2600
    True
    """
    if not _usable(draws):
        return math.nan
    halves = _split(draws)
    below = [(halves <= np.quantile(halves, level)).astype(np.float64) for level in (0.05, 0.95)]
    defined = [value for value in map(_ess, below) if not math.isnan(value)]
    return min(defined, default=math.nan)


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


def merge_rounding(values: Floats) -> Floats:
    """Make values that differ by rounding only exactly equal.

    The same graph can get log posteriors that differ in the last digits, summed in another order; ranks would take
    such differences for real ones.

    Examples
    --------
    >>> merge_rounding(np.array([-100.0, -90.0, -100.0 + 1e-12]))
    array([-100.,  -90., -100.])
    """
    order = np.sort(values, axis=None)
    if order.size == 0 or not np.isfinite(order).all():
        return values
    first_of_group = np.diff(order, prepend=-np.inf) > ROUNDING * max(1.0, float(np.abs(order).max()))
    return order[first_of_group][np.searchsorted(order[first_of_group], values, side="right") - 1]


# ── the verdict ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """Convergence figures of a run, with a verdict and advice.

    Attributes
    ----------
    rhat_log_posterior, ess_log_posterior, ess_tail_log_posterior : float or None
        Rank-normalised split R-hat, bulk and tail effective sample size of the stored log posteriors; None if they
        never change or are too few.
    rhat_edges_max : float or None
        Largest split R-hat of any edge that changed; infinite if chains are frozen apart.
    edges_rhat_above : int
        Number of edges with R-hat above `RHAT_LIMIT`.
    ess_edges_min : float or None
        Smallest effective sample size of any edge that changed.
    disagreement_max, disagreement_rms : float or None
        Between-chain disagreement (`edge_disagreement`); None with fewer than two chains.
    worst_edges : list of (parent, child, probabilities by chain)
        The edges that the chains disagree on most, worst first.
    acceptance, evaluations, omega, iterations, iterations_per_second, memo_hit_rate : list of float or None
        One figure a chain: acceptance rate, neighbourhoods evaluated an iteration, the adapted ω, kept iterations,
        speed over tuning and kept iterations, share of local scores found in the memo; None if the sampler has none.
    timings : dict
        Seconds by stage.
    converged : bool or None
        None when it cannot be said: one chain that looks settled, or too few draws to judge.
    verdict : str
        The same in words.
    advice : list of str
        What to do next; empty if nothing.
    """

    rhat_log_posterior: float | None
    ess_log_posterior: float | None
    ess_tail_log_posterior: float | None
    rhat_edges_max: float | None
    edges_rhat_above: int
    ess_edges_min: float | None
    disagreement_max: float | None
    disagreement_rms: float | None
    worst_edges: list[tuple[str, str, list[float]]]
    acceptance: list[float] | None
    evaluations: list[float] | None
    omega: list[float] | None
    iterations: list[float] | None
    iterations_per_second: list[float] | None
    memo_hit_rate: list[float] | None
    timings: dict[str, float]
    converged: bool | None
    verdict: str
    advice: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain JSON values; an infinite R-hat becomes the string "inf"."""
        plain: dict[str, Any] = _json_ready(dataclasses.asdict(self))
        return plain

    def __repr__(self) -> str:
        lines = ["Diagnostics", *_wrapped("verdict", self.verdict)]
        lines += [line for item in self.advice for line in _wrapped("advice", item)]
        figures = {
            "log posterior": f"R-hat {_shown(self.rhat_log_posterior)}, ESS {_shown(self.ess_log_posterior, 0)} bulk, "
            f"{_shown(self.ess_tail_log_posterior, 0)} tail",
            "edges": f"R-hat at most {_shown(self.rhat_edges_max)}, {self.edges_rhat_above} above {RHAT_LIMIT}; "
            f"ESS at least {_shown(self.ess_edges_min, 0)}",
            "between chains": f"differ by at most {_shown(self.disagreement_max, 3)}, "
            f"root mean square {_shown(self.disagreement_rms, 4)}",
        }
        for name in ("acceptance", "evaluations", "omega", "iterations", "iterations_per_second", "memo_hit_rate"):
            values = getattr(self, name)
            if values is not None:
                figures[name.replace("_", " ").replace("iterations per second", "iterations/s")] = _by_chain(values)
        if self.timings:
            figures["seconds"] = ", ".join(f"{stage} {seconds:.3g}" for stage, seconds in self.timings.items())
        for name, text in figures.items():
            lines += _wrapped(name, text)
        return "\n".join(lines)


def _json_ready(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_ready(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _shown(value: float | None, digits: int = 2) -> str:
    if value is None:
        return "–"
    return f"{value:,.{digits}f}" if math.isfinite(value) else "infinite"


def _by_chain(values: Sequence[float]) -> str:
    return "  ".join(_short(value) for value in values)


def _short(value: float) -> str:
    if math.isnan(value):
        return "–"  # a chain without this figure, beside others that have it
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, 80, initial_indent=f"  {label:<15} ", subsequent_indent=" " * 18)


def edge_label(parent: str, child: str) -> str:
    """Return "parent → child", each name cut to a length that fits a line.

    Examples
    --------
    >>> edge_label("PKC", "P38")
    'PKC → P38'
    """
    return f"{_cut(parent)} → {_cut(child)}"


def _cut(name: str, width: int = 24) -> str:
    name = " ".join(name.split()) or repr(name)
    return name if len(name) <= width else name[: width - 1] + "…"


def diagnose(record: RunRecord) -> Diagnostics:
    """Judge a run from its record; users call `Posterior.diagnostics`."""
    counts, lengths = record.batch_counts, record.batch_iterations
    draws = merge_rounding(record.log_posterior)
    chains = chain_probabilities(counts, lengths)
    rhat = edge_rhat(counts, lengths)
    comparable = len(chains) > 1
    spread, rms = edge_disagreement(chains, len(record.nodes)) if comparable else (np.zeros(len(rhat)), 0.0)
    figures: dict[str, Any] = {
        "rhat_log_posterior": _known(rank_rhat(draws)),
        "ess_log_posterior": _known(bulk_ess(draws)),
        "ess_tail_log_posterior": _known(tail_ess(draws)),
        "rhat_edges_max": _known(np.nanmax(rhat, initial=0.0)) if np.any(~np.isnan(rhat)) else None,
        "edges_rhat_above": int((rhat > RHAT_LIMIT).sum()),
        "ess_edges_min": _smallest_ess(record, chains),
        "disagreement_max": float(spread.max(initial=0.0)) if comparable else None,
        "disagreement_rms": rms if comparable else None,
        "worst_edges": _worst_edges(record, spread, chains),
    }
    verdict = _exact_verdict() if record.exact_probabilities is not None else _judge(record, figures, spread)
    return Diagnostics(**figures, **_run_figures(record), **verdict)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _smallest_ess(record: RunRecord, chains: Floats) -> float | None:
    if len(chains) == 0:
        return None
    mcse = edge_mcse(record.batch_counts, record.batch_iterations)
    ess = edge_ess(chains.mean(axis=0), mcse, int(record.batch_iterations.sum()))
    return float(np.nanmin(ess)) if np.any(~np.isnan(ess)) else None


def _worst_edges(record: RunRecord, spread: Floats, chains: Floats) -> list[tuple[str, str, list[float]]]:
    n = len(record.nodes)
    worst = np.argsort(-spread, kind="stable")[:WORST_EDGES]
    return [
        (record.nodes[code // n], record.nodes[code % n], chains[:, edge].tolist())
        for edge, code in zip(worst, record.edge_codes[worst].tolist(), strict=True)
        if spread[edge] > 0
    ]


def _run_figures(record: RunRecord) -> dict[str, Any]:
    statistics = {name: np.asarray(values, dtype=np.float64) for name, values in record.statistics.items()}
    kept = statistics.get("iterations", record.batch_iterations.sum(axis=1).astype(np.float64))
    seconds = statistics.get("cpu_seconds")
    speed = None
    if seconds is not None and len(seconds) and np.all(seconds > 0):
        speed = ((kept + statistics.get("tune_iterations", np.zeros_like(kept))) / seconds).tolist()
    names = ("acceptance", "evaluations", "omega", "memo_hit_rate")
    by_chain = {name: statistics[name].tolist() if name in statistics else None for name in names}
    timings = {str(stage): float(seconds) for stage, seconds in dict(record.settings.get("timings") or {}).items()}
    return by_chain | {
        "iterations": kept.tolist() if np.any(kept > 0) else None,
        "iterations_per_second": speed,
        "timings": timings,
    }


def _exact_verdict() -> dict[str, Any]:
    return {"converged": True, "verdict": "exact: no Monte-Carlo error", "advice": []}


def _judge(record: RunRecord, figures: dict[str, Any], spread: Floats) -> dict[str, Any]:
    """Apply the limits at the top of this file, the gravest finding first."""
    problems, advice = _problems(record, figures, spread)
    n_chains = int((record.batch_iterations.sum(axis=1) > 0).sum())
    worst_rhat = max(figures["rhat_log_posterior"] or 1.0, figures["rhat_edges_max"] or 1.0)
    converged: bool | None
    if problems:
        converged, verdict = False, f"not converged: {problems[0]}"
    elif n_chains < 2:
        converged, verdict = None, "cannot be known: one chain has nothing to be compared with"
        advice.append("differences between chains cannot be known from one chain: run chains=4")
    elif _too_short(record, figures, n_chains):
        converged = None
        verdict = "too short to say: the chains agree so far, but on too few effective draws"
        advice.append(f"run longer: draws={_more_draws(record)}")
    else:
        converged = True
        verdict = (
            f"converged: {n_chains} chains agree on every edge to within {figures['disagreement_max']:.3f} "
            f"(R-hat at most {worst_rhat:.2f})"
        )
    if record.settings.get("interrupted"):
        advice.append("the run was interrupted: these figures are for the part that was done")
    return {"converged": converged, "verdict": verdict, "advice": advice}


def _problems(record: RunRecord, figures: dict[str, Any], spread: Floats) -> tuple[list[str], list[str]]:
    """Find what speaks against convergence, and what to do about each finding."""
    problems, advice = [], []
    apart = int((spread > DISAGREEMENT_LIMIT).sum())
    if apart:
        parent, child, by_chain = figures["worst_edges"][0]
        edges = "1 edge" if apart == 1 else f"{apart} edges"
        most = f"{edge_label(parent, child)} ({min(by_chain):.2f} … {max(by_chain):.2f})"
        problems.append(f"chains disagree on {edges}, by up to {figures['disagreement_max']:.2f}")
        advice.append(
            f"chains disagree on {edges}, most on {most}: run longer (draws={_more_draws(record)}), "
            "with more chains, or with another sampler"
        )
    if figures["edges_rhat_above"]:
        above = figures["edges_rhat_above"]
        problems.append(f"R-hat of {above} edge{'s' * (above > 1)} above {RHAT_LIMIT}")
        if not apart:
            advice.append(f"chains still drift: run longer (draws={_more_draws(record)}) with a longer tune")
    if (figures["rhat_log_posterior"] or 0.0) > RHAT_LIMIT:
        rhat = _shown(figures["rhat_log_posterior"])
        problems.append(f"R-hat of the log posterior is {rhat}")
        advice.append(f"the log posterior has not settled (R-hat {rhat}): raise tune, so that its climb is not kept")
    return problems, advice


def _too_short(record: RunRecord, figures: dict[str, Any], n_chains: int) -> bool:
    if record.log_posterior.shape[1] < MINIMUM_DRAWS:
        return True
    ess = figures["ess_log_posterior"]  # None here: the log posterior never changes, which is no shortage of draws
    return ess is not None and ess < ESS_LIMIT_PER_CHAIN * n_chains


def _more_draws(record: RunRecord) -> int:
    """Four times as many: halves the Monte-Carlo error."""
    return 4 * max(int(record.settings.get("draws") or record.log_posterior.shape[1]), 1)
