"""Questions about graphs, as text: read by a small parser of our own, which runs nothing.

question  = either { "or" either }
either    = negated { "and" negated }
negated   = "not" negated | "(" question ")" | statement
statement = names { arrow names }            arrows: "->", "<-", "=>", "<=", "--", as → ← ⇒ ⇐, and the word "before"
          | names "_||_" names [ "|" names ]
names     = name { "," name }                quoted if it has blanks or signs in it
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from parnidag._util.text import did_you_mean, one_line
from parnidag.errors import ParnidagError

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<sign>_\|\|_|->|<-|=>|<=|--|[()|,→←⇒⇐⫫])
      | (?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<word>(?:[^\s()|,"'<>=\-→←⇒⇐⫫]|-(?![->]))+)
    )""",
    re.VERBOSE,
)
_WORDS = ("and", "or", "not", "before")
_ARROWS = ("->", "<-", "=>", "<=", "--", "before")
_WRITTEN = {"→": "->", "←": "<-", "⇒": "=>", "⇐": "<=", "⫫": "_||_"}
"""Signs as results show them."""
MOST_NESTED = 100
"""So deep may parentheses and negations be nested."""


@dataclass(frozen=True)
class Statement:
    """What is said of two nodes, or of sets of them; nodes by number."""

    kind: str
    """ "edge", "path", "adjacent" or "separated"."""
    one: tuple[int, ...]
    other: tuple[int, ...]
    given: tuple[int, ...] = ()


@dataclass(frozen=True)
class Not:
    part: Question


@dataclass(frozen=True)
class Each:
    parts: tuple[Question, ...]


@dataclass(frozen=True)
class Either:
    parts: tuple[Question, ...]


Question = Statement | Not | Each | Either


def read_question(text: str, names: tuple[str, ...], argument: str) -> Question:
    """Read a question about graphs over these nodes, or say where it cannot be understood."""
    return _Reader(text, names, argument).read()


class _Reader:
    def __init__(self, text: str, names: tuple[str, ...], argument: str) -> None:
        self.text, self.names, self.argument = text, names, argument
        self.tokens = self._tokens()
        self.place = self.depth = 0

    def _tokens(self) -> list[tuple[str, str, int]]:
        """Cut the text into (kind, value, where); words that steer are signs, unless they are quoted."""
        found, place = [], 0
        while self.text[place:].strip():
            match = _TOKEN.match(self.text, place)
            if match is None:
                self._refuse("this cannot be read", place + len(self.text[place:]) - len(self.text[place:].lstrip()))
            kind = str(match.lastgroup)
            value, begin = _WRITTEN.get(match[kind], match[kind]), match.start(kind)
            if kind == "quoted":
                kind, value = "word", re.sub(r"\\(.)", r"\1", value[1:-1])
            elif value in _WORDS:
                kind = "sign"
            found.append((kind, value, begin))
            place = match.end()
        return found

    def read(self) -> Question:
        question = self._either()
        if self.place < len(self.tokens):
            self._refuse("and, or or the end was expected")
        return question

    def _either(self) -> Question:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self) -> Question:
        parts = [self._negated()]
        while self._take("and"):
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else Each(tuple(parts))

    def _negated(self) -> Question:
        self.depth += 1
        if self.depth > MOST_NESTED:
            self._refuse(f"more than {MOST_NESTED} parentheses and negations within each other")
        if self._take("not"):
            found: Question = Not(self._negated())
        elif self._take("("):
            found = self._either()
            if not self._take(")"):
                self._refuse("a closing parenthesis is missing")
        else:
            found = self._statement()
        self.depth -= 1
        return found

    def _statement(self) -> Question:
        sides = [self._names()]
        if self._take("_||_"):
            return self._separated(sides[0], self._names())
        found: list[Question] = []
        while self._sign() in _ARROWS:
            arrow = self.tokens[self.place][1]
            begin = self.place
            self.place += 1
            sides.append(self._names())
            found += self._joined(arrow, sides[-2], sides[-1], begin)
        if not found:
            self._refuse('an arrow was expected: "->", "<-", "=>", "<=", "--", "before" or "_||_"')
        return found[0] if len(found) == 1 else Each(tuple(found))

    def _joined(self, arrow: str, left: tuple[int, ...], right: tuple[int, ...], place: int) -> list[Question]:
        if set(left) & set(right):
            self._refuse("a node on both sides", self.tokens[place][2])
        if arrow in ("<-", "<="):
            left, right = right, left
        kind = {"--": "adjacent", "->": "edge", "<-": "edge"}.get(arrow, "path")
        return [Statement(kind, (i,), (j,)) for i in left for j in right]

    def _separated(self, one: tuple[int, ...], other: tuple[int, ...]) -> Question:
        given = self._names() if self._take("|") else ()
        if len({*one, *other, *given}) < len({*one}) + len({*other}) + len({*given}):
            self._refuse("an independence statement needs different nodes on each side")
        return Statement("separated", one, other, given)

    def _names(self) -> tuple[int, ...]:
        found = [self._name()]
        while self._take(","):
            found.append(self._name())
        return tuple(found)

    def _name(self) -> int:
        if self.place == len(self.tokens) or self.tokens[self.place][0] != "word":
            self._refuse("the name of a node was expected")
        name = self.tokens[self.place][1]
        if name not in self.names:
            self._refuse(f"{one_line(repr(name), 60)} is no node; {did_you_mean(name, list(self.names))}")
        self.place += 1
        return self.names.index(name)

    def _sign(self) -> str | None:
        if self.place < len(self.tokens) and self.tokens[self.place][0] == "sign":
            return self.tokens[self.place][1]
        return None

    def _take(self, sign: str) -> bool:
        taken = self._sign() == sign
        self.place += taken
        return taken

    def _refuse(self, reason: str, where: int | None = None) -> NoReturn:
        if where is None:
            where = self.tokens[self.place][2] if self.place < len(self.tokens) else len(self.text)
        shown = self.text[max(0, where - 30) : where] + "▸" + self.text[where : where + 30]
        raise ParnidagError(
            f"{self.argument}: {reason}, at ▸ in {shown!r}; write 'a -> b and not c => d', odd names in quotes",
            argument=self.argument,
        )
