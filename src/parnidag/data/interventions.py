"""Interventions: in which rows which nodes were set by the experimenter, in every form in which users say so.

An intervention is perfect: where a node was set, its value says nothing about its parents, so its own score must leave
these rows out. All forms become one array of truth values, rows × nodes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Sized
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import did_you_mean, one_line, shorten
from parnidag.data.columns import Column, Mask, number_label
from parnidag.data.reading import as_frame
from parnidag.errors import DataError

NO_TARGET = ("", "none", "obs", "observational", "-")
"""What stands for "nothing was set in this row" in a column of targets, in upper or lower case."""
_FORMS = (
    "give truth values (rows × columns; an array or a data frame), the name of the column that says which node was "
    "set, or {row: name or list of names}"
)


def read_interventions(given: object, names: Sequence[str], n_rows: int, targets: Column | None) -> Mask | None:
    """Read interventions into an array (rows of the table as given × nodes), None if there are none.

    `targets` is the column that they name, if they are given by a name.
    """
    if given is None:
        return None
    if targets is not None:
        mask = _from_targets(str(given), targets, names)
    elif isinstance(given, Mapping):
        mask = _from_mapping(given, names, n_rows)
    else:
        mask = _from_truth_values(given, names, n_rows)
    return mask if mask.any() else None


def read_later(given: object, names: Sequence[str], n_rows: int, kept: Mask | None) -> Mask | None:
    """Read interventions of a table some of whose rows were dropped since; `kept` marks those that were not.

    Rows are counted as in the table as given. Truth values may also be for the rows that are left.
    """
    if kept is None or (not isinstance(given, Mapping) and isinstance(given, Sized) and len(given) == n_rows):
        return read_interventions(given, names, n_rows, None)
    mask = read_interventions(given, names, len(kept), None)
    return mask[kept] if mask is not None and mask[kept].any() else None


def check_interventions(set_rows: NDArray[np.int64], n_rows: int, names: Sequence[str], fewest: int) -> None:
    """Refuse nodes that were set in so many rows that too few are left to learn their parents from."""
    left = n_rows - set_rows
    short = [f"{names[j]} ({left[j]} of {n_rows} rows left)" for j in np.flatnonzero(left < fewest).tolist()]
    if short:
        raise DataError(
            f"interventions: nodes set in too many rows: {shorten(short)}; at least {fewest} in which a node was not "
            "set are needed to learn about its parents"
        )


def group_by_rows(mask: Mask | None, n_nodes: int) -> tuple[NDArray[np.int64], list[Mask | None]]:
    """Group nodes that were set in the same rows: the group of each node, and the rows that each group uses."""
    if mask is None:
        return np.zeros(n_nodes, dtype=np.int64), [None]
    groups: dict[bytes, int] = {}
    pattern = np.array([groups.setdefault(np.packbits(column).tobytes(), len(groups)) for column in mask.T], np.int64)
    first = mask[:, np.unique(pattern, return_index=True)[1]].T
    return pattern, [~column if column.any() else None for column in first]


def _from_targets(name: str, targets: Column, names: Sequence[str]) -> Mask:
    """Read each different text once, then look up the rows."""
    values, coding, _ = targets
    absent = np.isnan(values)
    levels, codes = np.unique(values[~absent], return_inverse=True)
    labels = [coding.labels[int(level)] if coding else number_label(level) for level in levels.tolist()]
    rows_of_levels = np.zeros((len(levels), len(names)), dtype=bool)
    places = {node: j for j, node in enumerate(names)}
    for level, label in enumerate(labels):
        for target in _split(label, places):
            if target not in places:
                raise DataError(
                    f"interventions={name!r}: {one_line(repr(target), 80)} is no node; {did_you_mean(target, names)} "
                    "(rows without a target are empty, or say 'none' or 'obs'; several are separated by ';')"
                )
            rows_of_levels[level, places[target]] = True
    mask = np.zeros((len(values), len(names)), dtype=bool)
    mask[~absent] = rows_of_levels[codes]
    return mask


def _split(text: str, names: Mapping[str, int]) -> list[str]:
    """List the targets that a text names; a text that is itself a name is not split, and a part neither."""
    text = text.strip()
    if text in names:
        return [text]
    if text.casefold() in NO_TARGET:
        return []
    parts = [part.strip() for part in text.split(";")]
    listed = [[part] if part in names else re.split(r"\s*,\s*", part) for part in parts]
    return [target for targets in listed for target in targets if target]


def _from_mapping(given: Mapping[Any, Any], names: Sequence[str], n_rows: int) -> Mask:
    mask = np.zeros((n_rows, len(names)), dtype=bool)
    places = {node: j for j, node in enumerate(names)}
    for row, nodes in given.items():
        if isinstance(row, (bool, np.bool_)) or not isinstance(row, (int, np.integer)) or not 0 <= row < n_rows:
            raise DataError(
                f"interventions: {one_line(repr(row), 80)} is not a row; rows are counted from 0 to {n_rows - 1}, "
                "in the order of the table"
            )
        listed = [nodes] if isinstance(nodes, str) else nodes
        if not isinstance(listed, (list, tuple, set, frozenset)) or not all(isinstance(node, str) for node in listed):
            raise DataError(
                f"interventions: row {row} has {one_line(repr(nodes), 80)}; give the name of a node or a list of names"
            )
        for node in listed:
            if node not in places:
                raise DataError(f"interventions: row {row} has an unknown node {node!r}; {did_you_mean(node, names)}")
            mask[row, places[node]] = True
    return mask


def _from_truth_values(given: object, names: Sequence[str], n_rows: int) -> Mask:
    frame = as_frame(given, "interventions: ")
    if isinstance(frame, nw.DataFrame):
        return _from_frame(frame, names, n_rows)
    try:
        array = np.asarray(given)
    except Exception as error:  # ragged rows, or an object whose own conversion fails
        raise DataError(f"interventions could not be read as an array: {one_line(error)}; {_FORMS}") from error
    if array.ndim == 0:
        raise DataError(f"interventions of type {type(given).__name__} are not known; {_FORMS}")
    if array.shape != (n_rows, len(names)):
        raise DataError(
            f"interventions has shape {array.shape}, but the table has {n_rows} rows and {len(names)} columns; {_FORMS}"
        )
    if np.ma.is_masked(given):
        raise DataError("interventions has masked entries; every row needs True or False for each column")
    return _truth_values(array, "the array")


def _from_frame(frame: nw.DataFrame[Any], names: Sequence[str], n_rows: int) -> Mask:
    """Match the columns by name; nodes that have no column were never set."""
    if len(frame) != n_rows:
        raise DataError(
            f"interventions has {len(frame)} rows, but the table has {n_rows}; a row is matched by position"
        )
    places = {node: j for j, node in enumerate(names)}
    mask = np.zeros((n_rows, len(names)), dtype=bool)
    for name, column in zip(map(str, frame.columns), frame.iter_columns(), strict=True):
        if name not in places:
            raise DataError(f"interventions: its column {name!r} is no node; {did_you_mean(name, names)}")
        mask[:, places[name]] = _truth_values(column.to_numpy(), f"its column {name!r}")
    return mask


def _truth_values(array: NDArray[Any], where: str) -> Mask:
    if array.dtype.kind == "b":
        return np.array(array)
    odd = [value for value in array.ravel().tolist() if not isinstance(value, (bool, np.bool_))]
    if odd:
        raise DataError(
            f"interventions: {where} must hold True and False only, not {one_line(repr(odd[0]), 40)} "
            "(numbers become truth values with == 1)"
        )
    return array.astype(bool)
