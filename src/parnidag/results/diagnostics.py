"""Have the chains converged? The figures of `convergence.py` put together, with the verdict in words.

A figure that does not exist, such as the R-hat of an edge that never changed, is None here, never a flattering number.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parnidag._util.text import short_number
from parnidag.results.convergence import (
    Floats,
    bulk_ess,
    chain_probabilities,
    edge_disagreement,
    merge_rounding,
    rank_rhat,
    tail_ess,
)
from parnidag.results.edge_table import edge_figures, unsure_classes
from parnidag.results.imputed import cell_figures
from parnidag.results.modes import ModeGroup, common_chain_groups, find_modes
from parnidag.results.notebook import diagnostics_html
from parnidag.results.record import RunRecord
from parnidag.results.verdict import DISAGREEMENT_LIMIT, ESS_LIMIT_PER_CHAIN, RHAT_LIMIT, group_lines, judge, shown

WORST_EDGES = 10
TOP_COUNTS = (1, 10, 100)


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
    mcse_edges_max : float or None
        Largest Monte-Carlo error of any edge that changed.
    disagreement_max, disagreement_rms : float or None
        Between-chain disagreement (`edge_disagreement`); None with fewer than two chains.
    true_error_max : float or None
        Largest difference of an edge probability from the exact one; None where that takes longer than a few seconds.
    cells_share : float or None
        Share of the table's cells that chains draw; None if there are none.
    rhat_cells_max : float or None
        Largest split R-hat of summaries of these cells: of the mean of what was drawn into each column's empty ones,
        and of how far columns with drawn cells have to do with others.
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
        speed over tuning and kept iterations, share of local scores found in the cache (none of those that are quicker
        computed: Gaussian ones of few parents); None if the sampler has none.
    move_acceptance : dict
        Acceptance rate of each kind of move, one figure a chain; empty if the sampler has one kind only.
    move_outside : dict
        Share of the tries of each kind of move, a chain, that ended because the tables do not hold a parent set they
        needed; only of moves that draw from tables.
    timings : dict
        Seconds by stage.
    distinct_graphs : int
        Different graphs among the stored draws.
    top_graphs_mass : dict
        Share of the stored draws that are one of the 1, 10 and 100 most frequent graphs; empty without draws. A small
        share says that no single graph stands for the posterior.
    effective_draws_per_second : float or None
        Effective sample size of the log posterior for each CPU second of all chains, tuning included, the search
        before it not; None with too few effective draws to tell.
    evidence_unsure : int
        Edges whose class of evidence two Monte-Carlo errors up or down would change.
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
    mcse_edges_max: float | None
    disagreement_max: float | None
    disagreement_rms: float | None
    true_error_max: float | None
    cells_share: float | None
    rhat_cells_max: float | None
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
    move_outside: dict[str, list[float]]
    timings: dict[str, float]
    distinct_graphs: int
    top_graphs_mass: dict[int, float]
    effective_draws_per_second: float | None
    evidence_unsure: int
    converged: bool | None
    verdict: str
    advice: list[str]
    caveats: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain JSON values; an infinite R-hat becomes the string "inf"."""
        plain: dict[str, Any] = _json_ready(dataclasses.asdict(self))
        return plain

    def _about_move(self, move: str) -> str:
        outside = self.move_outside.get(move)
        remark = "" if outside is None else f"  ({np.mean(outside):.1%} off tables)"
        return _by_chain(self.move_acceptance[move]) + remark

    def _about_graphs(self) -> str:
        shares = ", ".join(
            f"{share:.1%} in the {'most frequent' if count == 1 else f'top {count}'}"
            for count, share in self.top_graphs_mass.items()
        )
        told = f"{self.distinct_graphs:,} distinct among the draws" + (f"; {shares}" if shares else "")
        speed = self.effective_draws_per_second
        return told + (f"; {short_number(speed)} effective draws per CPU second" if speed is not None else "")

    def __repr__(self) -> str:
        lines = [("verdict", self.verdict), *(("advice", text) for text in self.advice)]
        lines += [*(("note", text) for text in self.caveats), *group_lines(self.modes)]
        if self.iterations is not None:  # exact results have no chains to speak of
            lines += self._figures().items()
        wrapped = [
            textwrap.wrap(text, 80, initial_indent=f"  {label:<15} ", subsequent_indent=" " * 18)
            for label, text in lines
        ]
        return "\n".join(["Diagnostics", *itertools.chain.from_iterable(wrapped)])

    def _repr_html_(self) -> str:
        notes = [*self.advice, *self.caveats, *(": ".join(filter(None, line)) for line in group_lines(self.modes))]
        figures = self._figures() if self.iterations is not None else {}
        return diagnostics_html(self.converged, self.verdict, notes, figures)

    def _figures(self) -> dict[str, str]:
        figures = {
            "log posterior": f"R-hat {shown(self.rhat_log_posterior)}, ESS {shown(self.ess_log_posterior, 0)} bulk, "
            f"{shown(self.ess_tail_log_posterior, 0)} tail",
            "edges": f"R-hat at most {shown(self.rhat_edges_max)}, {self.edges_rhat_above} above {RHAT_LIMIT}; "
            f"ESS at least {shown(self.ess_edges_min, 0)}"
            + (f"; the class of evidence of {self.evidence_unsure} is within error" if self.evidence_unsure else ""),
            "graphs": self._about_graphs(),
            "between chains": f"differ by at most {shown(self.disagreement_max, 3)}, "
            f"root mean square {shown(self.disagreement_rms, 4)}",
        }
        if self.cells_share is not None:
            figures["drawn cells"] = f"{self.cells_share:.1%} of all; R-hat at most {shown(self.rhat_cells_max)}"
        if self.acceptance is not None:
            figures["acceptance"] = _by_chain(self.acceptance)
        figures |= {f"  {move}": self._about_move(move) for move in self.move_acceptance}
        for name in ("evaluations", "omega", "iterations", "iterations_per_second", "memo_hit_rate"):
            values = getattr(self, name)
            if values is not None:
                figures[name.replace("_", " ").replace("iterations per second", "per CPU second")] = _by_chain(values)
        if self.timings:
            figures["seconds"] = ", ".join(f"{stage} {seconds:.3g}" for stage, seconds in self.timings.items())
        return figures


def _json_ready(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_ready(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _by_chain(values: Sequence[float]) -> str:
    return "  ".join(short_number(value) for value in values)


def diagnose(record: RunRecord) -> Diagnostics:
    draws = merge_rounding(record.log_posterior)
    chains = chain_probabilities(record.batch_counts, record.batch_iterations)
    probabilities = chains.mean(axis=0) if len(chains) else np.zeros(chains.shape[1])
    mcse, ess, rhat = edge_figures(record, probabilities).values()
    comparable = len(chains) > 1
    spread, rms = edge_disagreement(chains, len(record.nodes)) if comparable else (np.zeros(len(rhat)), 0.0)
    modes = find_modes(record, draws, DISAGREEMENT_LIMIT)
    figures: dict[str, Any] = {
        "rhat_log_posterior": _known(rank_rhat(draws)),
        "ess_log_posterior": _known(bulk_ess(draws)),
        "ess_tail_log_posterior": _known(tail_ess(draws)),
        "rhat_edges_max": _known(np.fmax.reduce(rhat, initial=np.nan)),
        "edges_rhat_above": int((rhat > RHAT_LIMIT).sum()),
        "ess_edges_min": _known(np.fmin.reduce(ess, initial=np.nan)),
        "mcse_edges_max": _known(np.fmax.reduce(mcse, initial=np.nan)),
        "disagreement_max": float(spread.max(initial=0.0)) if comparable else None,
        "disagreement_rms": rms if comparable else None,
        "true_error_max": _true_error(record, probabilities),
        "worst_edges": _worst_edges(record, spread, chains),
        "modes": modes,
        "chain_groups": common_chain_groups(modes),
    }
    cells = cell_figures(record)
    figures |= {"cells_share": cells.share, "rhat_cells_max": cells.rhat}
    figures |= _graph_figures(record, figures["ess_log_posterior"])
    figures["evidence_unsure"] = unsure_classes(record, probabilities, mcse)
    return Diagnostics(**figures, **_run_figures(record), **judge(record, figures, spread))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _true_error(record: RunRecord, probabilities: Floats) -> float | None:
    if record.true_probabilities is None:
        return None
    n = len(record.nodes)
    found = np.zeros(n * n)
    found[record.edge_codes], found[record.rare_codes] = probabilities, record.rare_probabilities
    return float(abs(found.reshape(n, n) - record.true_probabilities).max())


def _worst_edges(record: RunRecord, spread: Floats, chains: Floats) -> list[tuple[str, str, list[float]]]:
    n = len(record.nodes)
    worst = np.argsort(-spread, kind="stable")[:WORST_EDGES]
    return [
        (record.nodes[code // n], record.nodes[code % n], chains[:, edge].tolist())
        for edge, code in zip(worst, record.edge_codes[worst].tolist(), strict=True)
        if spread[edge] > 0
    ]


def _graph_figures(record: RunRecord, ess: float | None) -> dict[str, Any]:
    """Say how many graphs the draws are spread over, and how many effective draws a CPU second brings."""
    counts = np.sort(np.bincount(record.graph_index.ravel(), minlength=1))[::-1]
    seconds = float(np.sum(record.statistics.get("cpu_seconds", 0.0)))
    enough = ESS_LIMIT_PER_CHAIN * len(record.log_posterior)
    return {
        "distinct_graphs": len(record.graph_offsets) - 1,
        "top_graphs_mass": {count: float(counts[:count].sum() / counts.sum()) for count in TOP_COUNTS if counts.sum()},
        "effective_draws_per_second": ess / seconds if ess is not None and ess >= enough and seconds > 0 else None,
    }


def _run_figures(record: RunRecord) -> dict[str, Any]:
    statistics = {name: np.asarray(values, dtype=np.float64) for name, values in record.statistics.items()}
    kept = statistics.get("iterations", record.batch_iterations.sum(axis=1).astype(np.float64))
    seconds = statistics.get("cpu_seconds", np.zeros(1))
    tuned = statistics.get("tune_iterations", 0.0)
    names = ("acceptance", "evaluations", "omega", "memo_hit_rate")
    by_chain = {name: statistics[name].tolist() if name in statistics else None for name in names}

    def by_move(suffix: str) -> dict[str, list[float]]:
        return {
            name.removesuffix(suffix).replace("_", " "): values.tolist()
            for name, values in statistics.items()
            if name.endswith(suffix)
        }

    return by_chain | {
        "move_acceptance": by_move("_acceptance"),
        "move_outside": by_move("_outside"),
        "caveats": [str(text) for text in record.settings.get("caveats") or ()],
        "iterations": kept.tolist() if np.any(kept > 0) else None,
        "iterations_per_second": ((kept + tuned) / seconds).tolist() if seconds.size and np.all(seconds > 0) else None,
        "timings": {stage: float(taken) for stage, taken in dict(record.settings.get("timings") or {}).items()},
    }
