"""Names of files and of things in the code that the pages for developers mention exist."""

from __future__ import annotations

import ast
import builtins
import functools
import io
import keyword
import re
import tokenize
from pathlib import Path

import pytest

from parnidag.samplers.parni.mixture import MOVES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "parnidag"
PAGES = [ROOT / "docs" / "notation.md", *sorted((ROOT / "docs" / "adr").glob("*.md"))]
ELSEWHERE = {"NUMBA_DISABLE_JIT=1", "$NUMBA_CACHE_DIR", "numba.experimental.structref", "lingam"}
"""Names of other projects."""


def quoted(text):
    """What stands in backticks, outside of blocks of code."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


@functools.cache
def known_names():
    """Every identifier in the code, every text in it that could be one, and the names of all files and folders."""
    names = {*keyword.kwlist, *dir(builtins)}
    for folder in ("src", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            names |= {path.stem, path.parent.name, path.name}
            for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
                if token.type == tokenize.NAME:
                    names.add(token.string)
                elif token.type == tokenize.STRING and re.fullmatch(r"""(["'])\w+\1""", token.string):
                    names.add(ast.literal_eval(token.string))
    return names


def is_path(code):
    return re.fullmatch(r"[\w./-]*(/|\.py|\.md)[\w./-]*", code) is not None


def lost_paths(text, folder=ROOT):
    """Files and folders in backticks that are not in the repository, the package or the given folder."""
    found = [code for code in quoted(text) if is_path(code) and re.search(r"[a-z]", code)]
    return [code for code in found if not any((top / code).exists() for top in (ROOT, SOURCE, folder))]


def lost_names(text):
    """Code in backticks that has a name in it which the code does not know; commands are left out."""
    codes = [code for code in quoted(text) if not (is_path(code) or code in ELSEWHERE or re.match(r"[\w.-]+ -", code))]
    words = {code: re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", code)) for code in codes}
    return [code for code, names in words.items() if not known_names().issuperset(names)]


def test_files_that_pages_and_docstrings_name_exist():
    pages = [*PAGES, *(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
    lost = {page.name: lost_paths(page.read_text(encoding="utf-8")) for page in pages}
    for path in SOURCE.rglob("*.py"):
        said = re.findall(r"`[\w/]+\.py`", path.read_text(encoding="utf-8"))
        lost[str(path)] = lost_paths(" ".join(said), path.parent)
    assert {name: paths for name, paths in lost.items() if paths} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_that_pages_use_exist(page):
    assert lost_names(page.read_text(encoding="utf-8")) == []


def test_every_move_is_named_where_users_choose_one():
    page = (ROOT / "docs" / "which-sampler.md").read_text(encoding="utf-8")
    assert {move.name for move in MOVES} <= set(quoted(page))


def test_the_map_of_the_house_has_every_room():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    placed = {place.rstrip("/") for place in quoted(text)}
    assert {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} <= placed


def test_lists_in_the_tests_that_contributors_extend_exist():
    lists = {code for code in quoted((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")) if code.isupper()}
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("*.py"))
    assert "MOVES" in lists
    known = known_names() | ELSEWHERE | set(re.findall(r"^([A-Z_]+) = ", tests, flags=re.MULTILINE))
    assert lists <= known


def test_invented_names_would_be_noticed():
    text = "`dag.parents[j]`, `dag.invented_field`, `kernels/dag.py`, `kernels/net.py`, `moves/`, `kill -9`, `h` = 1/n"
    assert lost_paths(text) == ["kernels/net.py"]
    assert lost_names(text) == ["dag.invented_field"]
