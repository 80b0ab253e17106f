import io
import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from parnidag.cli.pairs import pairs_of
from parnidag.cli.screens import (
    VERDICT_STYLE,
    in_option_words,
    print_beside_truth,
    print_conclusion,
    print_edges,
    print_json,
    print_table,
    say,
)


def summary(names=("A", "B", "C")):
    """Three edges, the most probable first, of which the last is improbable and the second has no figures."""
    first, second, third = names
    return pd.DataFrame(
        {
            "parent": [first, second, third],
            "child": [second, third, first],
            "probability": [0.9, 0.6, 0.2],
            "mcse": [0.01, np.nan, 0.02],
            "ess": [812.4, np.nan, 100.0],
            "rhat": [1.002, np.nan, 1.1],
            "evidence": ["included", "inconclusive", "inconclusive"],
        }
    )


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, width, show, *arguments):
    """What a terminal of this width shows, without its colours."""
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setenv("COLUMNS", str(width))
        patch.setenv("TERM", "xterm")
        patch.delenv("NO_COLOR", raising=False)
        show(*arguments)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())


# ── in a pipe ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_edges_are_aligned_the_most_probable_first_with_dashes_for_unknown_figures(capsys):
    print_edges(summary(), 0.5, nodes=3)
    assert capsys.readouterr().out.splitlines() == [
        "3 nodes, 2 pairs joined with probability 0.5 or more.",
        "parent     child  joined  direction   mcse  ess   rhat  evidence",
        "A       →  B       0.900       0.90  0.010  812  1.002  included",
        "B       →  C       0.600       0.60      -    -      -  inconclusive",
    ]


def test_a_pair_has_one_row_that_says_whether_its_direction_is_open(capsys):
    back = summary().iloc[[0]].assign(parent="B", child="A", probability=0.09)
    for share, line in ((0.09, "A       →  B       0.990       0.90"), (0.11, "A       –  B       1.000  0.90/0.11")):
        print_edges(pd.concat([summary(), back.assign(probability=share)]), 0.95, nodes=3)
        said = capsys.readouterr().out.splitlines()
        assert said[0] == "3 nodes, 1 pair joined with probability 0.95 or more."
        assert said[2].startswith(line)
        assert said[2].endswith("direction open" if share > 0.1 else "included")
    even = pd.concat([summary().iloc[[0]].assign(probability=0.5), back.assign(probability=0.5)])
    print_edges(even, 0.95, nodes=3)
    assert capsys.readouterr().out.count("0.50/0.50") == 1


def test_a_run_that_is_not_believed_shows_no_evidence(capsys):
    print_edges(summary(), 0.5, 3, believed=False)
    assert "included" not in capsys.readouterr().out


def test_an_answer_in_json_is_that_of_the_table(capsys):
    back = summary().iloc[[1]].assign(parent="C", child="B", probability=0.4)
    edges = pd.concat([summary(), back])
    found = pairs_of(edges, 0.5)
    print_json({"pairs": found})
    pairs = json.loads(capsys.readouterr().out)["pairs"]
    assert [(pair["parent"], pair["child"], pair["told"]) for pair in pairs] == [("B", "C", False), ("A", "B", True)]
    assert pairs[0] | {"joined": 1.0, "probability": 0.6, "back": 0.4, "evidence": "direction open"} == pairs[0]
    assert pairs[0]["mcse"] is None  # not NaN, which is no JSON
    assert {pair["evidence"] for pair in pairs_of(edges, 0.5, believed=False)} == {None}


def test_columns_without_any_figure_are_left_out(capsys):
    print_edges(summary().assign(mcse=np.nan, ess=np.nan, rhat=pd.NA), 0.9, nodes=3)
    assert capsys.readouterr().out.splitlines() == [
        "3 nodes, 1 pair joined with probability 0.9 or more.",
        "parent     child  joined  direction  evidence",
        "A       →  B       0.900       0.90  included",
    ]


def test_without_probable_edges_there_is_no_table(capsys):
    print_edges(summary(), 0.95, nodes=3)
    assert capsys.readouterr().out.splitlines() == [
        "3 nodes, 0 pairs joined with probability 0.95 or more.",
        "The most probable: A → B 0.90, B → C 0.60, C → A 0.20. A lower --threshold lists more.",
    ]
    print_edges(summary().head(0), 0.95, nodes=3)
    assert capsys.readouterr().out.splitlines()[1] == "No edge was seen at all."


def test_advice_is_given_in_words_of_the_command_line():
    said = in_option_words("run longer (draws=4000, chains=4), missing='drop', or parnidag.sample")
    assert said == "run longer (--draws 4000, --chains 4), --missing drop, or parnidag sample"
    names = ["draws=4", "draws", "draws=4 kind='x'"]
    said = in_option_words("draws=4 kind='x' → draws=4: run longer (draws=40)", names)
    assert said == "draws=4 kind='x' → draws=4: run longer (--draws 40)"


def test_truth_beside_the_answer(capsys):
    cells = [("A", "B", 0.9), ("C", "B", 0.8), ("A", "C", 0.7), ("B", "D", 0.5), ("D", "B", 0.4), ("B", "A", 0.05)]
    edges = pd.DataFrame(cells, columns=["parent", "child", "probability"])
    true = [("A", "B"), ("B", "C"), ("D", "B"), ("C", "D")]
    print_beside_truth(edges, SimpleNamespace(edges=true))
    assert capsys.readouterr().out.splitlines() == [
        "parent     child  joined  direction  true edge?",
        "A       →  B       0.950       0.90  yes",
        "B       –  D       0.900  0.50/0.40  direction open",
        "C       →  B       0.800       0.80  reversed",
        "A       →  C       0.700       0.70  no",
        "C       →  D       0.000          -  not found",
        "Joined with probability 0.5 or more: 3 of the 4 true edges (1 in the true direction, 1 of open direction, "
        "1 reversed), and 1 other pair.",
        "Where a – stands the data cannot tell the direction, and both of its probabilities are given.",
    ]


def test_conclusion_is_the_evidence_or_the_verdict(capsys):
    print_conclusion(SimpleNamespace(log_evidence=-1.5, settings={}))
    judged = SimpleNamespace(verdict="converged", advice=["run longer"], caveats=["not all graphs"], converged=True)
    score = {"name": "BGe", "alpha_w": None, "alpha_mu": 1.0}
    print_conclusion(
        SimpleNamespace(nodes=(), log_evidence=None, diagnostics=lambda: judged, settings={"score": score})
    )
    assert capsys.readouterr().out == (
        "Exact: all graphs were added up; log evidence -1.5000.\n"
        "Score: BGe (alpha_mu 1.0).\nconverged\n- run longer\nNote: not all graphs.\n"
    )


def test_long_sentences_stay_whole_in_a_pipe(capsys):
    say("word " * 50 + "end")
    assert capsys.readouterr().out.count("\n") == 1


# ── in a terminal ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_long_names_of_effects_stay_whole_in_80_columns(monkeypatch):
    headings = ["cause", "effect", "mean", "sd", "5%", "95%", "positive", "zero", "negative"]
    row = ["cholesterol", "blood pressure (mmHg)", "0.00116", "0.016", "-0.00185", "0.0209", "0.105", "0.836", "0.0589"]
    text = shown(monkeypatch, 80, lambda: print_table(headings, [row], headings[2:]))
    assert "blood pressure (mmHg)" in text
    assert "zero" in text
    assert "negative" not in text


@pytest.mark.parametrize("width", [80, 50, 30])
def test_tables_fit_the_terminal(width, monkeypatch):
    names = ["a_rather_long_name", "another_long_name", "[bold]markup[/bold]"]
    text = shown(monkeypatch, width, print_edges, summary(names), 0.5, 3)
    assert max(map(len, text.splitlines())) <= width
    assert "0.900" in text
    assert ("[bold]markup[/bold]" in text) == (width >= 50)
    assert ("evidence" in text) == (width == 80)


def test_columns_go_one_by_one_as_the_terminal_narrows(monkeypatch):
    headings = ["parent", "child", "probability", "mcse", "ess", "rhat", "evidence"]
    row = ["A", "B", "0.900", "0.010", "812", "1.002", "included"]
    dropped = []
    for width in range(80, 20, -1):
        text = shown(monkeypatch, width, print_table, headings, [row])
        dropped += [name for name in headings if name not in text and name not in dropped]
    assert dropped == ["rhat", "ess", "mcse", "evidence", "probability"]  # the last is only shortened


def test_a_table_of_differences_loses_columns_before_names_are_cut(monkeypatch):
    headings = ["parent", "child", "first", "second", "difference", "in MC errors"]
    row = ["temperature", "evaporation", "0.912", "0.401", "-0.511", "-12.3"]
    whole, narrow = (shown(monkeypatch, width, print_table, headings, [row]) for width in (80, 50))
    assert all(name in whole for name in (*headings, *row))
    assert max(map(len, narrow.splitlines())) <= 50
    assert all(value in narrow for value in row[:4])
    assert "in MC errors" not in narrow


@pytest.mark.parametrize("no_colour", [False, True])
def test_a_terminal_has_colours_unless_they_are_unwanted(no_colour, monkeypatch):
    back = summary().iloc[[0]].assign(parent="B", child="A", probability=0.4)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    print_edges(pd.concat([summary(), back]), 0.5, 3)
    say("not converged", VERDICT_STYLE[False])
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]m", terminal.getvalue())) != no_colour


def test_sentences_are_wrapped_in_a_terminal_and_mean_what_they_say(monkeypatch):
    text = shown(monkeypatch, 40, say, "[red] is no colour here, " + "word " * 20)
    assert text.startswith("[red] is no colour")
    assert max(map(len, text.splitlines())) <= 40


def test_figures_stand_at_the_right_under_any_heading(capsys):
    print_table(["figure", "a.nc"], [["shd", "2"]], numbers=["a.nc"])
    assert capsys.readouterr().out.splitlines() == ["figure  a.nc", "shd        2"]
