"""The answer by pairs of nodes, as the screen and --json show it: joined or not, and in which direction, if known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from parnidag._util.text import name_and_options

if TYPE_CHECKING:
    import pandas as pd

    from parnidag.results.posterior import Posterior

TOLD_FROM = 0.9
"""The direction of an edge counts as told from this share of the probability that the pair is joined."""

FIGURES = ("coefficient", "mcse", "ess", "rhat", "evidence")


def pairs_of(summary: pd.DataFrame, threshold: float, believed: bool = True) -> list[dict[str, Any]]:
    """Return what is known of each pair that is joined at least this probably, the most probable first.

    `told` says whether one direction has nearly all the probability; else the direction is open. `probability` is that
    of the more probable direction, `back` that of the other. Figures that do not exist are None, and so is the evidence
    of a run that cannot be believed.
    """
    edges = {(str(row["parent"]), str(row["child"])): row for row in summary.to_dict("records")}
    pairs: list[dict[str, Any]] = []
    for (parent, child), row in edges.items():
        back = float(edges.get((child, parent), {}).get("probability", 0.0))
        there = float(row["probability"])
        if back > there or (back == there and (child, parent) in edges and child < parent):
            continue
        joined, told = min(there + back, 1.0), there >= TOLD_FROM * (there + back)
        if joined < threshold:
            continue
        figures = {name: _known(row.get(name)) for name in FIGURES}
        figures["evidence"] = (figures["evidence"] if told else "direction open") if believed else None
        pair = {"parent": parent, "child": child, "joined": joined, "told": told, "probability": there, "back": back}
        pairs.append(pair | figures)
    return sorted(pairs, key=lambda pair: (-round(pair["joined"], 3), -pair["probability"]))


def _known(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return float(value) if value == value and math.isfinite(value) else None


def believed(posterior: Posterior) -> bool:
    """Say whether classes of evidence may be shown: for exact results, and chains that agree."""
    return posterior.diagnostics().converged is True


def answer_of(posterior: Posterior, threshold: float, words: Any) -> dict[str, Any]:
    """Return what --json writes; `words` turns advice into the words of the command line."""
    diagnostics, trusted = posterior.diagnostics(), believed(posterior)
    table = posterior.summary(min(threshold / 2, 0.01))
    return {
        "version": posterior.settings.get("version"),
        "nodes": posterior.nodes,
        "score": name_and_options(posterior.settings.get("score")),
        "seed": posterior.settings.get("seed"),
        "exact": posterior.log_evidence is not None,
        "log_evidence": posterior.log_evidence,
        "converged": diagnostics.converged,
        "verdict": diagnostics.verdict,
        "advice": [words(line, posterior.nodes) for line in diagnostics.advice],
        "caveats": [words(line, posterior.nodes) for line in diagnostics.caveats],
        "threshold": threshold,
        "pairs": pairs_of(table, threshold, trusted),
    }
