"""Results and tables as notebooks show them: parsed as HTML, with names that try to be more than text."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from test_posterior import NODES, exact_record, simulated

import parnidag
from parnidag.results.posterior import Posterior
from parnidag.run import notebook
from parnidag.run.progress import ChainStatus

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a & b", "D")


class Seen(HTMLParser):
    """Tags and text of a piece of HTML; every tag must be closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.words = set(), [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_a_result_shows_its_verdict_and_edges():
    result = Posterior(simulated()[0])
    seen = Seen(result._repr_html_())
    assert result.diagnostics().verdict in seen.words
    assert {"B", "D", "1.000"} <= set(seen.words)
    assert seen.tags == {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"} | (
        {"ul", "li"} if result.diagnostics().advice else set()
    )


@pytest.mark.parametrize("record", [simulated()[0], exact_record()])
def test_names_of_a_result_are_text(record):
    seen = Seen(Posterior(replace(record, nodes=HOSTILE))._repr_html_())
    assert not {"script", "img"} & seen.tags
    assert HOSTILE[0] in seen.words


def test_diagnostics_show_their_verdict_and_figures():
    found = Posterior(simulated()[0]).diagnostics()
    seen = Seen(found._repr_html_())
    assert found.verdict in seen.words
    assert set(found._figures().values()) <= set(seen.words)
    assert "div" in Seen(Posterior(exact_record()).diagnostics()._repr_html_()).tags


def test_names_in_diagnostics_and_classes_are_text():
    result = Posterior(replace(simulated()[0], nodes=HOSTILE))
    for shown in (result.diagnostics(), result.cpdag_probabilities):
        assert not {"script", "img"} & Seen(shown._repr_html_()).tags


def test_probabilities_of_classes_are_listed_by_pairs():
    found = Posterior(simulated()[0]).cpdag_probabilities
    table = found.table(0.0)
    assert (table[["forward", "backward", "open"]].sum(axis=1) - table["adjacent"]).abs().max() < 1e-12
    assert table["adjacent"].is_monotonic_decreasing
    assert (table["forward"] >= table["backward"]).all()
    first, second = table.loc[0, ["first", "second"]]
    assert table.loc[0, "open"] == found.reversible.loc[first, second]
    assert {f"{first} – {second}", f"{table.loc[0, 'adjacent']:.2f}"} <= set(Seen(found._repr_html_()).words)
    assert f"{first} – {second}" in repr(found)


def test_a_run_in_a_notebook_redraws_one_output(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(notebook, "notebook_display", lambda: lambda forms, again: shown.append((forms, again)))
    table = parnidag.simulate(4, 3, 60, seed=1).values
    parnidag.sample(table, sampler=parnidag.samplers.MC3(), draws=20, thin=5, seed=1)
    assert [again for _, again in shown] == [False] + [True] * (len(shown) - 1)
    assert "4 numbers" in " ".join(Seen(shown[0][0]["text/html"]).words)
    seen = Seen(shown[-1][0]["text/html"])
    assert any("finished after" in word for word in seen.words)
    assert seen.words.count("done") == 4
    assert capsys.readouterr() == ("", "")


def test_progress_in_a_notebook_draws_seldom_and_escapes():
    clock, shown = iter(range(1000)), []
    progress = notebook.NotebookProgress(lambda forms, again: shown.append(forms), lambda: 0.01 * next(clock))
    with progress:
        progress.note("<script>alert(1)</script>")
        for iteration in range(100):
            progress.update(ChainStatus(0, "drawing", iteration, 100, 10.0, -1.0, 0.5, None, 2))
    assert len(shown) <= 8
    assert "script" not in Seen(shown[-1]["text/html"]).tags


def test_long_results_are_cut():
    n = 10
    probabilities = np.triu(np.full((n, n), 0.5), 1)
    record = exact_record(nodes=tuple(f"X{k}" for k in range(n)), exact_probabilities=probabilities)
    words = " ".join(Seen(Posterior(record)._repr_html_()).words)
    assert "and 30 more edges" in words


def test_a_table_shows_its_columns():
    values = np.random.default_rng(1).normal(size=(20, 4))
    data = parnidag.Data(values, names=NODES)
    seen = Seen(data._repr_html_())
    assert {"A", "mean", "sd"} <= set(seen.words)
    assert f"{values[:, 0].mean():.4g}" in seen.words


def test_names_and_levels_of_a_table_are_text():
    rows = [[HOSTILE[0], "x"], [HOSTILE[1], "y"], [HOSTILE[0], "y"]]
    seen = Seen(parnidag.Data(rows, names=HOSTILE[:2])._repr_html_())
    assert not {"script", "img"} & seen.tags
    assert seen.words.count(HOSTILE[0]) >= 2  # as the name of a column and as its most frequent level


def test_many_columns_are_cut():
    data = parnidag.Data(np.random.default_rng(1).normal(size=(5, 50)))
    assert "… and 20 more columns" in Seen(data._repr_html_()).words
