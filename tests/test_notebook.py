"""Results and tables as notebooks show them: parsed as HTML, with names that try to be more than text."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from test_posterior import NODES, exact_record, simulated

import parnidag
from parnidag.results.posterior import Posterior

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
