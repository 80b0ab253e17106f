"""What a table is and what is believed of it, in the words of the command line.

Everything heavy is imported inside the methods, so that ``--help`` answers at once.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

from parnidag.cli.screens import UsageError
from parnidag.errors import MoreLagsWarning
from parnidag.scores.by_name import NAMES as SCORES
from parnidag.scores.by_name import choose_score, named_score

if TYPE_CHECKING:
    from parnidag.data.table import Data
    from parnidag.priors.edge_prior import EdgePrior
    from parnidag.scores.base import Score

TABLE_KINDS = ("continuous", "discrete", "mixed")


def _whole(kind: type, tokens: Sequence[Token]) -> int:
    """Read a whole number; 1.5 is refused, not rounded."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value} is not a whole number") from None


def _odds_weight(kind: type, tokens: Sequence[Token]) -> Any:
    """Read a number, two for a Beta prior, or "paper"."""
    from parnidag.priors.odds import Beta

    text = tokens[0].value
    if text == "paper":
        return text
    try:
        numbers = [float(part) for part in text.split(",")]
        return numbers[0] if len(numbers) == 1 else Beta(*numbers)
    except (ValueError, TypeError):
        raise ValueError(f'{text} is not a number, two numbers "A,B", or "paper"') from None


if TYPE_CHECKING:
    ScoreWord = str
else:
    ScoreWord = Literal[("auto", *SCORES)]

Whole = Annotated[int, Parameter(converter=_whole)]
MaybeWhole = Annotated[int | None, Parameter(converter=_whole)]


@Parameter(name="*", group=Group("Model", sort_key=2))
@dataclass(frozen=True)
class ModelOptions:
    """What the data mean: the score and the prior over graphs."""

    score: ScoreWord = "auto"
    """How well parents explain a node. "auto" is bdeu for discrete columns, else bge whose scale is learned; "paper" is
    gaussian with g = 10, and --h paper."""

    score_option: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="NAME=VALUE")] = ()
    """An option of the score, such as alpha_w=12 for bge or ess=learn for bdeu. Repeatable."""

    g: Annotated[float | None, Parameter(name="--g")] = None
    """Prior variance of an edge's weight, in units of the child's noise variance, for the scores gaussian and gprior;
    short for --score gaussian --score-option g=…"""

    h: Annotated[Any, Parameter(name="--h", converter=_odds_weight, metavar="H")] = None
    """Prior weight of an edge, between 0 and 1: its odds are h / (1 - h). "A,B" learns it, beforehand Beta(A, B);
    "paper" is 1 / number of nodes. Default: 2 / number of nodes."""

    regulators: float | None = None
    """How unequal nodes are as parents: each has an h of its own, the more unequal the smaller this number (1 for
    genes). Needs a sampler of single graphs, such as the default."""

    forbid: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="EDGE")] = ()
    """An edge that no graph may have, written "parent,child" or "parent->child". Repeatable."""

    require: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="EDGE")] = ()
    """An edge that every graph must have, written the same way. Repeatable."""

    max_parents: MaybeWhole = None
    """The most parents a node may have."""

    kind: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="[COLUMN=]KIND")] = ()
    """What a column is, where it is not what it seems: COLUMN=number, count, ordinal, binary or class, or the levels of
    text in their order, such as stage=low<mid<high. Repeatable. Without COLUMN= what all are: continuous, discrete
    (classes) or mixed; by default it is found from the columns."""

    columns: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="NAMES")] = ()
    """The only columns that are nodes, with commas between."""

    drop: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="NAMES")] = ()
    """Columns that are no nodes, such as names of rows and dates, with commas between."""

    missing: Literal["impute", "drop", "refuse"] | None = None
    """What to do about empty cells: draw them along with the graphs, drop the rows that have one, or refuse the
    data. Default: impute, and drop for a panel."""

    interventions: Annotated[str | None, Parameter(metavar="COLUMN")] = None
    """The column that says which nodes were set by the experimenter in a row (several with ";" between, empty for
    none); it is not a node."""

    time: Annotated[str | None, Parameter(metavar="COLUMN")] = None
    """The column that says when a row was observed: the table is a panel, and the past acts on the present."""

    unit: Annotated[str | None, Parameter(metavar="COLUMN")] = None
    """With --time or --lags: the column that says whose series a row belongs to. Default: one series."""

    lags: MaybeWhole = None
    """With --time, or for rows in the order of time: how many steps back causes may lie. Default with --time: 1."""

    static: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="COLUMN")] = ()
    """A column that never changes within a unit of a panel: a parent only. Repeatable."""

    within: Literal["allowed", "none"] | None = None
    """Whether variables of a panel act on each other at the same time, too. Default: allowed."""

    autoregression: Literal["allowed", "required", "forbidden"] | None = None
    """Whether a variable of a panel acts on itself later. Default: allowed."""

    def data(self, path: Path) -> Data:
        if path.suffix == ".jkl":
            return self._local_scores(path)
        kind, kinds = self._kinds()
        given: dict[str, Any] = {"missing": self.missing, "kind": kind, "interventions": self.interventions}
        if self.time is None and self.lags is None:
            for option in ("unit", "static", "within", "autoregression"):
                if getattr(self, option):
                    raise UsageError(f"--{option} belongs to a panel: name its times with --time, or give --lags")
            from parnidag.data.table import Data

            return Data(path, kinds=kinds or None, columns=_names(self.columns), drop=_names(self.drop), **given)
        for option, unwanted in (("columns", self.columns), ("drop", self.drop), ("kind COLUMN=…", kinds)):
            if unwanted:
                raise UsageError(f"--{option} is for tables without times, so leave such columns out of the file")
        from parnidag.data.panel import Panel

        given |= {name: getattr(self, name) or "allowed" for name in ("within", "autoregression")}
        lags = 1 if self.lags is None else self.lags
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MoreLagsWarning)  # it is the first of the doubts, which are shown
            return Panel(path, time=self.time, unit=self.unit, lags=lags, static=self.static, **given)

    def _kinds(self) -> tuple[str | None, dict[str, Any]]:
        """Read what the whole table is, None if it is not said, and what single columns are."""
        whole: list[str] = []
        single: dict[str, Any] = {}
        for text in self.kind:
            name, sign, word = (part.strip() for part in text.rpartition("="))
            if not sign:
                whole.append(word)
            elif name in single:
                raise UsageError(f"--kind: {name} is given twice")
            else:
                single[name] = [level.strip() for level in word.split("<")] if "<" in word else word
        if len(whole) > 1:
            raise UsageError(f"--kind: {' and '.join(whole)} are both given; one is for the whole table")
        asked = whole[0] if whole else "auto"
        if asked not in ("auto", *TABLE_KINDS):
            raise UsageError(
                f"--kind {asked}: write COLUMN={asked}, or one of {', '.join(TABLE_KINDS)} for all columns"
            )
        return None if asked == "auto" else asked, single

    def _local_scores(self, path: Path) -> Data:
        given = [
            name
            for name in (
                *("kind", "missing", "interventions", "columns", "drop"),
                *("time", "unit", "lags", "static", "within", "autoregression"),
            )
            if getattr(self, name) != getattr(ModelOptions, name)
        ]
        if given or self.score != "auto":
            raise UsageError(f"--{(given or ['score'])[0]} is about a table; {path} holds local scores")
        from parnidag.scores.listed import Table

        return Table.read(path).as_data()

    def chosen_score(self, data: Data) -> Score:
        options: dict[str, str] = {}
        named = [_named_value(text) for text in self.score_option]
        for name, value in [*named, *([("g", str(self.g))] if self.g is not None else [])]:
            if name in options:
                raise UsageError(f"the option {name} of the score is given twice")
            options[name] = value
        if not options:
            return choose_score(self.score, data)
        if self.score != "auto":
            return named_score(self.score, options)
        if self.g is not None and data.kind != "discrete":
            return named_score("gaussian", options)
        usual = choose_score(None, data)
        learned = {usual.learns: "learn"} if usual.is_learned else {}
        return named_score(type(usual).__name__, learned | options)

    def prior(self) -> EdgePrior:
        from parnidag.priors.edge_prior import EdgePrior

        return EdgePrior(
            h="paper" if self.h is None and self.score == "paper" else self.h,
            regulators=self.regulators,
            forbidden=[_edge("--forbid", text) for text in self.forbid],
            required=[_edge("--require", text) for text in self.require],
            max_parents=self.max_parents,
        )


def _names(given: Sequence[str]) -> list[str] | None:
    """Read names with commas between; one that holds a comma is quoted."""
    listed = [name.strip() for row in csv.reader(given, skipinitialspace=True) for name in row if name.strip()]
    return listed if given else None


def _named_value(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name.strip() and sign and value.strip()):
        raise UsageError(f"--score-option {text!r}: write it as NAME=VALUE, such as alpha_w=12")
    return name.strip(), value.strip()


def _edge(option: str, text: str) -> tuple[str, str]:
    """Read "parent,child", "parent->child" or "parent→child"; arrows first, since names may hold commas."""
    for separator in ("->", "→", ","):
        names = [name.strip() for name in text.split(separator)]
        if len(names) == 2 and all(names):
            return names[0], names[1]
    raise UsageError(f'{option} {text!r} must be one edge, written "parent,child" or "parent->child"')
