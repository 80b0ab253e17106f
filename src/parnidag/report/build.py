"""Put the report together: facts, figures and sentences on a template, scripts and styles inside, in one file."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from parnidag._util.files import write_atomically
from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.report.effects import three_digits
from parnidag.report.facts import as_script, page_data
from parnidag.report.figures import figures
from parnidag.report.names import label, shown_name
from parnidag.report.settings import column_table, reproducing_call, setting_groups
from parnidag.report.time import time_view
from parnidag.report.words import answer, banner, chain_table, readings

if TYPE_CHECKING:
    import os

    from parnidag.results.posterior import Posterior

ROWS_WITHOUT_SCRIPT = 50
"""Rows of the edge table that are there even where no script runs; the scripts begin with as many."""

COLUMN_HEADINGS = {
    "parent": ("Parent", "Where the edge starts"),
    "child": ("Child", "Where the edge ends"),
    "probability": ("Probability", "Share of the posterior that has the edge"),
    "coefficient": ("Direct effect", "Mean coefficient in standard deviations, where the edge is there: + raises"),
    "evidence": (
        "Evidence",
        "included from a Bayes factor of 10, excluded up to 1/10; direction open: joined, but either way; "
        "not converged: chains disagree, so nothing can be said",
    ),
    "mcse": ("± error", "Monte-Carlo standard error of the probability"),
    "ess": ("Eff. draws", "Number of independent graphs that the probability is worth"),
    "rhat": ("R-hat", "Close to 1 when the chains agree"),
    "prior": ("Prior", "Probability of the edge before the data"),
    "bayes_factor": ("Bayes factor", "How many times the data raise the odds of the edge"),
}


def write_report(posterior: Posterior, path: str | os.PathLike[str], title: str | None = None) -> Path:
    return write_atomically(path, render_report(posterior, title), example="report.html")


def render_report(posterior: Posterior, title: str | None = None) -> str:
    """Return the report as text. The same result always gives the same text."""
    if title is not None and not isinstance(title, str):
        raise ParnidagError(f"title: must be a text or None, not {title!r}")
    heading = shown_name(title) if title else "What acts on what?"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    style, script = _read("style.css"), _script()
    template = environment.from_string(_read("template.html.j2"))
    page = template.render(
        **_page(posterior, heading),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )
    return page.rstrip() + "\n"


def _page(posterior: Posterior, heading: str) -> dict[str, Any]:
    settings, diagnostics = posterior.settings, posterior.diagnostics()
    record = posterior.record
    exact = record.exact_probabilities is not None
    data = page_data(posterior, heading)
    names, n = data["nodes"], len(data["nodes"])
    labels = [label(name) for name in names]
    edge_names = [(labels[code // n], labels[code % n]) for code in record.edge_codes.tolist()]
    chain_heads, chain_rows = chain_table(diagnostics)
    column_heads, column_rows = column_table(settings)
    columns = [name for name in data["columns"] if name != "chains"]
    return {
        "title": heading,
        "origin": _origin(settings),
        "version": __version__,
        "answer": answer(
            posterior.edge_probabilities.to_numpy(), settings.get("n_rows"), (settings.get("data") or {}).get("panel")
        ),
        "banner": banner(posterior),
        "exact": exact,
        "drawn": bool(record.graph_index.size),
        "data": data,
        "data_script": Markup(as_script(data)),
        "columns": [(name, *COLUMN_HEADINGS[name]) for name in columns],
        "rows": [dict(zip(data["columns"], row, strict=True)) for row in data["edges"][:ROWS_WITHOUT_SCRIPT]],
        "time": time_view(posterior),
        "number": three_digits,
        "figures": [(figure, Markup(figure.svg)) for figure in figures(record, edge_names)],
        "readings": readings(diagnostics, len(record.batch_iterations)),
        "chain_heads": chain_heads,
        "chain_rows": chain_rows,
        "settings": setting_groups(settings, exact, posterior.log_evidence),
        "column_heads": column_heads,
        "column_rows": column_rows,
        "call": reproducing_call(settings, exact),
    }


def _origin(settings: dict[str, Any]) -> str:
    """Name the file of the table and the day of the run, as far as the result knows them."""
    source = settings.get("source")
    return ", ".join(str(part) for part in (source and shown_name(str(source)), settings.get("date")) if part)


@cache
def _read(name: str) -> str:
    return resources.files("parnidag.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Return all scripts as one, in the order of their names, in a scope of their own."""
    folder = resources.files("parnidag.report").joinpath("js")
    parts = sorted((part for part in folder.iterdir() if part.name.endswith(".js")), key=lambda part: part.name)
    bodies = [part.read_text(encoding="utf-8") for part in parts]
    return '(() => {\n"use strict";\n' + "\n".join(bodies) + "})();\n"


def _hash(text: str) -> str:
    """Return the hash by which the page's security policy knows its own script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
