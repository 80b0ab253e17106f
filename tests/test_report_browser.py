"""The report in a real browser: it does what it shows, keeps to itself, and takes no name for anything but text."""

# ruff: noqa: F401, F811 (fixtures are imported, and named again by the tests that take them)

import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
import report_pages as ask
from made_results import record_of
from report_pages import NAMES, browser, files, page, result

from parnidag._util.files import escaped
from parnidag.results.posterior import Posterior

# ── the graph ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_slider_shows_exactly_the_probable_edges(page, result):
    probabilities = result.edge_probabilities
    assert ask.shown_edges(page) == ask.at_least(probabilities, 0.25)
    sizes = set()
    for value in ("0.01", "0.3", "0.56", "0.95", "1", "0.02"):
        ask.set_slider(page, value)
        expected = ask.at_least(probabilities, float(value))
        assert ask.shown_edges(page) == expected
        assert page.one("#count").text.startswith(f"{len(expected)} edge")
        assert page.one("#threshold-shown").text == f"{float(value):.2f}"
        sizes.add(len(expected))
        rows = page.run("return document.querySelectorAll('#rows tr').length")
        assert rows == len(expected)
    assert len(sizes) >= 5  # the values tell the edges apart


def test_the_toggle_shows_what_classes_leave_open(page, result):
    found = result.cpdag_probabilities
    page.one("input[value=cpdag]").click()
    for value in (0.25, 0.05):
        ask.set_slider(page, value)
        marks = page.run(ask.SHOWN)
        directed = {(i, j) for i, j, kind, arrow in marks if kind == "directed" and arrow}
        undirected = {(i, j) for i, j, kind, arrow in marks if kind == "undirected" and not arrow}
        assert len(marks) == len(directed) + len(undirected)
        assert directed == ask.at_least(found.compelled, value)
        assert undirected == ask.at_least(np.triu(found.reversible), value)
        assert directed
        assert undirected
    assert directed != ask.at_least(result.edge_probabilities, 0.05)
    page.one("input[value=dag]").click()
    assert ask.shown_edges(page) == ask.at_least(result.edge_probabilities, 0.05)


def test_no_mark_of_a_pair_hides_another(page):
    ask.set_slider(page, 0.01)
    for mode in ("dag", "cpdag"):
        page.one(f"input[value={mode}]").click()
        pairs, closest = page.run(ask.CLOSEST_OF_A_PAIR)
        assert pairs >= 3
        assert closest > 2.5


def test_directions_of_a_joined_pair_look_the_same(browser, tmp_path):
    """0.502 and 0.498 are no difference: neither colour nor dashes may suggest one."""
    graphs = np.zeros((2, 500, 3, 3), bool)
    graphs[:, :251, 0, 1] = True
    graphs[:, 251:, 1, 0] = True
    graphs[:, :300, 1, 2] = True
    result = Posterior(record_of(["a", "b", "c"], graphs, np.random.default_rng(1)))
    page = browser.open(result.report(tmp_path / "turned.html"))
    look = (
        "return Array.from(document.querySelectorAll('#graph g.edge'), (edge) => {"
        "const style = getComputedStyle(edge.querySelector('.line'));"
        "return [edge.dataset.parent + edge.dataset.child, style.stroke + style.strokeDasharray]})"
    )
    looks = dict(page.run(look))
    assert looks["01"] == looks["10"] != looks["12"]
    assert page.one("#legend-unsettled").is_displayed()
    assert (
        "1 pair joined with probability 0.9 or more, direction not settled; 1 pair left open" in page.one("body").text
    )
    assert "below the slider" not in page.one("#count").text
    ask.set_slider(page, "0.7")
    assert page.one("#count").text.endswith("1 pair left open is below the slider.")
    ask.set_slider(page, "0.25")
    page.one("#save-svg").click()
    drawing = ElementTree.fromstring(page.downloaded("parnidag-graph.svg"))
    fills = {text.text: text.get("fill") for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert fills["0.50"] == "#a64d79"
    page.one("input[value=cpdag]").click()
    assert not page.one("#legend-unsettled").is_displayed()


def test_search_marks_nodes_filters_the_table_and_centres(page):
    page.one("#search").send_keys("so")
    found = page.run("return Array.from(document.querySelectorAll('.node.match'), (n) => Number(n.dataset.node))")
    assert found == [NAMES.index("soil_moisture")]
    names = page.run("return Array.from(document.querySelectorAll('#rows tr'), (row) => row.innerText)")
    assert names
    assert all("soil_moisture" in row for row in names)
    page.press("\ue007")
    assert page.one("#panel h3").text == "soil_moisture"
    stage, node = (page.run(f"return document.querySelector('{s}').getBoundingClientRect().toJSON()") for s in
                   ("#graph", ".node.match"))  # fmt: skip
    assert stage["left"] < node["left"] < node["right"] < stage["right"] - 300
    assert abs((node["top"] + node["bottom"]) / 2 - (stage["top"] + stage["bottom"]) / 2) < 3
    page.press("\ue00c")
    assert page.run("return document.querySelectorAll('.node.match').length") == 0


def test_a_click_opens_a_node_and_then_an_edge(page, result):
    node = int(np.argmax((result.edge_probabilities.to_numpy() >= 0.01).sum(axis=0)))
    page.run("document.getElementById('stage').scrollIntoView({block: 'center'})")
    page.one(f".node[data-node='{node}']").click()
    assert page.one("#panel h3").text == NAMES[node]
    lists = page.run(
        "return Array.from(document.querySelectorAll('#panel h4'),"
        "(heading) => [heading.textContent, heading.nextElementSibling.innerText])"
    )
    column = result.edge_probabilities.to_numpy()[:, node]
    wanted = [NAMES[k] for k in np.argsort(-column, kind="stable") if column[k] >= 0.01]
    assert lists[0][0].startswith("Parents")
    assert [word for word in lists[0][1].split() if word in NAMES] == wanted
    assert any("Acts on" in heading for heading, _ in lists)
    page.one("#panel li button").click()
    words = page.one("#panel").text
    i, j = NAMES.index(wanted[0]), node
    assert f"{NAMES[i]} → {NAMES[j]}" in words
    assert f"{NAMES[j]} → {NAMES[i]}" in words
    assert "no edge between them" in words
    assert "Can the data tell the direction?" in words
    page.one("#panel .close").click()
    assert not page.one("#panel").is_displayed()


def test_hover_tells_and_dims(page):
    from selenium.webdriver import ActionChains

    page.run("document.getElementById('stage').scrollIntoView({block: 'center'})")
    ActionChains(page.driver, duration=0).move_to_element(page.one(".node[data-node='3']")).perform()
    assert page.one("#tip").text.startswith("heat: ")
    assert page.run("return document.getElementById('graph').classList.contains('dimmed')")


def test_zoom_pan_and_fit(page):
    scale = "return new DOMMatrix(getComputedStyle(document.getElementById('viewport')).transform).a"
    place = "return document.getElementById('viewport').getAttribute('transform')"
    whole, first = page.run(place), page.run(scale)
    page.one("#zoom-in").click()
    assert page.run(scale) == pytest.approx(1.3 * first, rel=1e-3)
    page.one("#zoom-fit").click()
    assert page.run(place) == whole
    page.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
    page.press("+")
    assert page.run(scale) == pytest.approx(1.25 * first, rel=1e-3)
    page.press("0")
    assert page.run(place) == whole
    wheel = (
        "const g = document.getElementById('graph');"
        "return !g.dispatchEvent(new WheelEvent('wheel', {deltaY: -120, ctrlKey: arguments[0], cancelable: true}))"
    )
    page.run("document.activeElement.blur()")
    assert page.run(wheel, False) is False  # the page scrolls on
    assert page.run(place) == whole
    assert page.run(wheel, True) is True
    assert page.run(scale) > first


def test_keyboard_alone(page):
    tab, enter, escape, right, down = "\ue004", "\ue007", "\ue00c", "\ue014", "\ue015"

    def tab_to(wanted, most=12):
        while most and not page.run(ask.FOCUS).startswith(wanted):
            page.press(tab)
            most -= 1
        assert page.run(ask.FOCUS).startswith(wanted)

    page.press(tab)
    assert page.run(ask.FOCUS) == "skip"
    tab_to("threshold")
    before = len(ask.shown_edges(page))
    page.press(*[right] * 40)
    assert page.one("#threshold").get_attribute("value") == "0.65"
    assert len(ask.shown_edges(page)) < before
    tab_to("node")
    first = page.run("return document.activeElement.dataset.node")
    page.press(down)
    second = page.run("return document.activeElement.dataset.node")
    assert first != second
    assert page.run("return document.querySelectorAll('.node[tabindex=\"0\"]').length") == 1
    page.press(enter)
    assert page.one("#panel h3").text == NAMES[int(second)]
    page.press(escape)
    assert not page.one("#panel").is_displayed()
    outline = page.run("return getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth")
    assert outline == "3px"
    page.press(enter)
    page.run("document.querySelector('#panel li button').focus()")
    page.press(enter)  # the button that was pressed is replaced
    assert " and " in page.one("#panel h3").text
    assert page.run("return document.activeElement.matches('#panel h3')")
    page.press(escape)
    assert not page.one("#panel").is_displayed()
    assert page.run(ask.FOCUS).startswith("node")


def test_everything_that_acts_has_a_name(page):
    nameless = page.run(
        "const all = document.querySelectorAll('button, input, [role=button], [tabindex=\"0\"], svg[role], canvas');"
        "return Array.from(all)"
        ".filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)))"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    assert nameless == []


# ── table, heat map, files ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_table_sorts_by_every_kind_of_column(page, result):
    ask.set_slider(page, "0.01")
    heading = "th#column-{} button"
    probabilities = [value.strip("<>") for value in ask.column_texts(page, "probability")]
    assert [float(v) for v in probabilities] == sorted(map(float, probabilities), reverse=True)
    page.one(heading.format("child")).click()
    assert ask.column_texts(page, "child") == sorted(ask.column_texts(page, "child"))
    assert page.one("#column-child").get_attribute("aria-sort") == "ascending"
    page.one(heading.format("child")).click()
    assert ask.column_texts(page, "child") == sorted(ask.column_texts(page, "child"), reverse=True)
    assert page.one("#column-child").get_attribute("aria-sort") == "descending"
    assert page.run("return document.querySelectorAll('[aria-sort]').length") == 1
    for _ in range(2):
        page.one(heading.format("mcse")).click()
        errors = ask.column_texts(page, "mcse")
        known = [float(value.strip("<>")) for value in errors if value != "–"]
        assert errors[-1] == "–"  # what is not known comes last, up or down
        assert errors.index("–") == len(known)
    assert known == sorted(known)
    page.run("document.querySelector('th#column-parent button').focus()")
    page.press("\ue007")
    assert ask.column_texts(page, "parent") == sorted(ask.column_texts(page, "parent"))
    assert len(result.summary()) == len(ask.column_texts(page, "parent"))


def test_csv_has_every_listed_edge(page, result):
    ask.set_slider(page, "0.9")
    header, *cells = ask.saved_table(page)
    rows = [dict(zip(header, row, strict=True)) for row in cells]
    summary = result.summary()
    assert len(rows) == len(summary)
    for row, (_, wanted) in zip(rows, summary.iterrows(), strict=True):
        assert (row["parent"], row["child"]) == (wanted["parent"], wanted["child"])
        assert float(row["probability"]) == pytest.approx(wanted["probability"], abs=1.1e-5)
        assert row["evidence"] == "not converged"  # of a run that disagrees no class is shown
        assert (row["mcse"] == "") == pd.isna(wanted["mcse"])
        chains = [float(row[f"chain_{k}"]) for k in range(1, 5)]
        assert np.mean(chains) == pytest.approx(wanted["probability"], abs=2e-4)
    assert not any("NaN" in cell or "undefined" in cell for row in cells for cell in row)


def test_csv_is_as_careful_as_graphs_are(browser, files):
    page = browser.open(files["formulas"])
    assert {cell for row in ask.saved_table(page)[1:] for cell in row[:2]} == {escaped(name) for name in ask.FORMULAS}


def test_pictures_to_keep(page, result):
    ask.set_slider(page, "0.5")
    page.one("#save-svg").click()
    text = page.downloaded("parnidag-graph.svg")
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    lines = [path for path in root.iter(f"{space}path") if path.get("marker-end")]
    assert len(lines) == len(ask.at_least(result.edge_probabilities, 0.5))
    labels = {text.text for text in root.iter(f"{space}text")}
    assert set(NAMES) <= labels
    assert not any("class" in element.attrib or "style" in element.attrib for element in root.iter())
    assert all(line.get("stroke", "").startswith("#") for line in lines)
    page.one("#save-png").click()
    picture = page.downloaded("parnidag-graph.png")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(picture[16:20]) > 300
    assert len(picture) > 5000


def test_the_heat_map_reads_single_cells(page, result):
    page.run("document.getElementById('heat').focus()")
    page.press("\ue015", "\ue014", "\ue014")
    order = page.run("return JSON.parse(document.getElementById('report-data').textContent).order")
    parent, child = NAMES[order[1]], NAMES[order[3]]
    said = page.one("#heat-reading").text
    assert said.startswith(f"{parent} → {child}")
    probability = result.edge_probabilities.loc[parent, child]
    assert said.splitlines()[1].startswith("below" if probability < 0.01 else f"{probability:.3f}"[:4])
    colours = page.run(
        "const c = document.getElementById('heat');"
        "const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);"
        "return new Set(d).size"
    )
    assert colours > 8
    page.press("\ue007")
    assert page.one("#panel h3").text == f"{parent} and {child}"
    top, height = page.run("return [document.getElementById('panel').getBoundingClientRect().top, window.innerHeight]")
    assert 0 < top < height - 100
    page.press("\ue00c")
    assert not page.one("#panel").is_displayed()


def test_a_small_heat_map_has_names_on_a_phone(browser, files):
    """Left of the cells there is a letter a row, and else nothing; without names the cells would be there."""
    inked = (
        "const c = document.getElementById('heat'); const d = c.getContext('2d').getImageData(0, 0, 15, c.height).data;"
        "return d.filter((value, k) => k % 4 === 3 && value > 200).length"
    )
    page = browser.open(files["exact"], width=375)
    wide = page.run("return document.getElementById('heat').width")
    assert 0 < page.run(inked) < 2 * wide
    assert page.run(
        "return Array.from(document.querySelectorAll('.topbar nav a'), (a) => a.getBoundingClientRect().right)"
        ".every((right) => right <= 375)"
    )
