"""The verdict on a run in words: which finding is the gravest, and what to do about each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parnidag.results.convergence import MINIMUM_DRAWS, Floats
from parnidag.results.mode_words import edge_label, node_list, same_start_note, separation, separation_advice
from parnidag.results.modes import same_start
from parnidag.results.record import RunRecord

RHAT_LIMIT = 1.05
"""Above it the halves of the chains differ by more than their own noise. A stricter 1.01 is usual for a few parameters;
here the worst of thousands of edges is taken, which exceeds 1.01 by chance alone."""

DISAGREEMENT_LIMIT = 0.1
"""Two chains whose probabilities of an edge differ by more than this can put it into different classes of evidence."""

ESS_LIMIT_PER_CHAIN = 50.0
"""With fewer effective draws of the log posterior a chain, R-hat itself is too noisy to be believed."""


def exact_verdict() -> dict[str, Any]:
    """Return what is said of a result without Monte-Carlo error."""
    return {"converged": True, "verdict": "exact: edge probabilities have no Monte-Carlo error", "advice": []}


def judge(record: RunRecord, figures: dict[str, Any], spread: Floats) -> dict[str, Any]:
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
    if not np.isfinite(record.log_posterior).all():
        problems.append("the log posterior of some draws is no finite number")
        advice.append("the score or the prior gives what is no number for some graphs: check it")
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
        rhat = shown(figures["rhat_log_posterior"])
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
    advice = separation_advice(figures["modes"], dict(record.settings))
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
    ess = figures["ess_log_posterior"]
    if ess is None:  # the log posterior of the draws never changes: no shortage of information, if they are not too few
        return bool(record.log_posterior.shape[1] < ESS_LIMIT_PER_CHAIN)
    return bool(ess < ESS_LIMIT_PER_CHAIN * n_chains)


def _more_draws(record: RunRecord) -> int:
    """Four times as many: halves the Monte-Carlo error."""
    return 4 * max(int(record.settings.get("draws") or record.log_posterior.shape[1]), 1)


def shown(value: float | None, digits: int = 2) -> str:
    """Write a figure; a dash for one that does not exist."""
    if value is None:
        return "–"
    return f"{value:,.{digits}f}" if math.isfinite(value) else "infinite"
