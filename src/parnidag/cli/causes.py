"""What `parnidag effects` shows: total effects, outcomes of interventions, and differences between them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parnidag._util.files import replacing
from parnidag.cli.screens import UsageError, print_table, say

if TYPE_CHECKING:
    import pandas as pd

    from parnidag.results.posterior import Posterior

SHOWN = 30
WORDS = ("node", "cause", "set_to", "versus", "effect", "level")
"""Columns of names; all others hold numbers."""
ONLY_IN_FILES = {"versus", "graphs", "ratio_5%", "ratio_95%", "mcse", "rhat"}
SIGNS = {"sd", "positive", "negative"}
"""Of classes, the two ends of an interval say it."""
ASSUMED = (
    "Assumed: no hidden common causes, relations as the score has them, and values",
    "that occur in the data.",
)


def settings_of(given: Sequence[str], option: str) -> dict[str, float | str]:
    """Read NODE=VALUE; a value that is no number is the level of a class."""
    found: dict[str, float | str] = {}
    for text in given:
        name, sign, value = text.rpartition("=")
        if not sign or not name or not value:
            raise UsageError(f"{option} {text}: write NODE=VALUE, such as {option} x=2")
        if name in found:
            raise UsageError(f"{option}: {name} is set twice")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = value
    return found


def effect_table(
    posterior: Posterior,
    cause: str | None,
    effect: str | None,
    standardised: bool,
    data: Path | None,
    output: Path | None,
) -> None:
    if cause and effect and (posterior.record.settings.get("score") or {}).get("name") == "Spline":
        found = posterior.dose_response(cause, effect, data=data)
        say(f"The mean of {effect} if {cause} is set to a value;")
        say(f"no effect at all with probability {found.no_effect:.3g}.")
        _show(found.summary(), output, found.notes)
        return
    from parnidag.effects.totals import Effects

    effects = posterior.effects(standardised=standardised or None, data=data)
    table = effects.summary(cause, effect)
    if isinstance(effects, Effects):
        say(f"Total effects, in {effects.units}.")
    else:
        say("Effects on probabilities: by how much a level becomes more probable if the cause")
        say("is not set to its first level, and how many times as probable.")
        say(f"Found by {effects.method}.")
    past = ["the past is held as it was, but for the cause; Posterior.impulse_responses follows it over time"]
    _show(table, output, past if "panel" in posterior.record.settings.get("data", {}) else ())


def outcome_table(posterior: Posterior, do: dict[str, float | str], data: Path | None, output: Path | None) -> None:
    outcomes = posterior.intervene(do, data=data)
    say(f"If {_words(do)}:")
    _show(outcomes.summary(), output, outcomes.notes)


def contrast_table(
    posterior: Posterior,
    do: dict[str, float | str],
    versus: dict[str, float | str],
    data: Path | None,
    output: Path | None,
) -> None:
    from parnidag.effects.outcomes import Contrast

    found = posterior.contrast(do=do, versus=versus, data=data)
    kind = "probabilities"
    if isinstance(found, Contrast):
        kind = "means and probabilities" if found.levels else "means"
    say(f"If {_words(do)}, instead of {_words(versus)}, the {kind} differ by:")
    _show(found.summary(), output, found.notes)


def as_json(
    posterior: Posterior,
    cause: str | None,
    effect: str | None,
    do: dict[str, float | str],
    versus: dict[str, float | str],
    standardised: bool,
    data: Path | None,
) -> dict[str, Any]:
    """Return the same for other programs: every row with every column, nothing rounded."""
    found: Any
    if do:
        found = posterior.contrast(do=do, versus=versus, data=data) if versus else posterior.intervene(do, data=data)
        table = found.summary()
    elif cause and effect and (posterior.record.settings.get("score") or {}).get("name") == "Spline":
        found = posterior.dose_response(cause, effect, data=data)
        table = found.summary()
    else:
        found = posterior.effects(standardised=standardised, data=data)
        table = found.summary(cause, effect)
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return {"effects": rows, "notes": list(getattr(found, "notes", ())), "assumed": " ".join(ASSUMED)}


def _words(do: dict[str, float | str]) -> str:
    return " and ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in do.items()
    )


def _show(table: pd.DataFrame, output: Path | None, notes: Sequence[str] = ()) -> None:
    left_out = ONLY_IN_FILES | (SIGNS if {"level", "zero"} <= set(table) else set())
    columns = [name for name in table.columns if name not in left_out]
    shown = table[columns].head(SHOWN)
    rows = [
        [str(value) if name in WORDS else _cell(value) for name, value in zip(columns, row, strict=True)]
        for row in shown.astype(object).where(shown.notna(), None).itertuples(index=False)
    ]
    print_table(columns, rows, [name for name in columns if name not in WORDS])
    if len(table) > SHOWN:
        say(f"… and {len(table) - SHOWN} more rows" + ("" if output else "; -o FILE.csv writes all."))
    for note in notes:
        say(f"Note: {note}.")
    for line in ASSUMED:
        say(line)
    if output is not None:
        with replacing(output, example="effects.csv") as path:
            table.to_csv(path, index=False)
        say(f"Saved {output}")


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
