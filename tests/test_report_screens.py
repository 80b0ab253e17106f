"""The report on every screen and on paper, in a real browser: nothing overflows, complains, or leaves the page."""

# ruff: noqa: F401, F811 (fixtures are imported, and named again by the tests that take them)

import xml.etree.ElementTree as ElementTree

import pytest
import report_pages as ask
from made_results import HOSTILE
from report_pages import browser, files, page, result

from parnidag.report.names import shown_name

# ── every page, on every screen ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["plain", "hostile", "exact", "pair", "lone", "many"])
def test_no_overflow_no_complaint_no_request(browser, files, name):
    for width, dark in ((375, False), (1280, True)):
        page = browser.open(files[name], width=width, dark=dark)
        assert page.run("return document.documentElement.dataset.ready") == "yes"
        assert not ask.overflows(page, width)
        assert page.complaints() == []
        assert page.requests_outside() == []


def test_hostile_names_stay_text(browser, files):
    page = browser.open(files["hostile"])
    names = [shown_name(name) for name in HOSTILE]
    assert page.run("return window.hacked === undefined")
    assert page.run("return document.querySelectorAll('img, iframe, script:not([type])').length") == 1
    assert page.driver.title == f"{HOSTILE[0]} · parnidag report"
    assert page.one("h1").text == HOSTILE[0]
    ask.set_slider(page, "0.01")
    for node in range(len(names)):
        page.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", page.all(".node")[node])
        assert page.run("return document.querySelector('#panel h3').textContent") == names[node]
    page.run("document.querySelector('#panel li button').click()")
    page.one("#search").send_keys("<script>")
    assert page.run("return document.querySelectorAll('.node.match').length") == 2
    page.one("#search").clear()
    page.one("#save-svg").click()
    drawing = ElementTree.fromstring(page.downloaded("parnidag-graph.svg"))
    titles = {title.text for title in drawing.iter("{http://www.w3.org/2000/svg}title")}
    assert set(names) <= titles
    cells = {cell for row in ask.saved_table(page)[1:] for cell in row[:2]}
    assert {"'=1+1", "a'b"} <= cells
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    assert page.run("return window.hacked === undefined")
    assert page.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["plain", "pair"])
def test_text_can_be_read_in_light_and_dark(browser, files, name, dark):
    page = browser.open(files[name], dark=dark)
    background = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) == dark
    *worst, [count] = page.run(ask.LOWEST_CONTRAST)
    assert count > 100
    assert worst[0][0] >= 4.5, worst


def test_the_theme_can_be_switched(page):
    def brightness():
        return sum(map(int, page.run("return getComputedStyle(document.body).backgroundColor")[4:-1].split(",")))

    assert brightness() > 600
    assert page.one("#theme").text == "Dark"
    page.one("#theme").click()
    assert brightness() < 200
    assert page.run(ask.LOWEST_CONTRAST)[0][0] >= 4.5
    page.one("#theme").click()
    assert brightness() > 600


def test_on_paper_it_is_light_whole_and_without_controls(page):
    page.one("#theme").click()
    page.one("#zoom-in").click()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        page.run("window.dispatchEvent(new Event('beforeprint'))")
        assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        for selector in (".controls", ".topbar", "#save-csv", "#zoom-in"):
            assert not page.one(selector).is_displayed()
        frame, boxes = page.run(
            "return [document.getElementById('graph').getBoundingClientRect().toJSON(),"
            "Array.from(document.querySelectorAll('.node rect'), (r) => r.getBoundingClientRect().toJSON())]"
        )
        assert all(frame["left"] <= box["left"] and box["right"] <= frame["right"] for box in boxes)
        assert all(frame["top"] <= box["top"] and box["bottom"] <= frame["bottom"] for box in boxes)
        assert page.one("#rows-count").is_displayed()
        assert page.run("return document.querySelectorAll('details:not([open])').length") == 0
        page.run("window.dispatchEvent(new Event('afterprint'))")
        assert page.run("return document.querySelectorAll('details[open]').length") == 0
    finally:
        page.emulate()
    assert page.run("return document.documentElement.dataset.theme") == "dark"


def test_paper_is_narrow(browser, files):
    """Browsers lay the page out again for the paper, after telling scripts: the window is suddenly narrower."""
    page = browser.open(files["plain"])
    try:
        page.run("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate(width=720)
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        page.driver.set_script_timeout(10)
        page.driver.execute_async_script("setTimeout(arguments[0], 300)")
        frame, table, card, boxes = page.run(
            "const box = (e) => e.getBoundingClientRect().toJSON();"
            "return [box(document.getElementById('graph')), box(document.querySelector('table.edges')),"
            "box(document.querySelector('table.edges').closest('.card')),"
            "Array.from(document.querySelectorAll('.node rect'), box)]"
        )
        assert table["right"] <= card["right"] <= 720
        assert all(frame["left"] <= box["left"] and box["right"] <= frame["right"] for box in boxes)
        assert all(frame["top"] <= box["top"] and box["bottom"] <= frame["bottom"] for box in boxes)
    finally:
        page.emulate()


def test_many_edges_come_in_pages(browser, files):
    page = browser.open(files["many"])
    ask.set_slider(page, "0.01")
    assert page.run("return document.querySelectorAll('#rows tr').length") == 50
    page.one("#rows-more").click()
    assert page.run("return document.querySelectorAll('#rows tr').length") == 300
    shown = page.run("return document.querySelectorAll('#graph g.edge').length")
    listed = page.run("return JSON.parse(document.getElementById('report-data').textContent).edges.length")
    assert shown == listed > 300


def test_without_scripts_it_can_be_read(browser, files):
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page = browser.open(files["plain"])
        text = page.one("body").text
        for words in ("Scripts are off", "The edges", "soil_moisture", "Can I trust it?", "How it was made"):
            assert words in text
        assert "Least probability" not in text
        assert "Heat map of" not in text
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_checks_above_would_notice(browser, tmp_path):
    """A page that does everything wrong: too wide, too pale, noisy, and asking the network."""
    wrong = tmp_path / "wrong.html"
    wrong.write_text(
        '<!DOCTYPE html><meta name="viewport" content="width=device-width"><body>'
        '<p style="width:900px;color:#999">pale</p><img src="http://127.0.0.1:9/spy.png" alt="">'
        '<iframe src="data:text/html,<img src=http://127.0.0.1:9/framed.png>"></iframe>'
        '<script>console.error("trouble")</script>',
        encoding="utf-8",
    )
    page = browser.open(wrong, width=375)
    assert ask.overflows(page, 375)
    assert page.run(ask.LOWEST_CONTRAST)[0][0] < 4.5
    assert any("trouble" in line for line in page.complaints())
    page.driver.get("chrome://version")  # what the browser loads for itself is none of the page's doing
    assert sorted(page.requests_outside()) == ["http://127.0.0.1:9/framed.png", "http://127.0.0.1:9/spy.png"]


def test_even_a_script_inside_could_send_nothing(page):
    page.driver.set_script_timeout(10)
    sent = page.driver.execute_async_script(
        "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('sent'), () => done('refused'))"
    )
    assert sent == "refused"
    assert any("Content Security Policy" in line for line in page.complaints())
    page.run("const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s)")
    assert page.run("return window.hacked === undefined")
