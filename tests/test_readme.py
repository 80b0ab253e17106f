"""What README shows works as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parnidag._util.files import write_csv
from parnidag.simulation import example_network

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    network = example_network()
    write_csv(tmp_path / "data.csv", network.names, network.values)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_examples_run(folder):
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(block.replace("seed=1)", "seed=1, draws=50, progress=False)"), names)
    assert (folder / "posterior.nc").exists()
    assert names["posterior"].edge_probabilities.loc["rain", "soil_moisture"] == 1.0


def test_commands_exist():
    from parnidag.cli.app import run

    commands = re.findall(r"^parnidag (\w+)", README, flags=re.MULTILINE)
    assert commands == ["sample", "sample", "sample", "sample", "exact", "report", "compare", "simulate"]
    for command in commands:
        assert run([command, "--help"]) == 0


def test_files_it_points_to_exist():
    root = Path(__file__).parents[1]
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (root / target).exists(), target
