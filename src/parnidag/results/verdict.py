"""The verdict on a run in words: which finding is the gravest, what to do about each, and which chains go together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from parnidag._util.text import one_line
from parnidag.exact_solver.size import MAX_NODES, estimate
from parnidag.results.convergence import MINIMUM_DRAWS, Floats
from parnidag.results.modes import ModeGroup, least_stay
from parnidag.results.record import RunRecord, same_start

RHAT_LIMIT = 1.05
"""R-hat of an edge is √(1 + B/W): B is the variance of its frequency between half-chains, W = p(1 − p) that of a single
iteration. So it says how far half-chains differ, not whether that is more than their noise: 1.05 is a standard
deviation of 0.16 between them at p = ½, and of 0.1 at p = 0.1. The usual 1.01 (0.07 at p = ½) is for a few parameters;
the worst of thousands of edges exceeds it in sound runs of ordinary length."""

DISAGREEMENT_LIMIT = 0.1
"""Chains whose probabilities of an edge differ by more than this are said to disagree. It is an absolute difference:
where an edge has a small prior, chains can agree by this measure and still put it into different classes of evidence
(at a prior of 0.01 "excluded" ends at 0.001 and "included" begins at 0.09), which `evidence_unsure` counts."""

TRUE_ERROR_LIMIT = 0.05
"""Where the exact probabilities are known, chains that agree but are further off have not converged."""
SUM_DIFFERS = "not converged: the exact sum over all graphs differs"
"""How the verdict on those begins."""

MCSE_LIMIT = TRUE_ERROR_LIMIT / 2
"""The largest Monte-Carlo standard error of any edge: 19 in 20 true errors are within twice this. Means of chains can
agree by chance on an edge that each chain changed a few times only; how its batches scatter tells."""

ESS_LIMIT_PER_CHAIN = 50.0
"""With fewer effective draws of the log posterior a chain, R-hat itself is too noisy to be believed."""

CELLS_RHAT_LIMIT = 1.1
"""R-hat of summaries of drawn cells, up to two for each column. Runs whose edges agree had up to 1.02,
those whose edges did not 1.13 and more."""

HEIGHT_LIMIT = math.log(20.0)
"""A mode this far below another in log posterior has a twentieth of its weight, if both are equally wide."""

SHOWN_GROUPS = 3
SHOWN_NODES = 6
SHOWN_CHAINS = 8
SHOWN_SPLIT = 4


def judge(record: RunRecord, figures: dict[str, Any], spread: Floats) -> dict[str, Any]:
    """Apply the limits at the top of this file, the gravest finding first."""
    if record.exact_probabilities is not None:
        return {"converged": True, "verdict": "exact: edge probabilities have no Monte-Carlo error", "advice": []}
    problems, advice = _problems(record, figures, spread)
    n_chains = int((record.batch_iterations.sum(axis=1) > 0).sum())
    known = [figures[name] for name in ("rhat_log_posterior", "rhat_edges_max") if figures[name] is not None]
    converged: bool | None
    if n_chains < 2:
        advice.append("differences between chains cannot be known from one chain: run chains=4")
    error = figures["true_error_max"]
    if problems:
        converged, verdict = False, f"not converged: {problems[0]}"
    elif error is not None and error > TRUE_ERROR_LIMIT:
        converged = False
        verdict = f"{SUM_DIFFERS}, by up to {error:.2f}"
    elif n_chains < 2:
        converged, verdict = None, "cannot be known: one chain has nothing to be compared with"
    elif not _anything_moved(record):
        converged, verdict = None, "cannot be known: no chain ever left its first graph"
        advice.append("either one graph has nearly all the probability, or the chains are stuck: try other starts")
    elif not known or _too_short(record, figures, n_chains):
        converged, verdict = None, "too short to say: the chains agree so far, but on too few effective draws"
        advice.append(f"run longer: draws={_more_draws(record)}")
    elif (figures["mcse_edges_max"] or 0.0) > MCSE_LIMIT:
        converged = None
        verdict = (
            "too short to say: the chains agree so far, but the probabilities of some edges are known to "
            f"±{2.0 * figures['mcse_edges_max']:.2f} only"
        )
        advice.append(f"run longer: draws={_more_draws(record)}")
    else:
        converged = True
        law = f" to {record.settings['law']}" if record.settings.get("law") else ""
        verdict = (
            f"converged{law}: {n_chains} chains agree on all edges to {figures['disagreement_max']:.3f}, "
            f"s.e. ≤ {figures['mcse_edges_max'] or 0.0:.3f} (R-hat ≤ {max(known):.2f})"
        )
    if not converged and _may_be_summed(record, figures):
        advice.append(
            f"parnidag.exact(data) adds up all graphs of these {len(record.nodes)} columns, with at most "
            f"{estimate(len(record.nodes))[1]}"
        )
    if not figures["modes"]:
        advice += _about_starts(record, n_chains)
    if record.settings.get("interrupted"):
        advice.append("the run was interrupted: these figures are for the part that was done")
    return {"converged": converged, "verdict": verdict, "advice": advice}


def _may_be_summed(record: RunRecord, figures: dict[str, Any]) -> bool:
    """Say whether `parnidag.exact` would take this table and prior: few nodes, no cells to draw, one h for all."""
    unequal = dict(record.settings.get("prior") or {}).get("regulators")
    return len(record.nodes) <= MAX_NODES and unequal is None and figures["cells_share"] is None


def _problems(record: RunRecord, figures: dict[str, Any], spread: Floats) -> tuple[list[str], list[str]]:
    problems, advice = [], []
    if not np.isfinite(record.log_posterior).all():
        problems.append("the log posterior of some draws is no finite number")
        advice.append("the score or the prior gives what is no number for some graphs: check it")
    apart = int((spread > DISAGREEMENT_LIMIT).sum())
    separated = bool(figures["chain_groups"])
    if apart:
        edges = "1 edge" if apart == 1 else f"{apart} edges"
        if separated:
            problems.append(
                f"chains sit in {len(figures['chain_groups'])} separated modes "
                f"({split_of_chains(figures['chain_groups'])}), at nodes {_nodes_of(figures['modes'], 'separated')}"
            )
        else:
            problems.append(f"chains disagree on {edges}, by up to {figures['disagreement_max']:.2f}")
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
            advice.append(
                f"the log posterior has not settled (R-hat {rhat}): raise tune, so that its climb is not kept"
            )
    if (figures["rhat_cells_max"] or 0.0) > CELLS_RHAT_LIMIT:
        problems.append(f"drawn cells have not settled (R-hat {shown(figures['rhat_cells_max'])})")
        advice.append(
            f"drawn cells move slowly, and graphs with them: run longer (draws={_more_draws(record)}); where yes or no "
            "and ordered classes can pass for numbers, kind='continuous' takes them so, without drawing"
        )
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
    advice = _about_separation(record, figures["modes"])
    slow = _nodes_of(figures["modes"], "slow")
    if slow:
        advice.append(f"at nodes {slow} chains do move, but too seldom: {longer} for these")
    return [f"chains disagree on {edges}, most on {most}: look whether columns nearly repeat one another", *advice]


def _about_starts(record: RunRecord, n_chains: int) -> list[str]:
    """Say so if all chains started from one graph: what none of them met, their agreement does not rule out."""
    edges = same_start(record) if n_chains > 1 else None
    if edges is None:
        return []
    started = f"all {n_chains} chains started from "
    if record.settings.get("start") == "searched":
        return [
            f"{started}the same graph, the best that searches of one shared search space found: a mode that no search "
            "met would not show in their agreement"
        ]
    if len(edges) == int(dict(record.settings.get("prior") or {}).get("required_edges", 0)):
        where = "the required edges alone" if edges.size else "the graph without edges"
        return [f"{started}{where}, as is common; chains that start apart test agreement harder"]
    return [
        f"{started}the same graph, so that they agree is weak evidence: a mode that none of them met would not show; "
        "chains that start apart test it harder"
    ]


def _anything_moved(record: RunRecord) -> bool:
    counts, lengths = record.batch_counts.sum(axis=1), record.batch_iterations.sum(axis=1)
    return bool(((counts > 0) & (counts < lengths[:, None])).any())


def _too_short(record: RunRecord, figures: dict[str, Any], n_chains: int) -> bool:
    draws, ess = record.log_posterior.shape[1], figures["ess_log_posterior"]
    # Without an R-hat edges changed, but the run was stopped before its chains had two halves.
    if draws < MINIMUM_DRAWS or figures["rhat_edges_max"] is None:
        return True
    if ess is None:  # the log posterior of the draws never changes: no shortage of information, if they are not too few
        return bool(draws < ESS_LIMIT_PER_CHAIN)
    return bool(ess < ESS_LIMIT_PER_CHAIN * n_chains)


def _more_draws(record: RunRecord) -> int:
    """Four times as many: halves the Monte-Carlo error."""
    return 4 * max(int(record.settings.get("draws") or record.log_posterior.shape[1]), 1)


def shown(value: float | None, digits: int = 2) -> str:
    """Write a figure; a dash for one that does not exist."""
    if value is None:
        return "–"
    return f"{value:,.{digits}f}" if math.isfinite(value) else "infinite"


# ── nodes at which chains disagree, and chains that go together; chains count from 1 in words ─────────────────────────


def edge_label(parent: str, child: str, sign: str = "→") -> str:
    """Return "parent → child", each name cut to a length that fits a line."""
    return f"{_cut(parent)} {sign} {_cut(child)}"


def _cut(name: str) -> str:
    return one_line(name, 24) or one_line(repr(name), 24)


def _listed(items: Sequence[str], most: int) -> str:
    """Join words with commas; what is beyond the first `most` is only counted."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def node_list(nodes: Sequence[str]) -> str:
    return _listed([_cut(node) for node in nodes], SHOWN_NODES)


def _nodes_of(groups: Sequence[ModeGroup], kind: str) -> str:
    return node_list(list(dict.fromkeys(node for group in groups if group.kind == kind for node in group.nodes)))


def _chain_list(chains: Sequence[int]) -> str:
    return _listed([str(chain + 1) for chain in chains], SHOWN_CHAINS)


def split_of_chains(chain_groups: Sequence[Sequence[int]]) -> str:
    """Say which chains go together: chains 1 and 3 | 2 and 4."""
    if len(chain_groups) <= SHOWN_SPLIT:
        return "chains " + " | ".join(map(_chain_list, chain_groups))
    shown = chain_groups[: SHOWN_SPLIT - 1]
    return f"{split_of_chains(shown)} | and {len(chain_groups) - len(shown)} more modes"


def _about_separation(record: RunRecord, groups: Sequence[ModeGroup]) -> list[str]:
    separated = [group for group in groups if group.kind == "separated"]
    stayed = all(group.by_start for group in separated)
    reason = "each chain stays where it started" if stayed else "no chain was seen to cross between modes"
    advice = [
        f"{reason}, so a stay lasts about {float(f'{least_stay(record):.2g}'):,.0f} iterations or more: try "
        f"{_other_samplers(dict(record.settings))}, and more chains to find more of the modes; "
        "only a run of many such stays would weigh them"
    ]
    heights = _about_heights(separated[0])
    if heights:
        where = "" if len(separated) == 1 else f"at {node_list(separated[0].nodes)} "
        advice.append(where + heights)
    return advice


def _other_samplers(settings: dict[str, Any]) -> str:
    """Name samplers that cross between modes more easily, by what the one that was used says of itself."""
    used = dict(settings.get("sampler") or {}).get("name")
    others = [f"samplers.{name}()" for name in ("PARNI", "PartitionMCMC") if name != used]
    return " or ".join(settings.get("alternatives") or others)  # older results do not say it


def _about_heights(group: ModeGroup) -> str:
    """Compare the mean log posteriors of the groups of chains; an empty string if they are unknown."""
    if group.log_posterior_gap is None or group.log_posterior_gap_error is None:
        return ""
    figures = list(zip(group.chain_groups, group.log_posterior_gap, group.log_posterior_gap_error, strict=True))
    low = [figure for figure in figures if figure[1] - 2.0 * figure[2] > HEIGHT_LIMIT]
    high = [figure for figure in figures if figure not in low]
    said = []
    if len(high) > 1:
        which = "the modes" if not low else split_of_chains([chains for chains, _, _ in high])
        _, gap, error = max(high, key=lambda figure: figure[1])
        said.append(
            f"{which} are about equally high (mean log posterior {gap:.1f} ± {error:.1f} apart): "
            f"{'both' if len(high) == 2 else 'all'} matter, and the run cannot weigh them"
        )
    for chains, gap, error in low[: 2 if not said else 1]:
        chain, sits, they = ("chain", "sits", "it") if len(chains) == 1 else ("chains", "sit", "they")
        said.append(
            f"{chain} {_chain_list(chains)} {sits} {gap:.1f} ± {error:.1f} below the best in mean log posterior: "
            f"probably a local mode that {they} cannot leave"
        )
    return "; ".join(said)


def group_lines(groups: Sequence[ModeGroup]) -> list[tuple[str, str]]:
    """Describe the first groups of nodes, each by its kind and a sentence."""
    lines: list[tuple[str, str]] = []
    for group in groups[:SHOWN_GROUPS]:
        parent, child, by_chain = group.edges[0]
        shown = "  ".join(f"{probability:.2f}" for probability in by_chain[:SHOWN_CHAINS])
        worst = f"{edge_label(parent, child)} {shown}{' …' * (len(by_chain) > SHOWN_CHAINS)}"
        parts = [f"{node_list(group.nodes)}: {worst}"]
        if group.kind == "separated":
            parts += [split_of_chains(group.chain_groups)] + ["each where it started"] * bool(group.by_start)
        lines.append((group.kind, "; ".join(parts)))
    if len(groups) > SHOWN_GROUPS:
        lines.append(("", f"and {len(groups) - SHOWN_GROUPS} more groups of nodes: see .modes"))
    return lines
