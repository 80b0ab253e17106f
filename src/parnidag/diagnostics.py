"""Have the chains converged? A verdict in words on the figures of `convergence.py`, and what to do next.

A figure that does not exist, such as the R-hat of an edge that never changed, is None here, never a flattering number.
"""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parnidag.convergence import (
    MINIMUM_DRAWS,
    Floats,
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
from parnidag.mode_words import edge_label as edge_label
from parnidag.mode_words import group_lines, node_list, same_start_note, separation, separation_advice
from parnidag.modes import ModeGroup, common_chain_groups, find_modes, same_start
from parnidag.record import RunRecord

RHAT_LIMIT = 1.05
"""Above it the halves of the chains differ by more than their own noise. A stricter 1.01 is usual for a few parameters;
here the worst of thousands of edges is taken, which exceeds 1.01 by chance alone."""

DISAGREEMENT_LIMIT = 0.1
"""Two chains whose probabilities of an edge differ by more than this can put it into different classes of evidence."""

ESS_LIMIT_PER_CHAIN = 50.0
"""With fewer effective draws of the log posterior a chain, R-hat itself is too noisy to be believed."""

WORST_EDGES = 10
"""How many of the edges that the chains disagree on most are named."""


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
    modes : list of ModeGroup
        Groups of nodes at which chains disagree by more than `DISAGREEMENT_LIMIT`: nodes, edges, the kind ("separated"
        modes or "slow" mixing), which chains go together, whether each stays where it started, and how the mean log
        posteriors compare. Separated ones first; empty if the chains agree.
    chain_groups : list of list of int
        Chains, by index from 0, that sit in the same mode at all separated groups of nodes; empty if there are none.
    acceptance, evaluations, omega, iterations, iterations_per_second, memo_hit_rate : list of float or None
        One figure a chain: acceptance rate, neighbourhoods evaluated an iteration, the adapted ω, kept iterations,
        speed over tuning and kept iterations, share of local scores found in the memo; None if the sampler has none.
    move_acceptance : dict
        Acceptance rate of each kind of move, one figure a chain; empty if the sampler has one kind only.
    move_cost : dict
        Microseconds of CPU time that a move of each kind takes, where the first chain ended; empty if not measured.
    move_outside : dict
        Share of the tries of each kind of move, a chain, that ended because the tables do not hold a parent set they
        needed; only of moves that draw from tables.
    timings : dict
        Seconds by stage.
    converged : bool or None
        None when it cannot be said: one chain that looks settled, or too few draws to judge.
    verdict : str
        The same in words.
    advice : list of str
        What to do next, and how much agreement proves if all chains started from one graph; empty if nothing.
    caveats : list of str
        What the figures cannot show: that the sampler's law is not the posterior, or that it saw only some graphs.
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
    modes: list[ModeGroup]
    chain_groups: list[list[int]]
    acceptance: list[float] | None
    evaluations: list[float] | None
    omega: list[float] | None
    iterations: list[float] | None
    iterations_per_second: list[float] | None
    memo_hit_rate: list[float] | None
    move_acceptance: dict[str, list[float]]
    move_cost: dict[str, float]
    move_outside: dict[str, list[float]]
    timings: dict[str, float]
    converged: bool | None
    verdict: str
    advice: list[str]
    caveats: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain JSON values; an infinite R-hat becomes the string "inf"."""
        plain: dict[str, Any] = _json_ready(dataclasses.asdict(self))
        return plain

    def _about_move(self, move: str) -> str:
        """Say how often a kind of move was accepted, and what one costs."""
        single = move in ("add", "delete", "reverse")
        cost = self.move_cost.get("adr" if single else move)
        remarks = []
        if cost is not None:
            remarks.append(f"{_short(cost)} µs" + " an iteration" * (move == "parni"))
        if move in self.move_outside:
            remarks.append(f"{np.mean(self.move_outside[move]):.1%} off tables")
        return _by_chain(self.move_acceptance[move]) + (f"  ({', '.join(remarks)})" if remarks else "")

    def __repr__(self) -> str:
        lines = ["Diagnostics", *_wrapped("verdict", self.verdict)]
        lines += [line for item in self.advice for line in _wrapped("advice", item)]
        lines += [line for item in self.caveats for line in _wrapped("note", item)]
        lines += [line for kind, text in group_lines(self.modes) for line in _wrapped(kind, text)]
        if self.iterations is None:  # exact: there were no chains to speak of
            return "\n".join(lines)
        figures = {
            "log posterior": f"R-hat {_shown(self.rhat_log_posterior)}, ESS {_shown(self.ess_log_posterior, 0)} bulk, "
            f"{_shown(self.ess_tail_log_posterior, 0)} tail",
            "edges": f"R-hat at most {_shown(self.rhat_edges_max)}, {self.edges_rhat_above} above {RHAT_LIMIT}; "
            f"ESS at least {_shown(self.ess_edges_min, 0)}",
            "between chains": f"differ by at most {_shown(self.disagreement_max, 3)}, "
            f"root mean square {_shown(self.disagreement_rms, 4)}",
        }
        if self.acceptance is not None:
            figures["acceptance"] = _by_chain(self.acceptance)
        figures |= {f"  {move}": self._about_move(move) for move in self.move_acceptance}
        for name in ("evaluations", "omega", "iterations", "iterations_per_second", "memo_hit_rate"):
            values = getattr(self, name)
            if values is not None:
                figures[name.replace("_", " ").replace("iterations per second", "per CPU second")] = _by_chain(values)
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


def diagnose(record: RunRecord) -> Diagnostics:
    """Judge a run from its record; users call `Posterior.diagnostics`."""
    counts, lengths = record.batch_counts, record.batch_iterations
    draws = merge_rounding(record.log_posterior)
    chains = chain_probabilities(counts, lengths)
    rhat = edge_rhat(counts, lengths)
    comparable = len(chains) > 1
    spread, rms = edge_disagreement(chains, len(record.nodes)) if comparable else (np.zeros(len(rhat)), 0.0)
    modes = find_modes(record, draws, DISAGREEMENT_LIMIT)
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
        "modes": modes,
        "chain_groups": common_chain_groups(modes),
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

    def by_move(suffix: str) -> dict[str, list[float]]:
        return {
            name.removesuffix(suffix).replace("_", " "): values.tolist()
            for name, values in statistics.items()
            if name.endswith(suffix)
        }

    costs = dict(record.settings.get("move_costs") or {})
    return by_chain | {
        "move_acceptance": by_move("_acceptance"),
        "move_cost": {name.replace("_", " "): float(cost) for name, cost in costs.items()},
        "move_outside": by_move("_outside"),
        "caveats": [str(text) for text in record.settings.get("caveats") or ()],
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
    known = [figures[name] for name in ("rhat_log_posterior", "rhat_edges_max") if figures[name] is not None]
    converged: bool | None
    if n_chains < 2:
        advice.append("differences between chains cannot be known from one chain: run chains=4")
    if problems:
        converged, verdict = False, f"not converged: {problems[0]}"
    elif n_chains < 2:
        converged, verdict = None, "cannot be known: one chain has nothing to be compared with"
    elif not _anything_moved(record):
        converged = None
        verdict = "cannot be known: no chain ever left its first graph"
        advice.append("either one graph has nearly all the probability, or the chains are stuck: try other starts")
    elif not known or _too_short(record, figures, n_chains):
        converged = None
        verdict = "too short to say: the chains agree so far, but on too few effective draws"
        advice.append(f"run longer: draws={_more_draws(record)}")
    else:
        converged = True
        verdict = (
            f"converged: {n_chains} chains agree on every edge to within {figures['disagreement_max']:.3f} "
            f"(R-hat at most {max(known):.2f})"
        )
    if not figures["modes"]:
        advice += _about_starts(record, n_chains)
    if record.settings.get("interrupted"):
        advice.append("the run was interrupted: these figures are for the part that was done")
    return {"converged": converged, "verdict": verdict, "advice": advice}


def _problems(record: RunRecord, figures: dict[str, Any], spread: Floats) -> tuple[list[str], list[str]]:
    """Find what speaks against convergence, and what to do about each finding."""
    problems, advice = [], []
    apart = int((spread > DISAGREEMENT_LIMIT).sum())
    separated = bool(figures["chain_groups"])
    if apart:
        edges = "1 edge" if apart == 1 else f"{apart} edges"
        by_how_much = f"chains disagree on {edges}, by up to {figures['disagreement_max']:.2f}"
        problems.append(separation(figures["modes"], figures["chain_groups"]) if separated else by_how_much)
        advice += _about_disagreement(record, figures, edges)
    if figures["edges_rhat_above"]:
        above = figures["edges_rhat_above"]
        problems.append(f"R-hat of {above} edge{'s' * (above > 1)} above {RHAT_LIMIT}")
        if not apart:
            advice.append(f"chains still drift: run longer (draws={_more_draws(record)}) with a longer tune")
    if (figures["rhat_log_posterior"] or 0.0) > RHAT_LIMIT:
        rhat = _shown(figures["rhat_log_posterior"])
        problems.append(f"R-hat of the log posterior is {rhat}")
        if not separated:  # modes of different height have such an R-hat, and no climb
            climb = "raise tune, so that its climb is not kept"
            advice.append(f"the log posterior has not settled (R-hat {rhat}): {climb}")
    return problems, advice


def _about_disagreement(record: RunRecord, figures: dict[str, Any], edges: str) -> list[str]:
    """Name the edge that chains disagree on most, and say what helps: it depends on whether they move at all."""
    parent, child, by_chain = figures["worst_edges"][0]
    most = f"{edge_label(parent, child)} ({min(by_chain):.2f} … {max(by_chain):.2f})"
    longer = f"run longer (draws={_more_draws(record)})"
    if not figures["chain_groups"]:
        return [
            f"chains disagree on {edges}, most on {most}, and move between such values too seldom: {longer}, "
            "with more chains, or with another sampler"
        ]
    advice = separation_advice(figures["modes"], dict(record.settings.get("sampler") or {}))
    slow = dict.fromkeys(node for group in figures["modes"] if group.kind == "slow" for node in group.nodes)
    if slow:
        advice.append(f"at nodes {node_list(list(slow))} chains do move, but too seldom: {longer} for these")
    return [f"chains disagree on {edges}, most on {most}: look whether columns nearly repeat one another", *advice]


def _about_starts(record: RunRecord, n_chains: int) -> list[str]:
    """Say so if all chains started from one graph: what none of them met, their agreement does not rule out.

    Searches that end at the same graph independently are evidence, not a want of it.
    """
    searched = record.settings.get("start") == "searched"
    edges = same_start(record) if n_chains > 1 and not searched else None
    if edges is None:
        return []
    required = int(dict(record.settings.get("prior") or {}).get("required_edges", 0))
    return [same_start_note(n_chains, len(edges), len(edges) == required)]


def _anything_moved(record: RunRecord) -> bool:
    counts, lengths = record.batch_counts.sum(axis=1), record.batch_iterations.sum(axis=1)
    return bool(((counts > 0) & (counts < lengths[:, None])).any())


def _too_short(record: RunRecord, figures: dict[str, Any], n_chains: int) -> bool:
    if record.log_posterior.shape[1] < MINIMUM_DRAWS:
        return True
    if figures["rhat_edges_max"] is None:  # edges changed, but the run was stopped before its chains had two halves
        return True
    ess = figures["ess_log_posterior"]  # None here: the log posterior never changes, which is no shortage of draws
    return ess is not None and ess < ESS_LIMIT_PER_CHAIN * n_chains


def _more_draws(record: RunRecord) -> int:
    """Four times as many: halves the Monte-Carlo error."""
    return 4 * max(int(record.settings.get("draws") or record.log_posterior.shape[1]), 1)
