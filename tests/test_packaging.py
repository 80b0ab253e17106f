"""What is published says the same everywhere: one version, one list of dependencies; its files are the package's."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from parnidag import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
OTHER_NAMES = {"matplotlib": "matplotlib-base", "igraph": "python-igraph"}
"""What conda-forge calls packages that PyPI calls otherwise."""


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("packaging/conda/recipe.yaml", r'^  version: "(\S+)"$'),
        ("CHANGELOG.md", r"^## \[(\S+)\]"),
    ],
)
def test_one_version_everywhere(file, pattern):
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found is not None
    assert found[1] == __version__


def test_the_recipe_needs_what_the_wheel_needs():
    run = RECIPE[RECIPE.index("  run:") : RECIPE.index("tests:")]
    listed = set(re.findall(r"^    - (\S+) (>=\S+)$", run, flags=re.MULTILINE))
    wanted = {re.fullmatch(r"([\w-]+)(>=[\d.]+)", text).groups() for text in PROJECT["dependencies"]}
    wanted = {(OTHER_NAMES.get(name, name), least) for name, least in wanted}
    assert listed - {("python", ">=${{ python_min }}")} == wanted
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in RECIPE


def test_what_the_index_shows():
    classifiers = PROJECT["classifiers"]
    least = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {least}" in classifiers
    assert not any(name.startswith("License ::") for name in classifiers)  # an SPDX expression excludes these
    assert PROJECT["readme"] == "README.md"


def test_the_check_of_the_wheel_is_part_of_all_checks():
    """`packaging/try_wheel.py` builds twice, and tries the wheel in an empty environment."""
    assert "packaging/try_wheel.py" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert (ROOT / "packaging/try_wheel.py").exists()
