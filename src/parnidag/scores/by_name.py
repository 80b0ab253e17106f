"""Which score: by name, with options as words, or by the kind of data. Scores are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from parnidag._util.lazy import loader
from parnidag.errors import ParnidagError

if TYPE_CHECKING:
    from parnidag.data.table import Data
    from parnidag.scores.base import Score

NAMES = {
    "paper": "gaussian.Gaussian",
    "gaussian": "gaussian.Gaussian",
    "gprior": "gaussian.GPrior",
    "bge": "gaussian.BGe",
    "copula": "copula.Copula",
    "bic": "gaussian.BIC",
    "bdeu": "bdeu.BDeu",
    "spline": "spline.Spline",
}
"""Word, and home of the class: of every score that has a name. The command line offers these words."""
load: Any = loader(
    "parnidag.scores", [*dict.fromkeys(NAMES.values()), "custom.Compiled", "custom.PythonScore", "listed.Table"]
)
LINEAR = ("Gaussian", "GPrior", "BGe", "BIC")
"""Classes of scores whose parameters are the coefficients and noise variances of linear regressions."""
_WORDS = {"none": None, "true": True, "yes": True, "false": False, "no": False}


def choose_score(score: Score | str | None, data: Data) -> Score:
    """Return a score: as given, by its name, or for ``"auto"`` and None the one that suits the kind of data.

    ``"paper"`` is `Gaussian(g=10)`; the edge odds that belong to it are chosen where the prior is (`api.sample`).
    """
    if score is None or (isinstance(score, str) and score.lower() == "auto"):
        if data.own_score is not None:
            own: Score = data.own_score
            return own
        if data.kind == "mixed":
            return named_score("copula")
        if data.kind == "discrete":
            return named_score("bdeu")
        return named_score("bge", {"alpha_w": "learn"})
    return named_score(score) if isinstance(score, str) else score


def named_score(name: str, options: Mapping[str, str] | None = None) -> Score:
    """Return the score of a name, with options written as words."""
    if name.lower() not in NAMES:
        raise ParnidagError(f'score must be "auto", {", ".join(NAMES)} or a score, got {name!r}')
    kind = load(NAMES[name.lower()].rpartition(".")[2])
    known = [one.name for one in fields(kind)]
    given = {}
    for option, text in (options or {}).items():
        if option not in known:
            raise ParnidagError(f"the score {name} has no option {option!r}; its options: {', '.join(known) or 'none'}")
        given[option] = _value(text)
    score: Score = kind(**given)
    return score


def has_linear_parameters(score: object) -> bool:
    return type(score).__module__ == "parnidag.scores.gaussian" and type(score).__name__ in LINEAR


def described_score(settings: Mapping[str, Any]) -> Score | None:
    """Return the score that described itself so (`Score.describe`); None if it is none of the package's."""
    kinds = {home.rpartition(".")[2] for home in NAMES.values()}
    if settings.get("name") not in kinds:
        return None
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    score: Score = load(given.pop("name"))(**given)
    return score


def _value(text: str) -> object:
    word = text.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    if word == "learn":
        return word
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ParnidagError(f"{text!r} is neither a number nor yes, no, none or learn") from None
    if len(numbers) > 1:
        return tuple(numbers)
    return int(numbers[0]) if numbers[0].is_integer() and "." not in text else numbers[0]
