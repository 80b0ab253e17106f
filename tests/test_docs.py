"""The pages in docs/: what they show runs, the site builds without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import ast
import csv
import functools
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pandas as pd
import pytest
from browser import browser  # noqa: F401
from cyclopts import CycloptsError

import parnidag

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
OUTSIDE = ("http:", "https:", "//")
LOADING = {
    "img": ("src", "srcset"),
    "script": ("src",),
    "link": ("href",),
    "source": ("src", "srcset"),
    "iframe": ("src",),
}
"""Which attributes of which tags make a browser fetch something."""

needs_sphinx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sphinx", "furo", "myst_nb")),
    reason="the site needs pip install '.[docs]'",
)


# ── what pages show ───────────────────────────────────────────────────────────────────────────────────────────────────


def python_blocks(page):
    """The blocks that a page shows without running them itself."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


SHOWING = [page for page in PAGES if python_blocks(page)]


def write_proteins(path, rng):
    """Write a table of the form of the protein data, which are not ours to ship."""
    proteins = ["Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk"]
    levels = pd.DataFrame(rng.integers(1, 4, size=(300, len(proteins))), columns=proteins)
    levels.assign(INT=np.repeat([0, 8], 150)).to_csv(path, sep=" ", index=False)


@pytest.fixture
def names(tmp_path, monkeypatch):
    """What blocks take for granted: a table in the present folder, and runs that do not take long."""
    rng = np.random.default_rng(1)
    write_proteins(tmp_path / "sachs.interventional.txt", rng)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["x", "y", "z"]).cumsum(axis=1)
    mask = np.zeros(table.shape, bool)
    mask[:20, 0] = True
    table.to_csv(tmp_path / "data.csv", index=False)
    table.assign(target=np.where(mask[:, 0], "x", "none")).to_csv(tmp_path / "experiments.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parnidag, "sample", functools.partial(parnidag.sample, draws=10, thin=20, progress=False))
    return {"np": np, "parnidag": parnidag, "table": table}


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.stem)
def test_python_blocks_run(page, names):
    assert {page.stem for page in SHOWING} >= {"index", "which-score"}
    for block in python_blocks(page):
        exec(block, names)


def shell_lines(page):
    """The command lines that a page shows, each whole."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return "\n".join(blocks).replace("\\\n", " ").splitlines()


def check_command(line):
    """Let the command line read a line, options and all, without running it."""
    from parnidag.cli.app import app

    words = shlex.split(line, comments=True)
    app.parse_args(words[1:], exit_on_error=False, print_error=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_exist(page):
    for line in shell_lines(page):
        words = line.split()
        if words[:1] == ["parnidag"]:
            check_command(line)
        if words[:2] == ["python", "-m"]:
            assert importlib.util.find_spec(words[2]) is not None, line


@pytest.mark.parametrize(
    "line",
    [
        "parnidag sample data.csv --invented 3",
        "parnidag sample data.csv --draws many",
        "parnidag simulate --nodes 5",
        "parnidag guess data.csv",
        "parnidag sample data.csv --sampler invented",
    ],
)
def test_invented_commands_would_be_noticed(line):
    assert sum(line.startswith("parnidag ") for page in PAGES for line in shell_lines(page)) >= 3
    with pytest.raises(CycloptsError):
        check_command(line)


def missing_benchmarks(text):
    """The benchmarks that a text names by their command and that do not exist: modules, and studies of the harness."""
    from benchmarks.studies import STUDIES

    text = " ".join(text.split())  # a command may be broken at the end of a line
    modules = set(re.findall(r"python -m benchmarks\.(\w+)", text))
    studies = set(re.findall(r"python -m benchmarks (\w+)", text))
    lost = [module for module in modules if not (ROOT / "benchmarks" / f"{module}.py").exists()]
    return sorted(lost) + sorted(studies - {*STUDIES, "all"}), modules | studies


@pytest.mark.parametrize("page", [*PAGES, *DOCS.glob("adr/*.md"), ROOT / "README.md"], ids=lambda page: page.stem)
def test_benchmark_commands_exist(page):
    lost, named = missing_benchmarks(page.read_text(encoding="utf-8"))
    assert lost == []
    at_least = (DOCS / "benchmarks.md", DOCS / "all-studies.md", DOCS / "proof.md", ROOT / "README.md")
    assert "speed" in named or page not in at_least


def test_invented_benchmarks_would_be_noticed():
    text = (
        "`python -m benchmarks.invented`, `python -m\nbenchmarks guessed --scale quick`, `python -m benchmarks speed`"
    )
    assert missing_benchmarks(text)[0] == ["invented", "guessed"]


@pytest.mark.parametrize(("page", "least"), [(ROOT / "README.md", 3), (DOCS / "proof.md", 7)], ids=["README", "proof"])
def test_speeds_are_those_of_the_kept_run(page, least):
    """The same figures twice must stay the same figures."""
    text = page.read_text(encoding="utf-8")
    table = text[text.index("| sampler | data | parnidag | peer |") :].split("\n\n")[0].splitlines()[2:]
    kept = (DOCS / "results" / "speed-standard.md").read_text(encoding="utf-8").splitlines()
    assert len(table) >= least
    for row in table:
        _, data, speed, peer = (cell.strip() for cell in row.strip("|").split("|"))
        assert any(speed in line and data.split(",")[0] in line and peer in line for line in kept), row


def docs_script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_benchmarks_show_the_results_that_are_kept():
    """Tables of studies are copied into the page by a script, and nobody edits them there."""
    tables = docs_script("make_benchmark_tables")
    page = (DOCS / "all-studies.md").read_text(encoding="utf-8")
    names = [place["name"] for place in tables.PLACE.finditer(page)]
    assert names
    assert page.count("<!-- results:") == len(names)
    assert tables.filled(page) == page, "python docs/make_benchmark_tables.py"
    for name in names:
        assert f"python -m benchmarks {name.partition('-')[0]}" in page, name
        assert not (DOCS / "results" / f"{name}.svg").exists() or f"results/{name}.svg" in page, name


LABELS = (
    "network",
    "case",
    "rows",
    "replication",
    "method",
    "setting",
    "sweep",
    "value",
    "data",
    "sampler",
    "skeleton",
    "family",
    "shape",
    "length",
)


def value_of(text):
    """A number of a kept line, or a word such as the name of a score."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def kept_lines(file):
    """The runs behind a kept table. An empty cell is a figure that was not asked for, or a cost too high to measure."""
    from benchmarks.harness.task import Outcome, Task

    with file.open(newline="", encoding="utf-8") as opened:
        for row in csv.DictReader(opened):
            labels = {key: ast.literal_eval(row[key]) if key == "value" else row[key] for key in LABELS if key in row}
            named = {*LABELS, "status", "note"}
            figures = {key: value_of(text) for key, text in row.items() if text and key not in named}
            figures |= {key: None for key, text in row.items() if not text and key.startswith("seconds_a_draw")}
            yield Task("", {}, labels), Outcome(row["status"], figures, note=row["note"])


@pytest.mark.parametrize("file", sorted((DOCS / "results").glob("*.csv")), ids=lambda file: file.stem)
def test_kept_tables_are_those_of_the_kept_runs(file):
    """Reports are made again from the lines of their runs; where that needs arrays that are not kept, their tables."""
    from benchmarks.harness.study import Request
    from benchmarks.studies import STUDIES, mse, skeletons, table1, table2

    name, _, scale = file.stem.partition("-")
    found, study = list(kept_lines(file)), STUDIES[name]
    said = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    names = ("methods", "seconds", "replications", "seed")
    request = Request(scale, **{name: said[name] for name in names})
    kept = file.with_suffix(".md").read_text(encoding="utf-8").rstrip("\n")
    seconds = request.seconds or getattr(study.sizes[scale], "seconds", None)
    if name == "table1":
        assert mse.error_table(found, ["method"], [""], seconds, table1.name, table1.published) in kept
    elif name in ("table2", "skeletons"):
        home = {"table2": table2, "skeletons": skeletons}[name]
        assert mse.error_table(found, home.LABELS, ["", "skeleton"], seconds, home.name, home.published) in kept
    else:
        assert study.report(request, study.sizes[scale], found).markdown + request.in_words() == kept


def test_the_figure_of_mixing_is_up_to_date(tmp_path, monkeypatch):
    """It is drawn from the table of decision 10; whoever changes the table draws it again."""
    monkeypatch.syspath_prepend(DOCS)
    docs_script("make_benchmark_figures").draw_mixing(tmp_path)
    kept = DOCS / "figures" / "mixing.svg"
    assert (tmp_path / "mixing.svg").read_text() == kept.read_text(), "make_benchmark_figures.py"


# ── the site ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Page(HTMLParser):
    """What a page loads, where it leads, and the places in it that can be led to."""

    def __init__(self, path):
        super().__init__()
        self.path, self.loads, self.links, self.places = path, [], [], {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.places |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "link" and attributes.get("rel") in ("canonical", "search", "next", "prev", "index"):
            self.links.append(attributes["href"])
        else:
            self.loads += [attributes[name] for name in LOADING.get(tag, ()) if attributes.get(name)]
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site, built as a reader would build it."""
    folder = tmp_path_factory.mktemp("site")
    strict = ["-W", "--keep-going", "-q"]
    command = [sys.executable, "-m", "sphinx", *strict, "-b", "html", str(DOCS), str(folder / "html")]
    environment = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


@needs_sphinx
def test_every_page_is_in_the_site(site):
    for page in PAGES:
        assert (site / f"{page.stem}.html").exists()
    assert len(list((site / "adr").glob("00*.html"))) == len(list((DOCS / "adr").glob("0*.md")))


def loads_outside(folder):
    """Addresses elsewhere that pages or style sheets fetch something from."""
    found = [load for path in folder.rglob("*.html") for load in Page(path).loads]
    for sheet in folder.rglob("*.css"):
        wanted = re.findall(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""", sheet.read_text(encoding="utf-8"))
        found += [address for pair in wanted for address in pair]
    return [address for address in found if address.startswith(OUTSIDE)]


def dead_links(folder):
    """Links within the site whose file, or place in a file, does not exist."""
    pages = {path.resolve(): Page(path) for path in folder.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            if link.startswith((*OUTSIDE, "mailto:", "data:", "javascript:")):
                continue
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = target not in pages or unquote(parts.fragment) in pages[target].places
            if not (target.exists() and known):
                dead.append(f"{path.name}: {link}")
    return dead


def test_a_bad_site_is_found_out(tmp_path):
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="//cdn.example/a.css"><script src="https://cdn.example/b.js"></script>'
        '<img src="missing.png"><a href="https://fine.example/">out</a>'
        '<a href="other.html#here">good</a><a href="other.html#gone">dead</a><a href="#nowhere">dead</a>'
    )
    (tmp_path / "other.html").write_text('<p id="here">')
    (tmp_path / "style.css").write_text(
        "@import 'https://cdn.example/c.css'; p {background: url(http://cdn.example/d)}"
    )
    assert [address[-5:] for address in loads_outside(tmp_path)] == ["a.css", "/b.js", "c.css", "ple/d"]
    assert [link.split()[1] for link in dead_links(tmp_path)] == ["other.html#gone", "#nowhere", "missing.png"]


@needs_sphinx
def test_pages_load_nothing_from_elsewhere(site):
    assert loads_outside(site) == []


@needs_sphinx
def test_links_lead_somewhere(site):
    assert dead_links(site) == []


@needs_sphinx
def test_pages_with_cells_were_executed(site):
    """A page that shows code cells shows what they answered, and no error among it."""
    for page in PAGES:
        if "{code-cell}" in page.read_text(encoding="utf-8"):
            text = (site / f"{page.stem}.html").read_text(encoding="utf-8")
            assert "cell_output" in text
            assert "Traceback" not in text


@needs_sphinx
@pytest.mark.parametrize("name", ["index", "how-it-works", "trust", "coming-from"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_pages_in_a_browser(site, browser, name, dark, width):  # noqa: F811
    page = browser.open(site / f"{name}.html", width=width, dark=dark)
    assert page.run("return document.documentElement.scrollWidth") <= width
    ground = page.run("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", ground)[:3])) / 3
    assert brightness < 60 if dark else brightness > 200
    broken = page.run("return [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
    assert broken == []
    assert page.complaints() == []
    assert page.requests_outside() == []
