"""The data of a problem: named columns that can be scored, as numbers or levels, and which of them were set where.

Everything a user can get wrong with the contents of a table is refused here (and with its form in `reading.py`), with a
`DataError` that names the columns, so that the rest of the library can trust its numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.data.columns import Coding
from parnidag.data.describing import as_html, describe_levels, describe_numbers
from parnidag.data.gram import (
    Spread,
    Standardised,
    row_blocks,
    scaled,
    spread_of,
    standard_values,
    standardise,
    unscaled,
)
from parnidag.data.interventions import check_interventions, group_by_rows, read_interventions
from parnidag.data.levels import KINDS, Levels, decide_kind, forget_unseen, make_levels, refuse_coded
from parnidag.data.reading import read_table, refuse_names
from parnidag.errors import DataError
from parnidag.wording import shorten

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_FEWEST_ROWS = 3
_MISSING = ("raise", "drop")


class Data:
    """A table, checked and ready to be scored.

    Parameters
    ----------
    table
        A pandas or polars data frame, a pyarrow table, a 2-D array or nested sequence (rows × columns), the path of a
        ``.csv``, ``.tsv``, ``.txt`` or ``.parquet`` file, or another `Data`. Columns are the nodes of the graphs.
    missing
        ``"raise"`` (default) refuses missing values (NaN or null); ``"drop"`` leaves out every row that has one.
    names
        Column names for an array; X0, X1, … by default. Every other table brings its own.
    kind
        ``"continuous"`` (measurements) or ``"discrete"`` (classes). By default a table is discrete if a column holds
        text, truth values or categories, or if all columns hold whole numbers with at most 10 different values each.
    interventions
        In which rows which columns were set by the experimenter, rather than observed. Truth values (rows × columns of
        the table; an array, or a data frame whose columns are matched by name, and those it lacks were never set);
        or the name of a column, then no node, that names the node that was set in each row (several separated by ";"
        or ","; empty, "none", "obs", "observational" or "-" if none was); or ``{row: name or list of names}``, with
        rows counted from 0. A `Data` that has no interventions yet takes the first and the last form.

    Attributes
    ----------
    names : tuple of str
        Column names, in the order of the table.
    values : array (rows, columns) of float64
        The numbers as given, read-only; for columns of text, truth values or categories the codes of `discrete`.
    kind : str
        "continuous" or "discrete".
    intervened : array (rows, columns) of bool, or None
        Where columns were set, read-only; None if they never were.
    dropped_rows : int
        How many rows were left out for missing values.

    Raises
    ------
    DataError
        The table cannot be used as it is; the message names the columns and says what to do.

    Examples
    --------
    >>> data = Data([[1.5, 5.0], [2.0, 7.0], [4.0, 6.0]], names=["dose", "response"])
    >>> data
    Data(3 rows × 2 columns: dose, response)
    >>> data.standardised_gram().round(3)
    array([[2.   , 0.378],
           [0.378, 2.   ]])
    >>> Data([["f", True], ["m", False], ["f", False]], names=["sex", "ill"])
    Data(3 rows × 2 columns, discrete: sex, ill)
    >>> rows = [[0.1, 5.5], [0.2, 7.1], [0.4, 6.3], [9.0, 6.8]]
    >>> Data(rows, names=["dose", "response"], interventions={3: "dose"})
    Data(4 rows × 2 columns: dose, response; 1 node set in 1 row)
    """

    names: tuple[str, ...]
    values: Floats
    kind: str
    intervened: Mask | None
    dropped_rows: int
    _codings: tuple[Coding | None, ...]
    _standardised: Standardised | None = None
    _levels: Levels | None = None

    def __init__(
        self,
        table: object,
        *,
        missing: str = "raise",
        names: Sequence[str] | None = None,
        kind: str | None = None,
        interventions: object = None,
    ) -> None:
        if missing not in _MISSING:
            raise DataError(f"missing={missing!r} is not known: use 'raise' or 'drop'")
        if kind is not None and kind not in KINDS:
            raise DataError(f"kind={kind!r} is not known: use 'continuous' or 'discrete', or leave it out")
        if isinstance(table, Data):
            refuse_names(names, "a Data")
            self._copy(table, kind, interventions)
        else:
            self._read(table, missing, names, kind, interventions)
        if self.intervened is not None:
            check_interventions(self.intervened, self.names, _FEWEST_ROWS)
            self.intervened.flags.writeable = False
        if self.kind == "continuous":
            self._standard()  # now rather than when a score asks, so that the refusal is about the table

    def _read(
        self, table: object, missing: str, names: Sequence[str] | None, kind: str | None, interventions: object
    ) -> None:
        read = read_table(table, names, aside=interventions if isinstance(interventions, str) else None)
        self.names, values, self._codings, targets = read
        self.intervened = read_interventions(interventions, self.names, len(values), targets)
        complete = _complete_rows(values, self.names, missing)
        self.dropped_rows = int((~complete).sum())
        if self.dropped_rows:
            values = _only(values, complete)
            self.intervened = _any_or_none(None if self.intervened is None else self.intervened[complete])
            self._codings = forget_unseen(values, self._codings)
        if len(values) < _FEWEST_ROWS:
            dropped = f" after {self.dropped_rows} with missing values were dropped" if self.dropped_rows else ""
            raise DataError(f"too few rows: {len(values)} left{dropped}, at least {_FEWEST_ROWS} are needed")
        _refuse_infinite(values, self.names)
        _refuse_constant(spread_of(values), self.names, self._codings)
        self.kind = decide_kind(kind, self.names, values, self._codings)
        values.flags.writeable = False
        self.values = values

    def _copy(self, other: Data, kind: str | None, interventions: object) -> None:
        self.names, self.values, self.dropped_rows = other.names, other.values, other.dropped_rows
        self._codings, self._standardised, self._levels = other._codings, other._standardised, other._levels
        self.kind = other.kind if kind is None else decide_kind(kind, self.names, self.values, self._codings)
        self.intervened = other.intervened
        if interventions is None:
            return
        if other.intervened is not None:
            raise DataError("interventions= was given together with a Data that has interventions; declare them once")
        if isinstance(interventions, str):
            raise DataError(
                f"interventions={interventions!r}: the columns of a Data are all nodes; name the column of targets "
                "when the Data is made from the table"
            )
        self.intervened = read_interventions(interventions, self.names, self.n_rows, None)
        self._standardised = None  # its checks depend on the interventions

    @property
    def n_rows(self) -> int:
        """Number of rows used."""
        return int(self.values.shape[0])

    @property
    def n_nodes(self) -> int:
        """Number of columns, each a node."""
        return int(self.values.shape[1])

    def standardised_gram(self) -> Floats:
        """Give ZᵀZ, with the columns of Z centred and divided by their standard deviation (with N−1).

        Its diagonal is N−1 and, off it, N−1 times the correlations. Computed once; each call gives a fresh copy.
        Columns of text, truth values or categories are refused, and so are copies of columns.

        Examples
        --------
        >>> Data([[0, 0], [1, 2], [2, 1], [3, 3]]).standardised_gram()
        array([[3. , 2.4],
               [2.4, 3. ]])
        """
        return self._standard().gram.copy()

    def standardised_values(self) -> Floats:
        """Give the columns, centred and divided by their standard deviation (with N−1); refuses as `standardised_gram`.

        Examples
        --------
        >>> Data([[0, 0], [1, 2], [2, 1]]).standardised_values()
        array([[-1., -1.],
               [ 0.,  1.],
               [ 1.,  0.]])
        """
        self._standard()
        return standard_values(self.values, spread_of(self.values))

    def scaled_gram(self, rows: Mask | None = None) -> Floats:
        """Give the Gram matrix of some rows, centred on them, in standard deviations over *all* rows.

        Parameters
        ----------
        rows
            The rows to use, as an array of truth values; all by default, which is `standardised_gram`.

        Examples
        --------
        >>> data = Data([[0, 0], [1, 2], [2, 1], [3, 3]])
        >>> data.scaled_gram(np.array([True, True, True, False])).round(3)
        array([[1.2, 0.6],
               [0.6, 1.2]])
        """
        if rows is None:
            return self.standardised_gram()
        return scaled(self.values, self._checked_rows(rows), self._standard())

    def centred_gram(self, rows: Mask | None = None) -> tuple[Floats, Floats]:
        """Give X_cᵀX_c, with the columns centred but not scaled, and their means.

        Parameters
        ----------
        rows
            The rows to use and to centre on, as an array of truth values; all by default.

        Examples
        --------
        >>> gram, mean = Data([[0, 0], [1, 2], [2, 1], [3, 3]]).centred_gram()
        >>> gram
        array([[5., 4.],
               [4., 5.]])
        >>> mean
        array([1.5, 1.5])
        """
        self._standard()
        return unscaled(self.values, self.names, None if rows is None else self._checked_rows(rows))

    def discrete(self) -> Levels:
        """Give each column as codes of its levels. Computed once; for whole numbers and columns without numbers.

        Text is sorted, and so are whole numbers; truth values are False, True; categories keep their order, and those
        that never occur are levels too.

        Examples
        --------
        >>> levels = Data([["m", 10], ["f", 9], ["f", 10]]).discrete()
        >>> levels.codes
        array([[1, 0, 0],
               [1, 0, 1]], dtype=int32)
        >>> levels.labels
        (('f', 'm'), ('9', '10'))
        """
        if self._levels is None:
            self._levels = make_levels(self.names, self.values, self._codings)
        return self._levels

    def patterns(self) -> tuple[NDArray[np.int64], list[Mask | None]]:
        """Group nodes that can use the same rows, those in which they were not set.

        Returns
        -------
        pattern : array (columns) of int64
            The group of each node, numbered from 0 in order of first appearance.
        masks : list
            For each group the rows that its nodes use, as an array of truth values; None for all rows.

        Examples
        --------
        >>> rows = [[0.1, 5.5], [0.2, 7.1], [0.4, 6.3], [9.0, 6.8]]
        >>> Data(rows, interventions={3: "X1"}).patterns()
        (array([0, 1]), [None, array([ True,  True,  True, False])])
        """
        return group_by_rows(self.intervened, self.n_nodes)

    def describe(self) -> dict[str, Any]:
        """Give the table in a few figures, as JSON can hold them: rows, kind, and a line for each column.

        Examples
        --------
        >>> Data([["f", True], ["m", False], ["f", False]], names=["sex", "ill"]).describe()["columns"][0]
        {'name': 'sex', 'levels': 2, 'most_frequent': 'f', 'share': 0.666667}
        """
        if self.kind == "discrete":
            levels = self.discrete()
            columns = describe_levels(self.names, levels.codes, levels.labels)
        else:
            columns = describe_numbers(self.names, self.values)
        return {"rows": self.n_rows, "kind": self.kind, "dropped_rows": self.dropped_rows, "columns": columns}

    def digest(self) -> str:
        """Give a short text that is the same for the same table and differs for any other, for checkpoints.

        Examples
        --------
        >>> rows = [[0.1, 5.5], [0.2, 7.1], [0.4, 6.3]]
        >>> Data(rows).digest() == Data(rows).digest(), Data(rows).digest() == Data(rows, names=["a", "b"]).digest()
        (True, False)
        """
        labels = [None if coding is None else coding.labels for coding in self._codings]
        digest = hashlib.sha256(repr((self.names, self.kind, labels, self.values.shape)).encode("utf-8", "replace"))
        for block in row_blocks(self.values):
            digest.update(np.ascontiguousarray(block).tobytes())
        if self.intervened is not None:
            digest.update(np.packbits(self.intervened).tobytes())
        return digest.hexdigest()[:32]

    def _standard(self) -> Standardised:
        if self._standardised is None:
            refuse_coded(self.names, self._codings)
            self._refuse_constant_where_observed()
            self._standardised = standardise(self.values, self.names, spread_of(self.values))
        return self._standardised

    def _refuse_constant_where_observed(self) -> None:
        """Refuse nodes that vary only because they were set: their variance given any parents would be zero."""
        pattern, masks = self.patterns()
        for group, rows in enumerate(masks):
            nodes = np.flatnonzero(pattern == group)
            if rows is None:
                continue
            still = nodes[spread_of(self.values[:, nodes], rows).constant].tolist()
            if still:
                listed = shorten([self.names[j] for j in still])
                raise DataError(f"interventions: columns constant wherever they were not set: {listed}; remove them")

    def _checked_rows(self, rows: Mask) -> Mask:
        rows = np.asarray(rows)
        if rows.dtype != np.bool_ or rows.shape != (self.n_rows,) or not rows.any():
            raise DataError(
                f"rows must be {self.n_rows} truth values, at least one of them True; "
                f"got {rows.dtype} of shape {rows.shape}, {np.count_nonzero(rows)} of them True"
            )
        return rows

    def __repr__(self) -> str:
        kind = ", discrete" if self.kind == "discrete" else ""
        dropped = f"; {self.dropped_rows} dropped for missing values" if self.dropped_rows else ""
        changed = ""
        if self.intervened is not None:
            nodes, rows = (int(self.intervened.any(axis=axis).sum()) for axis in (0, 1))
            changed = f"; {_count(nodes, 'node')} set in {_count(rows, 'row')}"
        return f"Data({self.n_rows} rows × {self.n_nodes} columns{kind}: {shorten(self.names)}{changed}{dropped})"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.describe()["columns"])


def as_data(table: object, missing: str = "raise") -> Data:
    """Give `table` as a `Data`; one that already is comes back unchanged.

    Examples
    --------
    >>> data = Data([[0, 0], [1, 2], [2, 1]])
    >>> as_data(data) is data
    True
    """
    return table if isinstance(table, Data) and missing in _MISSING else Data(table, missing=missing)


# ---------------------------------------------------------------------------------------------------------------------
# Checks of the contents


def _complete_rows(values: Floats, names: Sequence[str], missing: str) -> Mask:
    """Mark the rows without missing values; all of them unless rows may be dropped."""
    counts = [int(count) for count in sum(np.isnan(block).sum(axis=0) for block in row_blocks(values))]
    if not any(counts):
        return np.ones(len(values), dtype=bool)
    if missing == "raise":
        raise DataError(f"missing values in {_with_counts(names, counts)}; missing='drop' leaves out such rows")
    empty = [name for name, count in zip(names, counts, strict=True) if count == len(values)]
    if empty:
        raise DataError(f"columns without any value: {shorten(empty)}; remove them")
    return np.concatenate([~np.isnan(block).any(axis=1) for block in row_blocks(values)])


def _only(values: Floats, rows: Mask) -> Floats:
    """Move the marked rows up in place: a copy would double the memory."""
    kept = 0
    for block in row_blocks(values, rows):
        values[kept : kept + len(block)] = block
        kept += len(block)
    return values[:kept]


def _any_or_none(mask: Mask | None) -> Mask | None:
    return mask if mask is not None and mask.any() else None


def _refuse_infinite(values: Floats, names: Sequence[str]) -> None:
    infinite = [int(count) for count in sum(np.isinf(block).sum(axis=0) for block in row_blocks(values))]
    if any(infinite):
        listed = _with_counts(names, infinite)
        raise DataError(f"infinite values (or too large for double precision) in {listed}; remove or replace them")


def _refuse_constant(spread: Spread, names: Sequence[str], codings: Sequence[Coding | None]) -> None:
    constant = np.flatnonzero(spread.constant).tolist()
    if constant:
        listed = shorten([_describe_constant(names[j], spread.low[j], spread.high[j], codings[j]) for j in constant])
        raise DataError(f"constant columns: {listed}; they carry no information, remove them")


def _describe_constant(name: str, low: float, high: float, coding: Coding | None) -> str:
    if coding is not None:
        return f"{name} (always {coding.labels[int(low)]!r})"
    return f"{name} (always {low:.6g})" if low == high else f"{name} ({low:.6g} up to rounding)"


def _with_counts(names: Sequence[str], counts: Sequence[int]) -> str:
    return shorten([f"{name} ({count})" for name, count in zip(names, counts, strict=True) if count])


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
