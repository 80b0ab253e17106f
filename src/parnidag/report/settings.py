"""What was run, for the page: settings in words, the columns of the data, and the call that gives the result again."""

from __future__ import annotations

from typing import Any

from parnidag._util.text import name_and_options, short_number
from parnidag._version import __version__
from parnidag.results.learned import learned_in_words

MOST_COLUMNS = 400
MOST_LISTED = 40

OWN_SCORES = ("PythonScore", "Compiled")
"""Scores that are functions of the user's, which settings cannot hold."""

Rows = list[tuple[str, str]]


def setting_groups(settings: dict[str, Any], exact: bool, log_evidence: float | None) -> list[tuple[str, Rows]]:
    prior = dict(settings.get("prior") or {})
    groups = [
        ("Data", _data_rows(settings)),
        (
            "Model",
            [
                ("score", name_and_options(settings.get("score"))),
                *_prior_rows(prior),
                ("learned", learned_in_words(settings)),
            ],
        ),
        ("Run", _run_rows(settings, exact, log_evidence)),
        ("Versions and times", _version_rows(settings)),
    ]
    return [(heading, [(name, value) for name, value in rows if value]) for heading, rows in groups]


def _data_rows(settings: dict[str, Any]) -> Rows:
    data = dict(settings.get("data") or {})
    rows = settings.get("n_rows", data.get("rows"))
    set_rows = dict(settings.get("interventions") or {})
    return [
        ("rows", "" if rows is None else f"{rows:,}"),
        ("dropped rows", f"{data['dropped_rows']:,}" if data.get("dropped_rows") else ""),
        ("columns", f"{len(data['columns']):,}" if data.get("columns") else ""),
        ("kind", str(data.get("kind", ""))),
        ("taken for", str(data.get("taken_for", ""))),
        *(("note", line) for line in list(data.get("doubts") or [])[:MOST_LISTED]),
        (
            "set by experiment",
            ", ".join(f"{name} in {count} rows" for name, count in list(set_rows.items())[:MOST_LISTED]),
        ),
    ]


def _prior_rows(prior: dict[str, Any]) -> Rows:
    if not prior:
        return []
    counts = {
        "required edges": prior.get("required_edges"),
        "forbidden edges": prior.get("forbidden_edges"),
        "forbidden by tiers": prior.get("forbidden_by_tiers"),
        "edges with odds of their own": prior.get("log_odds_edges"),
    }
    return [
        ("edge prior h", _odds_in_words(prior.get("h"))),
        ("regulators", f"{prior['regulators']:g}" if "regulators" in prior else ""),
        ("most parents", str(prior.get("max_parents", ""))),
        *((name, f"{count:,}" if count else "") for name, count in counts.items()),
    ]


def _odds_in_words(h: Any) -> str:
    if isinstance(h, dict):
        return f"learned, Beta({', '.join(f'{x:g}' for x in h['beta'])})"
    return "" if h is None else f"{h:.4g}"


def _run_rows(settings: dict[str, Any], exact: bool, log_evidence: float | None) -> Rows:
    def whole(name: str) -> str:
        value = settings.get(name)
        return f"{value:,}" if isinstance(value, int) else ""

    if exact:
        drawn = int(settings.get("draws") or 0) * int(settings.get("chains") or 1)
        number: Rows = [("independent draws", f"{drawn:,}" if drawn else "")]
    else:
        number = [("chains", whole("chains")), ("draws per chain", whole("draws"))]
    return [
        ("method", "exact sum over all graphs" if exact else "Markov chain Monte Carlo"),
        ("log evidence", "" if log_evidence is None else f"{log_evidence:,.4f}".replace("-", "−")),
        ("sampler", name_and_options(settings.get("sampler"))),
        *number,
        ("iterations between draws", whole("thin")),
        ("tuning iterations", whole("tune")),
        (
            "start",
            {"searched": "each chain its own search", "given": "given graphs"}.get(str(settings.get("start")), ""),
        ),
        ("interrupted", "yes: the figures are for the part that was done" if settings.get("interrupted") else ""),
        ("seed", str(settings.get("seed", ""))),
    ]


def _version_rows(settings: dict[str, Any]) -> Rows:
    made = str(settings.get("version", ""))
    timings = dict(settings.get("timings") or {})
    others = dict(settings.get("versions") or {})
    return [
        ("parnidag", made),
        *((str(name), str(value)) for name, value in others.items() if name != "parnidag"),
        ("report written by", __version__ if made != __version__ else ""),
        *((str(stage), _seconds(float(seconds))) for stage, seconds in timings.items()),
    ]


def _seconds(value: float) -> str:
    if value >= 120:
        return f"{value / 60:.1f} min"
    return f"{short_number(value)} s" if value >= 0.001 else "<0.001 s"


def column_table(settings: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    columns = list(dict(settings.get("data") or {}).get("columns") or [])
    keys = list(dict.fromkeys(key for column in columns for key in column))
    rows = [[_cell(column.get(key)) for key in keys] for column in columns[:MOST_COLUMNS]]
    return [key.replace("_", " ") for key in keys], rows


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def reproducing_call(settings: dict[str, Any], exact: bool) -> str:
    """Write the Python that gives the same result from the same data."""
    lines = [_data_line(settings)]
    score = dict(settings.get("score") or {})
    if score.get("name") in OWN_SCORES:
        lines.append(f"    score=...,  # your own function {score.get('function')}")
    elif score:
        lines.append(f"    score=scores.{_made(score)},")
    prior = _prior_call(dict(settings.get("prior") or {}))
    lines += prior
    sampler = dict(settings.get("sampler") or {})
    by_default = settings.keys() & {"ladders_after", "longer_after"} != set()  # and only by default
    if sampler and not by_default:
        lines.append(f"    sampler=samplers.{_made(sampler)},")
    space = dict(settings.get("space") or {})
    if space.get("given"):
        lines.append("    space=...,  # the search space that was given")
    elif "given" not in space and space:
        lines.append("    # and space=..., if a search space was given")
    if settings.get("start") == "given":
        lines.append("    start=...,  # the graphs that the chains started from")
    function = "exact" if exact and (settings.get("chains") or 1) == 1 else "sample"
    names = ["draws", "tune", "thin", "chains", "seed"]
    if function == "exact" or by_default:
        names = ["draws", *["chains"] * by_default, "seed"]
    lines += [f"    {name}={settings[name]!r}," for name in names if settings.get(name) is not None]
    written = "".join(lines)
    used = [("EdgePrior", bool(prior)), ("samplers", "samplers." in written), ("scores", "scores." in written)]
    imported = [name for name, needed in used if needed]
    head = ["import parnidag", *([f"from parnidag import {', '.join(imported)}"] if imported else []), ""]
    return "\n".join([*head, f"posterior = parnidag.{function}(", *lines, ")"])


def _data_line(settings: dict[str, Any]) -> str:
    data = dict(settings.get("data") or {})
    given = ['"data.csv"']
    past = data.get("panel")
    if past is not None:
        given += [f"{name}={past[name]!r}" for name in ("time", "unit") if past[name] is not None]
        given += [f"lags={past['lags']}", *([f"static={past['static']!r}"] if past["static"] else [])]
        given += [f"{name}={past[name]!r}" for name in ("within", "autoregression") if past[name] != "allowed"]
    if data.get("kind"):
        given.append(f'kind="{data["kind"]}"')
    if data.get("kinds_told"):
        given.append(f"kinds={data['kinds_told']!r}")
    if (
        past is None
        and data.get("dropped_rows")
        and not any(column.get("empty") for column in data.get("columns") or [])
    ):
        given.append('missing="drop"')
    table = f"parnidag.{'Data' if past is None else 'Panel'}({', '.join(given)})" if len(given) > 1 else given[0]
    return f"    {table}," + ("  # with the same interventions" if settings.get("interventions") else "")


def _made(described: dict[str, Any]) -> str:
    options = [f"{name}={value!r}" for name, value in described.items() if name != "name" and value is not None]
    return f"{described.get('name')}({', '.join(options)})"


def _prior_call(prior: dict[str, Any]) -> list[str]:
    """Return the lines of the prior; what settings do not hold is said in a comment."""
    if not prior:
        return []
    h = prior.get("h")
    options = [f"h=Beta({', '.join(f'{x:g}' for x in h['beta'])})" if isinstance(h, dict) else f"h={h!r}"] if h else []
    notes = []
    for name in ("forbidden", "required"):
        edges = [tuple(edge) for edge in prior.get(name) or []]
        if edges and len(edges) == prior.get(f"{name}_edges", len(edges)) and len(edges) <= MOST_LISTED:
            options.append(f"{name}={edges!r}")
        elif edges:
            notes.append(f"the same {prior.get(f'{name}_edges', len(edges))} {name} edges")
    if prior.get("regulators") is not None:
        options.append(f"regulators={prior['regulators']!r}")
    if prior.get("tiers"):
        options.append(f"tiers={[list(tier) for tier in prior['tiers']]!r}")
    if prior.get("max_parents") is not None:
        options.append(f"max_parents={prior['max_parents']!r}")
    if prior.get("log_odds_edges"):
        notes.append(f"the same log_odds of {prior['log_odds_edges']} edges")
    return [f"    prior=EdgePrior({', '.join(options)}),{'  # and ' + ', '.join(notes) if notes else ''}"]
