"""What README shows works as written, and prints what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_the_example_prints_the_table_that_stands_below_it(capsys):
    (example,), (printed,) = blocks("python"), blocks("text")
    assert len(example.strip().splitlines()) <= 7  # five of them are not imports
    exec(example, {})
    assert capsys.readouterr().out == printed


def test_commands_exist():
    from parnidag.cli.app import app

    lines = [line for block in blocks("sh") for line in block.splitlines()]
    calls = [shlex.split(line) for line in lines if line.startswith("parnidag ")]
    assert [words[1] for words in calls] == ["sample", "effects"]
    for words in [*calls, ["parnidag", "demo"]]:
        app.parse_args(words[1:], exit_on_error=False, print_error=False)
    rest = [line for line in lines if not line.startswith("parnidag ")]
    assert rest == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/parnidag demo",
        "bash .ci/run",
    ]
    assert (ROOT / ".ci/run").exists()


def test_no_block_is_of_a_kind_that_nothing_tries():
    assert set(re.findall(r"^```(\w+)$", README, flags=re.MULTILINE)) == {"python", "text", "sh"}


def test_files_it_points_to_exist():
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


@pytest.mark.parametrize("image", re.findall(r'(?:src|srcset)="([^"]+)"', README))
def test_pictures_exist(image):
    assert (ROOT / image).exists()


def test_it_stays_short():
    assert 700 <= len(README.split()) <= 900
