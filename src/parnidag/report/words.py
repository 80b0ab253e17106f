"""The page's sentences: the answer in a line, the verdict, and what each diagnostic means to somebody new to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import number_of, short_number
from parnidag.report.facts import OPEN_FROM, SURE_FROM, left_open, unsettled
from parnidag.report.names import isolated
from parnidag.results.verdict import (
    CELLS_RHAT_LIMIT,
    DISAGREEMENT_LIMIT,
    ESS_LIMIT_PER_CHAIN,
    MCSE_LIMIT,
    RHAT_LIMIT,
    SHOWN_CHAINS,
    SHOWN_GROUPS,
    edge_label,
    node_list,
    shown,
    split_of_chains,
)

if TYPE_CHECKING:
    from parnidag.results.diagnostics import Diagnostics
    from parnidag.results.modes import ModeGroup
    from parnidag.results.posterior import Posterior


@dataclass(frozen=True)
class Banner:
    """The verdict: its kind is "good", "wait" or "bad", which chooses colour and icon."""

    kind: str
    heading: str
    text: str
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reading:
    """One diagnostic: its value, what it means, and whether that is good ("good", "bad", or "" for no judgement)."""

    name: str
    value: str
    meaning: str
    mark: str = ""


def answer(probabilities: NDArray[np.float64], rows: int | None, past: dict[str, Any] | None = None) -> str:
    size = number_of(len(probabilities), "variable")
    if past is not None:
        size = f"{number_of(len(past['variables']), 'variable')} with {number_of(past['lags'], 'lag')}"
    if rows is not None:
        size += f", {number_of(rows, 'row')}"
    surely = np.maximum(probabilities, probabilities.T) >= SURE_FROM
    marked = (surely, unsettled(probabilities), left_open(probabilities))
    sure, turned, undecided = (int(np.triu(pairs, 1).sum()) for pairs in marked)
    decided = f"{number_of(sure, 'edge')} with probability {SURE_FROM} or more"
    if turned:
        pairs = number_of(turned, "more pair" if sure else "pair")
        decided += f"; {pairs} joined with probability {SURE_FROM} or more, direction not settled"
    left = number_of(undecided, "pair") if undecided else "no pair"
    return f"{size}: {decided}; {left} left open (joined with probability {OPEN_FROM} to {SURE_FROM})."


def banner(posterior: Posterior) -> Banner:
    diagnostics = posterior.diagnostics()
    notes = [*diagnostics.advice, *diagnostics.caveats, *_mode_notes(diagnostics.modes)]
    notes = [isolated(_sentence(note), posterior.nodes) for note in notes]
    if posterior.record.exact_probabilities is not None:
        text = "All graphs were summed, so these probabilities have no Monte-Carlo error."
        return Banner("good", "Exact", text, notes)
    heading, _, text = diagnostics.verdict.partition(": ")
    kind = {True: "good", None: "wait", False: "bad"}[diagnostics.converged]
    if diagnostics.converged is False:
        notes.insert(0, "Do not use the numbers below as they are.")
    said = isolated(_sentence(text or diagnostics.verdict), posterior.nodes)
    return Banner(kind, _sentence(heading, ""), said, notes)


def _mode_notes(groups: Sequence[ModeGroup]) -> list[str]:
    """Say at which nodes chains disagree, with the edge on which they do most."""
    notes = []
    for group in groups[:SHOWN_GROUPS]:
        parent, child, by_chain = group.edges[0]
        figures = [f"{probability:.2f}" for probability in by_chain[:SHOWN_CHAINS]]
        note = f"{'separated modes' if group.kind == 'separated' else 'slow mixing'} at {node_list(group.nodes)}"
        note += f"; probability of {edge_label(parent, child)} in chains 1 to {len(figures)}: {', '.join(figures)}"
        if group.kind == "separated":
            note += f"; {split_of_chains(group.chain_groups)} go together"
            note += ", each where it started" if group.by_start else ""
        notes.append(note)
    if len(groups) > SHOWN_GROUPS:
        notes.append(f"and {len(groups) - SHOWN_GROUPS} more groups of nodes: see posterior.diagnostics().modes")
    return notes


def _sentence(text: str, stop: str = ".") -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else stop)


def readings(diagnostics: Diagnostics, chains: int) -> list[Reading]:
    """Explain every global diagnostic that there is; nothing for exact results."""
    if diagnostics.iterations is None:
        return []
    enough = ESS_LIMIT_PER_CHAIN * chains
    listed = [
        Reading(
            "R-hat of the log posterior",
            shown(diagnostics.rhat_log_posterior, 3),
            f"Compares the chains, each cut in halves; 1 if they cannot be told apart. Good below {RHAT_LIMIT}.",
            _below(diagnostics.rhat_log_posterior, RHAT_LIMIT),
        ),
        Reading(
            "Largest R-hat of an edge",
            shown(diagnostics.rhat_edges_max, 3),
            f"The same for the presence of every edge; the worst one is shown. Good below {RHAT_LIMIT}; "
            f"{number_of(diagnostics.edges_rhat_above, 'edge')} above.",
            _below(diagnostics.rhat_edges_max, RHAT_LIMIT),
        ),
        Reading(
            "Largest difference between chains",
            shown(diagnostics.disagreement_max, 3),
            f"How far two chains are apart in the probability of the edge they agree on least. Good below "
            f"{DISAGREEMENT_LIMIT}.",
            _below(diagnostics.disagreement_max, DISAGREEMENT_LIMIT),
        ),
        Reading(
            "Typical difference between chains",
            shown(diagnostics.disagreement_rms, 4),
            "Root mean square over all edges and pairs of chains.",
        ),
        Reading(
            "Effective draws of the log posterior",
            f"{shown(diagnostics.ess_log_posterior, 0)} bulk, {shown(diagnostics.ess_tail_log_posterior, 0)} tail",
            f"So many independent draws are the stored ones worth, for the middle and for the tails. Good from "
            f"{enough:.0f}.",
            _below(enough, diagnostics.ess_log_posterior),
        ),
        Reading(
            "Fewest effective draws of an edge",
            shown(diagnostics.ess_edges_min, 0),
            "So many independent graphs is the least well known edge probability worth, out of all iterations.",
        ),
        Reading(
            "Largest Monte-Carlo error of an edge",
            shown(diagnostics.mcse_edges_max, 3),
            "The standard error of the least well known edge probability: a run with another seed differs by about one "
            f"and a half times as much. Good below {MCSE_LIMIT}.",
            _below(diagnostics.mcse_edges_max, MCSE_LIMIT),
        ),
        Reading("Distinct graphs among the draws", shown(diagnostics.distinct_graphs, 0), _mass(diagnostics)),
    ]
    listed += _about_cells(diagnostics)
    if diagnostics.effective_draws_per_second is not None:
        listed.append(
            Reading(
                "Effective draws per second",
                short_number(diagnostics.effective_draws_per_second),
                "Of the log posterior, for each second of computing time of the chains alone, without the search "
                "before them.",
            )
        )
    return listed


def _about_cells(diagnostics: Diagnostics) -> list[Reading]:
    if diagnostics.cells_share is None:
        return []
    return [
        Reading(
            "Largest R-hat of drawn cells",
            shown(diagnostics.rhat_cells_max, 3),
            f"{diagnostics.cells_share:.0%} of the cells are drawn with the graphs: the mean of those in each column, "
            f"and how far columns have to do with each other. Good below {CELLS_RHAT_LIMIT}.",
            _below(diagnostics.rhat_cells_max, CELLS_RHAT_LIMIT),
        )
    ]


def _mass(diagnostics: Diagnostics) -> str:
    if not diagnostics.top_graphs_mass:
        return "No draws were stored."
    shares = {top: share for top, share in diagnostics.top_graphs_mass.items() if top < diagnostics.distinct_graphs}
    if not shares:
        return "All draws are the same graph."
    told = ", ".join(
        f"the {'most frequent' if top == 1 else f'top {top}'} {share:.1%}" for top, share in shares.items()
    )
    return f"Share of the draws: {told}. Where it is small, no single graph stands for the posterior."


def chain_table(diagnostics: Diagnostics) -> tuple[list[str], list[list[str]]]:
    """Return the figures of each chain: headings, and a row for every chain."""
    columns: dict[str, Sequence[float] | None] = {
        "iterations": diagnostics.iterations,
        "accepted": diagnostics.acceptance,
        "iterations per second": diagnostics.iterations_per_second,
        "evaluations": diagnostics.evaluations,
        "ω": diagnostics.omega,
        "scores remembered": diagnostics.memo_hit_rate,
        **{f"accepted: {move}": values for move, values in diagnostics.move_acceptance.items()},
    }
    known = {name: values for name, values in columns.items() if values is not None}
    chains = max((len(values) for values in known.values()), default=0)
    rows = [[str(chain + 1), *(short_number(values[chain]) for values in known.values())] for chain in range(chains)]
    return ["chain", *known], rows


def _below(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return "good" if low <= high else "bad"
