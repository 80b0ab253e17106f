"""Are the settings of a result, read from a file, what the tables, words and reports made of them expect?

Results say what was run in a mapping of their own, which grows with every version: what is not known here is let pass,
what is known must have its kind. So nothing that reads settings has to ask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from parnidag.errors import ParnidagError

MOST_DEPTH = 16
"""Settings nested deeper than this are no settings; and writing them again would exhaust the stack."""
MOST_WHOLE = 2**63
MOST_SIZE = 1e100
Test = Callable[[Any], bool]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_WHOLE


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST_SIZE


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _list_of(test: Test) -> Test:
    return lambda value: isinstance(value, list) and all(map(test, value))


def _mapping_of(test: Test) -> Test:
    return lambda value: isinstance(value, Mapping) and all(map(test, value.values()))


def _mapping_with(known: dict[str, Test], *needed: str) -> Test:
    """Return a test for mappings with some entries of known kinds, None for what does not apply."""

    def test(value: Any) -> bool:
        if not isinstance(value, Mapping) or any(value.get(name) is None for name in needed):
            return False
        return all(value.get(name) is None or fits(value[name]) for name, fits in known.items())

    return test


_EDGES = _list_of(lambda edge: isinstance(edge, list) and len(edge) == 2)
_NAMED = _mapping_with({"name": _is_text})
_KNOWN: dict[str, Test] = {
    **dict.fromkeys(("version", "method", "start", "stopped_by"), _is_text),
    **dict.fromkeys(("draws", "tune", "thin", "chains", "n_rows"), _is_whole),
    "seed": lambda value: isinstance(value, int) and not isinstance(value, bool),
    **dict.fromkeys(("interrupted", "restricted"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(("caveats", "alternatives"), _list_of(_is_text)),
    "versions": _mapping_of(_is_text),
    "timings": _mapping_of(_is_number),
    "move_costs": _mapping_of(_is_number),
    "interventions": _mapping_of(_is_whole),
    "sampler": _NAMED,
    "score": _NAMED,
    "prior": _mapping_with(
        {
            "h": lambda value: _is_number(value) and math.isfinite(value),
            "max_parents": _is_whole,
            **dict.fromkeys(("required_edges", "forbidden_edges", "forbidden_by_tiers", "log_odds_edges"), _is_whole),
            "required": _EDGES,
            "forbidden": _EDGES,
            "tiers": _list_of(lambda tier: isinstance(tier, list)),
        }
    ),
    "data": _mapping_with(
        {"rows": _is_whole, "dropped_rows": _is_whole, "kind": _is_text, "columns": _list_of(_is_mapping)}
    ),
}


def refuse_unsound_settings(settings: Any, n_nodes: int) -> None:
    """Refuse settings that are no mapping, too deep, or of which something known has the wrong kind."""
    if not isinstance(settings, Mapping):
        raise ParnidagError("its settings are no mapping")
    if _is_deeper(settings, MOST_DEPTH):
        raise ParnidagError(f"its settings are nested more than {MOST_DEPTH} times")
    known = {**_KNOWN, "space": _space_test(n_nodes)}
    for name, fits in known.items():
        if settings.get(name) is not None and not fits(settings[name]):
            raise ParnidagError(f"its settings have something impossible as {name}")


def _space_test(n_nodes: int) -> Test:
    """Return a test for what `SearchSpace.describe` writes."""
    codes = _list_of(lambda code: _is_whole(code) and code < n_nodes * n_nodes)
    rounds = _list_of(lambda one: isinstance(one, list) and len(one) == 3 and all(map(_is_number, one)))
    known = {"edges": codes, "best": codes, "log_posterior": _is_number, "rounds": rounds, "seconds": _is_number}
    return _mapping_with(known, "edges")


def _is_deeper(value: Any, most: int) -> bool:
    """Is something nested more than `most` times? Asked level by level, never by recursion."""
    level = [value]
    for _ in range(most):
        inner = [one.values() if isinstance(one, Mapping) else one for one in level if isinstance(one, Mapping | list)]
        level = [item for items in inner for item in items]
    return bool(level)
