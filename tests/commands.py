"""The command line without its work: a result that costs nothing, and calls that are only remembered."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import parnidag
from parnidag._util.files import write_csv
from parnidag.simulation import simulate

NODES = ["A", "B", "C"]
PROBABILITIES = pd.DataFrame([[0.0, 0.9, 0.2], [0.1, 0.0, 0.6], [0.0, 0.4, 0.0]], index=NODES, columns=NODES)


class StubPosterior:
    """What the command line asks of a result, with chosen figures."""

    def __init__(self, probabilities=PROBABILITIES, interrupted=False, log_evidence=None):
        self.nodes = list(probabilities.columns)
        self.edge_probabilities = probabilities
        self.settings = {"interrupted": interrupted, "stopped_by": "SIGINT" if interrupted else None}
        self.log_evidence = log_evidence

    def summary(self, min_probability=0.01):
        cells = [(i, j, self.edge_probabilities.loc[i, j]) for i in self.nodes for j in self.nodes if i != j]
        table = pd.DataFrame(cells, columns=["parent", "child", "probability"])
        figures = [np.nan] * len(table) if self.log_evidence is not None else [0.01, *[np.nan] * (len(table) - 1)]
        return table.assign(mcse=figures, ess=figures, rhat=figures, evidence="positive")

    def diagnostics(self):
        return SimpleNamespace(
            verdict="Converged, as far as can be seen.", advice=["Run longer."], caveats=[], converged=True
        )

    def save(self, path):
        path.write_bytes(b"netCDF")

    def report(self, path, title=None):
        path.write_text(f"<!doctype html><title>{title}</title>")
        return path


class Calls(list):
    """Stands in for `parnidag.sample` or `parnidag.exact`: remembers the calls and gives a chosen result."""

    result = None

    def __call__(self, data, **options):
        self.append((data, options))
        if isinstance(self.result, BaseException):
            raise self.result
        if options.get("output") is not None:  # `sample` itself writes there
            self.result.save(options["output"])
        return self.result


@pytest.fixture
def calls(monkeypatch):
    """Let `parnidag.sample` and `parnidag.exact` do nothing but remember their calls, which are returned."""
    calls = Calls()
    calls.result = StubPosterior()
    monkeypatch.setitem(vars(parnidag), "sample", calls)
    monkeypatch.setitem(vars(parnidag), "exact", calls)
    return calls


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Go to a folder and write a table of three nodes there; return its path."""
    monkeypatch.chdir(tmp_path)
    return write_csv(tmp_path / "data.csv", NODES, simulate(3, 2, 50, 1).values)


def one_line_error(captured):
    assert captured.out == ""
    assert captured.err.startswith("parnidag: error: ")
    assert captured.err.count("\n") == 1
    return captured.err
