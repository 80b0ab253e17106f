"""What `parnidag effects` shows: total effects, outcomes of interventions, and differences between them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parnidag._util.files import replacing
from parnidag.cli.screens import UsageError, print_table, say

if TYPE_CHECKING:
    import pandas as pd

    from parnidag.results.posterior import Posterior

SHOWN = 30
ASSUMED = "Assumed: no hidden common causes, relations as the score has them, values that occur in the data."


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
    found = posterior.effects(standardised=standardised, data=data).summary(cause, effect)
    say(f"Total effects, in {'standard deviations' if standardised else 'units of the columns'}.")
    _show(found, ["cause", "effect"], output)


def outcome_table(posterior: Posterior, do: dict[str, float | str], data: Path | None, output: Path | None) -> None:
    outcomes = posterior.intervene(do, data=data)
    say(f"If {_words(do)}:")
    _show(outcomes.summary(), ["node", "level"], output, outcomes.notes)


def contrast_table(
    posterior: Posterior,
    do: dict[str, float | str],
    versus: dict[str, float | str],
    data: Path | None,
    output: Path | None,
) -> None:
    found = posterior.contrast(do=do, versus=versus, data=data)
    say(f"If {_words(do)}, instead of {_words(versus)}, the means differ by:")
    _show(found.summary(), ["node", "level"], output, found.notes)


def _words(do: dict[str, float | str]) -> str:
    return " and ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in do.items()
    )


def _show(table: pd.DataFrame, words: Sequence[str], output: Path | None, notes: Sequence[str] = ()) -> None:
    columns = list(table.columns)
    rows = [
        [str(value) if name in words else _cell(value) for name, value in zip(columns, row, strict=True)]
        for row in table.head(SHOWN).astype(object).where(table.notna(), None).itertuples(index=False)
    ]
    print_table(columns, rows, [name for name in columns if name not in words])
    if len(table) > SHOWN:
        say(f"… and {len(table) - SHOWN} more rows" + ("" if output else "; -o FILE.csv writes all."))
    for note in notes:
        say(f"Note: {note}.")
    say(ASSUMED)
    if output is not None:
        with replacing(output, example="effects.csv") as path:
            table.to_csv(path, index=False)
        say(f"Saved {output}")


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
