"""Reports taken apart, as text and in a browser: what they hold, which edges they show, how well they can be read."""

# ruff: noqa: F811 (a fixture is imported, and named again by the one that takes it)

import csv
import html.parser
import io
import json

import numpy as np
import pytest
from browser import browser  # noqa: F401
from made_results import HOSTILE, exact_result, made_result

from parnidag.report.build import render_report

NAMES = ["rain", "soil_moisture", "sun", "heat", "bees", "flowers", "fruit", "harvest", "compost", "worms"]
FORMULAS = (" =1+1", "'=2", "\uff1d3", "'' @4", "plain", "it's")

SHOWN = """return Array.from(document.querySelectorAll("#graph g.edge"), (edge) =>
    [Number(edge.dataset.parent), Number(edge.dataset.child), edge.dataset.kind,
     edge.querySelector(".line").getAttribute("marker-end") !== null])"""

CLOSEST_OF_A_PAIR = """
const lines = Array.from(document.querySelectorAll("#graph g.edge"), (edge) => {
  const line = edge.querySelector(".line");
  const at = line.getPointAtLength(line.getTotalLength() / 2);
  return { pair: [edge.dataset.parent, edge.dataset.child].sort().join("-"), d: line.getAttribute("d"), at, line };
});
const found = [];
lines.forEach((one, k) => lines.slice(k + 1).filter((other) => other.pair === one.pair).forEach((other) => {
  const length = other.line.getTotalLength();
  const steps = Array.from({ length: 201 }, (_, s) => other.line.getPointAtLength((length * s) / 200));
  found.push(Math.min(...steps.map((p) => Math.hypot(p.x - one.at.x, p.y - one.at.y))));
}));
return [found.length, Math.min(...found, 99)];
"""
"""How many pairs of lines join the same nodes, and how near the middle of one comes to the other, in pixels."""

FOCUS = "const at = document.activeElement; return at.id || at.getAttribute('class') || at.tagName"

LOWEST_CONTRAST = """
function numbers(colour) {
  const found = colour.match(/[\\d.]+/g).map(Number);
  const scale = colour.startsWith("color(") ? 255 : 1;
  return [...found.slice(0, 3).map((value) => value * scale), found.length > 3 ? found[3] : 1];
}
function over(top, bottom) {
  return [0, 1, 2].map((k) => top[k] * top[3] + bottom[k] * (1 - top[3])).concat(1);
}
function ground(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(numbers(getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
}
const light = (colour) => colour.slice(0, 3).map((value) => value / 255)
  .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
  .reduce((sum, value, k) => sum + value * [0.2126, 0.7152, 0.0722][k], 0);
const seen = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const words = walker.currentNode.data.trim();
  if (!words || ["SCRIPT", "STYLE", "NOSCRIPT", "title"].includes(element.tagName)) continue;
  const box = element.getBoundingClientRect();
  if (!box.width || element.closest(".hint, .skip, .visually-hidden, details:not([open])")) continue;
  const style = getComputedStyle(element);
  const ink = numbers(element.namespaceURI.endsWith("svg") ? style.fill : style.color);
  const box_of_node = element.closest(".node") && element.closest(".node").querySelector("rect");
  const paper = box_of_node ? numbers(getComputedStyle(box_of_node).fill) : ground(element);
  const [a, b] = [light(over(ink, paper)), light(paper)];
  seen.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.tagName, words.slice(0, 40)]);
}
return seen.sort((x, y) => x[0] - y[0]).slice(0, 3).concat([[seen.length]]);
"""


class Page(html.parser.HTMLParser):
    """A page taken apart: elements with their attributes, the text outside of scripts, and the scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.styles, self._words, self._open = [], [], [], [], []
        self.feed(text)
        self.text = " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._open.append(tag)
            (self.scripts if tag == "script" else self.styles).append("")

    def handle_endtag(self, tag):
        if self._open and tag == self._open[-1]:
            self._open.pop()

    def handle_data(self, data):
        if not self._open:
            self._words.append(data)
        elif self._open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.styles[-1] += data

    def find(self, tag, **wanted):
        return [at for name, at in self.elements if name == tag and all(at.get(k) == v for k, v in wanted.items())]

    @property
    def data(self):
        def refuse(constant):
            raise AssertionError(f"{constant} is no JSON")

        return json.loads(self.scripts[0], parse_constant=refuse)


def page_of(result, **options):
    return Page(render_report(result, **options))


def set_slider(page, value):
    page.run(
        "const s = document.getElementById('threshold'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input', {bubbles: true}))",
        value,
    )


def shown_edges(page):
    return {(i, j) for i, j, _, _ in page.run(SHOWN)}


def at_least(probabilities, threshold):
    return {tuple(edge) for edge in np.argwhere(np.asarray(probabilities) >= threshold).tolist()}


def column_texts(page, name):
    return page.run(
        "const k = [...document.querySelectorAll('table.edges th')].findIndex((h) => h.id === arguments[0]);"
        "return Array.from(document.querySelectorAll('#rows tr'), (row) => row.cells[k].innerText.trim())",
        f"column-{name}",
    )


def saved_table(page):
    """The rows of the table that the page saves, as text."""
    page.one("#save-csv").click()
    return list(csv.reader(io.StringIO(page.downloaded("parnidag-edges.csv").decode("utf-8-sig"), newline="")))


def overflows(page, width):
    """Is the page wider than its window? A phone widens the window instead, so that is asked too."""
    found, window = page.run("return [document.scrollingElement.scrollWidth, window.innerWidth]")
    return found > width or window != width


@pytest.fixture(scope="module")
def result():
    return made_result(NAMES, draws=100, seed=3, edges=24)


@pytest.fixture(scope="module")
def files(result, tmp_path_factory):
    """Reports of a result, and of others that are odd in one way each."""
    folder = tmp_path_factory.mktemp("reports")
    many = made_result([f"V{k}" for k in range(100)], draws=20, edges=400)
    return {
        "plain": result.report(folder / "plain.html", title="What feeds the harvest"),
        "hostile": made_result(HOSTILE).report(folder / "hostile.html", title=HOSTILE[0]),
        "exact": exact_result(["a", "b", "c", "d"]).report(folder / "exact.html"),
        "pair": made_result(["a", "b"], chains=1).report(folder / "pair.html"),
        "lone": made_result(["a", "b", "c"], edges=0).report(folder / "lone.html"),
        "many": many.report(folder / "many.html"),
        "formulas": made_result(FORMULAS, edges=15).report(folder / "formulas.html"),
    }


@pytest.fixture
def page(browser, files):
    return browser.open(files["plain"])
