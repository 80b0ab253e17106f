import base64
import hashlib
import json
import math
import re

import numpy as np
import pytest
from made_results import HOSTILE, bare_record, exact_result, flat_result, made_record, made_result
from report_pages import Page, page_of

from parnidag.errors import ParnidagError
from parnidag.report.build import render_report, write_report
from parnidag.report.facts import FLOORS, MOST_EDGES, THRESHOLD, Listing, as_script, choose_listing, kept_digits
from parnidag.report.names import shown_name
from parnidag.report.words import answer, banner
from parnidag.results.posterior import Posterior

NAMES = [f"V{k}" for k in range(12)]


# ── what is in the page ───────────────────────────────────────────────────────────────────────────────────────────────


def test_listed_edges_are_those_of_the_summary():
    result = made_result(NAMES)
    data = page_of(result).data
    summary = result.summary(min_probability=data["floor"])
    assert data["floor"] == 0.01
    assert len(data["edges"]) == len(summary) > 10
    columns = {name: [row[k] for row in data["edges"]] for k, name in enumerate(data["columns"])}
    assert [data["nodes"][k] for k in columns["parent"]] == list(summary["parent"])
    assert [data["nodes"][k] for k in columns["child"]] == list(summary["child"])
    np.testing.assert_allclose(columns["probability"], summary["probability"], atol=1.1e-5)
    for name in ("mcse", "ess", "rhat", "prior", "bayes_factor"):
        shown = [math.inf if value == "infinite" else value for value in columns[name]]
        wanted = [None if math.isnan(v) else v for v in summary[name].to_numpy(float, na_value=np.nan)]
        assert [value is None for value in shown] == [value is None for value in wanted]
        known = [(a, b) for a, b in zip(shown, wanted, strict=True) if b is not None]
        np.testing.assert_allclose(*zip(*known, strict=True), rtol=1e-3)
    by_chain = result.chain_probabilities
    for i, j, chains in zip(columns["parent"], columns["child"], columns["chains"], strict=True):
        np.testing.assert_allclose(chains, by_chain[:, i, j], atol=1e-4)


def test_evidence_says_where_the_direction_is_open_and_where_chains_disagree():
    names = list("ABC")
    probabilities = np.array([[0, 0.7, 0.95], [0.3, 0, 0], [0, 0, 0]])  # a Bayes factor of 8 the other way
    prior = np.full((3, 3), 0.05)
    record = bare_record(
        nodes=tuple(names), exact_probabilities=probabilities, log_evidence=-1.0, prior_probabilities=prior
    )
    said = {
        tuple(row[:2]): dict(zip(page.data["columns"], row, strict=True))["evidence"]
        for page in [page_of(Posterior(record))]
        for row in page.data["edges"]
    }
    assert said == {(0, 2): "included", (0, 1): "direction open", (1, 0): "direction open"}
    wrong = made_result(NAMES)
    assert wrong.diagnostics().converged is False
    data = page_of(wrong).data
    place = data["columns"].index("evidence")
    assert {row[place] for row in data["edges"]} == {"not converged"}


def test_the_page_names_the_file_and_the_day():
    made = made_result(NAMES)
    made.record.settings.update(source="cells <1>.csv", date="2026-01-31")
    page = page_of(made)
    assert "cells <1>.csv, 2026-01-31" in page.text
    assert "2026-01-31" in render_report(made, "Heading").split("</title>")[0]


def test_classes_are_those_of_the_cpdags():
    result = made_result(NAMES)
    found = result.cpdag_probabilities
    compelled, reversible = np.zeros((12, 12)), np.zeros((12, 12))
    for i, j, probability, directed in page_of(result).data["classes"]:
        (compelled if directed else reversible)[i, j] = probability
    expected = np.where(found.compelled >= 0.01, found.compelled, 0)
    np.testing.assert_allclose(compelled, expected, atol=1.1e-5)
    expected = np.triu(np.where(found.reversible >= 0.01, found.reversible, 0))
    np.testing.assert_allclose(reversible, expected, atol=1.1e-5)
    assert compelled.any()
    assert reversible.any()


def test_matrices_and_order():
    result = made_result(NAMES)
    data = page_of(result).data

    def unpacked(text):
        return np.frombuffer(base64.b64decode(text), np.uint8).reshape(12, 12) / 250

    np.testing.assert_allclose(unpacked(data["matrix"]), result.edge_probabilities, atol=0.0021)
    np.testing.assert_allclose(unpacked(data["paths"]), result.path_probabilities, atol=0.0021)
    consensus = result.consensus_graph().adjacency
    place = np.argsort(data["order"])
    assert sorted(data["order"]) == list(range(12))
    assert all(place[i] < place[j] for i, j in np.argwhere(consensus))


def test_the_slider_is_as_exact_as_the_full_numbers():
    """Rounded, 0.24999… would pass a slider that stands at 0.25; cut, no number changes sides."""
    rng = np.random.default_rng(1)
    thresholds = np.arange(1, 101) / 100
    values = np.concatenate(
        [rng.random(2000), thresholds, thresholds - 1e-9, thresholds - 1e-6, np.nextafter(thresholds, 0)]
    )
    for value in values[values >= 0]:
        assert ((kept_digits(value) >= thresholds) == (value >= thresholds)).all()
    rounded = np.round(values, 5)
    assert ((rounded[:, None] >= thresholds) != (values[:, None] >= thresholds)).any()


def test_too_many_edges_raise_the_floor():
    spread = np.full((100, 100), 0.03)
    assert choose_listing(spread).floor == 0.05
    assert choose_listing(np.zeros((5, 5))).floor == 0.01
    assert FLOORS[-1] <= THRESHOLD
    noisy = np.zeros((100, 100))
    noisy.ravel()[: MOST_EDGES + 1] = 0.015
    assert choose_listing(noisy) == Listing(0.02, "with probability 0.02 or more", "below 0.02")
    flat = choose_listing(np.full((100, 100), 0.4567))
    assert flat == Listing(0.45, "the 3,000 most probable", "0.457 or less")


def test_without_scripts_the_verdict_the_first_edges_and_the_settings_are_there():
    result = made_result(NAMES, settings={"score": {"name": "Gaussian", "g": 10.0}})
    page = page_of(result)
    assert banner(result).text in page.text
    first = result.summary().iloc[0]
    assert f"{first['parent']} {first['child']}" in page.text
    assert len(page.find("noscript")) == 1
    assert "Gaussian (g 10.0)" in page.text
    assert len(page.find("svg", **{"class": "figure"})) == 5
    assert page.find("section", id="heat-section")[0].keys() >= {"hidden"}


def test_an_edge_that_never_changes_has_a_dash_and_no_number():
    result = made_result(NAMES)
    summary = result.summary()
    constant = summary[summary["mcse"].isna()]
    assert len(constant)
    text = render_report(result)
    row = next(line for line in text.splitlines() if f"<bdi>{constant.iloc[0]['parent']}</bdi>" in line)
    assert row.count(">–<") == 3


@pytest.mark.parametrize(
    ("result", "kind", "word"),
    [
        (lambda: made_result(NAMES, draws=1500), "good", "Converged"),
        (lambda: made_result(NAMES, draws=300, apart=0.5), "bad", "Not converged"),
        (lambda: made_result(NAMES, chains=1, draws=300), "wait", "Cannot be known"),
        (lambda: exact_result(NAMES), "good", "Exact"),
    ],
)
def test_the_banner_has_colour_icon_and_words(result, kind, word):
    result = result()
    page = page_of(result)
    box = page.find("div", **{"class": f"verdict {kind}"})
    assert len(box) == 1
    assert word in page.text
    if kind == "bad":
        assert "Do not use the numbers" in page.text
    notes = result.diagnostics().advice
    assert all(note[1:] in page.text for note in notes)


def test_the_answer_counts_pairs():
    probabilities = np.zeros((4, 4))
    probabilities[0, 1] = 0.95
    probabilities[1, 2], probabilities[2, 1] = 0.5, 0.45
    probabilities[2, 3], probabilities[3, 2] = 0.3, 0.2
    probabilities[0, 3] = 0.05
    assert answer(probabilities, 400) == (
        "4 variables, 400 rows: 1 edge with probability 0.9 or more; 1 more pair joined with probability 0.9 or more, "
        "direction not settled; 1 pair left open (joined with probability 0.1 to 0.9)."
    )
    assert "row" not in answer(probabilities, None)


# ── safe, small, the same every time ──────────────────────────────────────────────────────────────────────────────────


def test_hostile_names_stay_text():
    result = made_result(HOSTILE, settings={"data": {"columns": [{"name": name, "mean": 1.0} for name in HOSTILE]}})
    title = "</title><script>window.hacked=1</script>"
    page = page_of(result, title=title)
    assert len(page.scripts) == 2
    assert not page.find("img")
    assert page.data["nodes"] == [shown_name(name) for name in HOSTILE]
    assert page.data["title"] == title
    handlers = [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert handlers == []
    for name in HOSTILE:
        assert " ".join(shown_name(name).split()) in page.text
    assert "49" not in re.findall(r"\b49\b", page.text)


def test_only_the_pages_own_script_and_style_may_run():
    page = page_of(made_result(NAMES))
    policy = next(at["content"] for tag, at in page.elements if at.get("http-equiv") == "Content-Security-Policy")
    for kind, body in (("script", page.scripts[1]), ("style", page.styles[0])):
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_nothing_points_outside():
    page = page_of(made_result(NAMES))
    for tag, attributes in page.elements:
        assert "src" not in attributes
        assert "style" not in attributes  # the policy would refuse it
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        if "href" in attributes:
            assert attributes["href"].startswith("#")
    everything = page.scripts[1] + page.styles[0]
    assert set(re.findall(r"https?://[\w./]+", everything)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", everything)
    assert not re.search(r"url\((?!#)|@import", everything.replace("`url(#", "url(#"))


@pytest.mark.parametrize("nodes", [2, 12, 100])
def test_no_figure_is_nan(nodes):
    text = render_report(made_result([f"V{k}" for k in range(nodes)]))
    page = Page(text)
    assert page.data
    assert not re.findall(r"\b(nan|NaN|inf|Infinity|None|null|undefined)\b", page.text)
    assert not re.findall(r"NaN|Infinity|\bnan\b", text)


def test_size_of_large_results():
    names = [f"measured_quantity_{k}" for k in range(100)]
    crowded = made_result(names, edges=4000, draws=60, settings={"draws": 60})
    size = len(render_report(crowded).encode())
    assert len(page_of(crowded).data["edges"]) > 1500
    assert size < 1_000_000
    assert len(render_report(made_result(names)).encode()) < 300_000


def test_a_result_that_knows_nothing_is_small_too():
    flat = flat_result(100, chains=8)
    text = render_report(flat)
    data, probabilities = Page(text).data, flat.edge_probabilities.to_numpy()
    assert (probabilities >= FLOORS[-1]).sum() > 9000
    assert len(text.encode()) < 1_000_000
    listed = [row[data["columns"].index("probability")] for row in data["edges"]]
    np.testing.assert_allclose(listed, np.sort(probabilities, axis=None)[::-1][:MOST_EDGES], atol=1.1e-5)
    assert data["floor"] <= min(listed) < data["floor"] + 0.01
    assert data["threshold"] >= data["floor"]
    assert "the 3,000 most probable" in text


def test_the_same_result_gives_the_same_bytes(tmp_path):
    record = made_record(NAMES)
    first = write_report(Posterior(record), tmp_path / "a.html")
    again = write_report(Posterior(record), tmp_path / "b.html")
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes() != write_report(made_result(NAMES, seed=2), tmp_path / "c.html").read_bytes()


def test_written_in_one_step(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")
    assert made_result(NAMES).report(target, title="Rain & Co.") == target
    assert "<title>Rain &amp; Co. · parnidag report</title>" in target.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]

    def full_disk(*_, **__):
        raise OSError("no space left")

    before = target.read_bytes()
    monkeypatch.setattr("pathlib.Path.write_text", full_disk)
    with pytest.raises(ParnidagError, match="path: cannot write"):
        made_result(NAMES, seed=3).report(target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_paths_and_titles_that_are_refused(tmp_path):
    result = made_result(NAMES)
    with pytest.raises(ParnidagError, match=r"path: .*does not exist"):
        result.report(tmp_path / "missing" / "report.html")
    with pytest.raises(ParnidagError, match=r"path: .*folder"):
        result.report(tmp_path)
    with pytest.raises(ParnidagError, match="title: must be a text"):
        result.report(tmp_path / "report.html", title=3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "result",
    [
        lambda: made_result(["a", "b"]),
        lambda: made_result(["only"], edges=0),
        lambda: made_result(NAMES, edges=0),
        lambda: made_result(NAMES, chains=1),
        lambda: made_result(NAMES, settings={"interrupted": True}),
        lambda: made_result(NAMES, prior_probabilities=None),
        lambda: made_result(NAMES, chains=20, draws=20),
        lambda: exact_result(NAMES),
        lambda: made_result([f"V{k}" for k in range(300)], draws=20),
    ],
)
def test_odd_results_have_a_sensible_page(result):
    result = result()
    page = page_of(result)
    assert page.data["nodes"] == result.nodes
    assert page.text.count("How it was made") == 2
    if result.log_evidence is not None:
        assert "−12.2500" in page.text
        assert "draws=1000" in page.text
        assert not page.find("input", name="mode")
        assert not page.find("svg", **{"class": "figure"})
    if result.settings.get("interrupted"):
        assert "the part that was done" in page.text
    if result.record.prior_probabilities is None and result.log_evidence is None:
        assert "evidence" not in page.data["columns"]


def test_json_cannot_leave_its_script():
    text = as_script({"a": "</script><!--<script>", "b": "\u2028\u2029&"})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {"a": "</script><!--<script>", "b": "\u2028\u2029&"}
    with pytest.raises(ValueError, match="JSON"):
        as_script({"a": math.nan})
