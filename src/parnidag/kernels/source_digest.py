"""A digest of all source that compiled code depends on, and of nothing else.

It covers the functions with one of the decorators of `jit` and, followed from module to module, every top-level
statement that binds a name which they mention: callees, constants, structs, functions that compute constants. Modules
that teach Numba something are covered whole, since registrations have no names to follow. Whatever cannot be followed
counts as a dependency. Docstrings do not count, nor do dataclasses: compiled code cannot use one, so what shapes it is
a NamedTuple (a test sees to that).
"""

from __future__ import annotations

import hashlib
import re
import symtable
from pathlib import Path
from typing import NamedTuple

_ROOT = re.compile(r"^\s*@(?:kernel|leaf|entry|external|struct|struct_over)\b", re.MULTILINE)
_DATACLASS = re.compile(r"^@dataclass\b", re.MULTILINE)
_TEACHES_NUMBA = re.compile(r"(?:from|import) (?:numba\.|llvmlite)")
_TRIPLE = re.compile(r"([\"'])\1\1.*?\1{3}", re.DOTALL)
_DOCSTRING = re.compile(r"^([ \t]*)([\"'])\2\2.*?\2{3}[ \t]*$", re.DOTALL | re.MULTILINE)
_CONTINUED = re.compile(r"[\s#)\]}]|(?:else|elif|except|finally)\b")
_IMPORT = re.compile(r"^\s*from parnidag((?:\.\w+)*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


class Statement(NamedTuple):
    text: str
    """Without docstrings."""
    uses: frozenset[str]
    """The names of the module, or of Python, that it mentions; in annotations too, which say what tuples are passed."""
    binds: frozenset[str]
    """What it binds; for a statement that binds nothing all that it mentions, since it may change it."""
    imports: dict[str, tuple[str, str]]
    """For each name that it imports from this package the module and the name there."""


class Sources:
    """The modules of the package, by their names without "parnidag."."""

    def __init__(self, package: Path) -> None:
        self._package = package
        self._statements: dict[str, list[Statement]] = {}
        self.covered: dict[str, set[int]] = {}
        """For each module the statements that compiled code depends on, by their number."""
        self._waiting: list[tuple[str, int]] = []

    def cover_kernels(self) -> None:
        for path in sorted(self._package.rglob("*.py")):
            text = path.read_text("utf-8")
            module = (
                ".".join(path.relative_to(self._package).with_suffix("").parts).removesuffix("__init__").rstrip(".")
            )
            if _ROOT.search(text):
                for number, statement in enumerate(self.statements(module)):
                    if _ROOT.search(statement.text):
                        self._cover(module, number)
        while self._waiting:
            self._follow(*self._waiting.pop())

    def statements(self, module: str) -> list[Statement]:
        if module not in self._statements:
            path = self._path(module)
            self._statements[module] = _split(path.read_text("utf-8")) if path is not None else []
        return self._statements[module]

    def _path(self, module: str) -> Path | None:
        stem = self._package.joinpath(*module.split(".")) if module else self._package
        return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)

    def _cover(self, module: str, number: int) -> None:
        covered = self.covered.setdefault(module, set())
        if number not in covered:
            covered.add(number)
            self._waiting.append((module, number))

    def _follow(self, module: str, number: int) -> None:
        statement = self.statements(module)[number]
        if any(_TEACHES_NUMBA.match(each.text) for each in self.statements(module)):
            self._cover_module(module)
        for name in statement.uses:
            self._cover_name(module, name, known=False)
        for inside in statement.imports.values():  # of a function; imports of the module are never covered themselves
            self._cover_name(*inside)

    def _cover_name(self, module: str, name: str, known: bool = True) -> None:
        """Cover what a name stands for in a module; unless it is `known` to be there it may be one of Python's own."""
        inner = f"{module}.{name}".lstrip(".")
        if known and self._path(inner) is not None:
            self._cover_module(inner)
            return
        for number, statement in enumerate(self.statements(module)):
            if name in statement.binds and name in statement.imports:
                self._cover_name(*statement.imports[name])
                known = False
            elif name in statement.binds:
                if not _DATACLASS.search(statement.text):
                    self._cover(module, number)
                known = False
        if known:  # something that a module makes up when it is asked
            self._cover_module(module)

    def _cover_module(self, module: str) -> None:
        for number in range(len(self.statements(module))):
            self._cover(module, number)


def source_digest(package: Path, versions: str) -> str:
    sources = Sources(package)
    sources.cover_kernels()
    digest = hashlib.sha256(versions.encode())
    for module, numbers in sorted(sources.covered.items()):
        for number in sorted(numbers):
            digest.update(f"{module}\0{sources.statements(module)[number].text}\0".encode())
    return digest.hexdigest()[:16]


def _split(source: str) -> list[Statement]:
    """Split a module at the lines that begin a top-level statement; decorators belong to what they decorate."""
    without = _DOCSTRING.sub(r"\1...", source)
    hidden = _TRIPLE.sub(lambda found: found[0].replace("\n", "\0"), without)
    statements: list[list[str]] = []
    for line in hidden.splitlines(keepends=True):
        if not statements or not (_CONTINUED.match(line) or statements[-1][-1].startswith("@")):
            statements.append([])
        statements[-1].append(line.replace("\0", "\n"))
    try:
        return [_statement("".join(lines)) for lines in statements]
    except SyntaxError:  # it was split in the middle of something, so it stays whole
        return [_statement(source)]


def _statement(text: str) -> Statement:
    imports = {}
    for module, *listed in _IMPORT.findall(text):
        for part in filter(str.strip, "".join(listed).split(",")):
            name, _, alias = (word.strip() for word in part.partition(" as "))
            imports[alias or name] = module.lstrip("."), name
    table = symtable.symtable("" if text.startswith("from __future__") else text, "", "exec")
    own = table.get_symbols()
    binds = frozenset(symbol.get_name() for symbol in own if symbol.is_assigned() or symbol.is_imported())
    uses = {symbol.get_name() for symbol in own if symbol.is_referenced()}.union(*map(_globals, table.get_children()))
    return Statement(text.rstrip(), frozenset(uses), binds or frozenset(uses), imports)


def _globals(table: symtable.SymbolTable) -> frozenset[str]:
    """Return the names outside all functions that a function or class mentions, with all that it holds."""
    own = frozenset(symbol.get_name() for symbol in table.get_symbols() if symbol.is_global())
    return own.union(*map(_globals, table.get_children()))
