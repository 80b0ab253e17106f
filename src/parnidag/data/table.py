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

from parnidag._util.text import number_of, shorten
from parnidag.data.batches import streams, sum_up
from parnidag.data.describing import as_html, describe_levels, describe_numbers
from parnidag.data.gram import Standardised, scaled, standard_values, standardise, unscaled
from parnidag.data.interventions import check_interventions, read_later
from parnidag.data.levels import KINDS, Levels, refuse_coded
from parnidag.data.reading import read_table, refuse_names
from parnidag.data.statistics import RowGroup, Statistics
from parnidag.data.summary import FEWEST_ROWS, MISSING, Options, clean
from parnidag.errors import DataError

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Data:
    """A table, checked and ready to be scored.

    Parameters
    ----------
    table
        A pandas or polars data frame, a pyarrow table, a 2-D array or nested sequence (rows × columns), the path of a
        ``.csv``, ``.tsv``, ``.txt`` or ``.parquet`` file, or another `Data`. Columns are the nodes of the graphs. A
        Dask data frame, an iterator of tables, and a file whose numbers would take more than 1 GB (8 bytes each) are
        read in batches, as `from_batches` does.
    missing
        ``"raise"``, the default, refuses missing values (NaN or null); ``"drop"`` leaves out every row that has one.
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
        rows counted from 0 in the table as given, before any were dropped. A `Data` that has no interventions yet takes
        the first and the last form.

    Attributes
    ----------
    names : tuple of str
        Column names, in the order of the table.
    values : array (rows, columns) of float64
        The numbers as given, read-only; for columns of text, truth values or categories the codes of `discrete`.
        Refused, and so is `intervened`, if the table was read in batches.
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

    kind: str
    _statistics: Statistics
    _standardised: Standardised | None = None

    def __init__(
        self,
        table: object,
        *,
        missing: str | None = None,
        names: Sequence[str] | None = None,
        kind: str | None = None,
        interventions: object = None,
    ) -> None:
        options = _checked_options(missing, names, kind, interventions)
        if isinstance(table, Data):
            refuse_names(names, "a Data")
            if missing == "raise" and table.dropped_rows:
                raise DataError(
                    f"missing='raise' was given together with a Data without the {table.dropped_rows} rows of its "
                    "table that had missing values; make it from the table again"
                )
            self._copy(table, options)
        elif streams(table, interventions):
            self._statistics, self.kind = Statistics.of_batches(sum_up(table, options), options)
        else:
            rows = clean(read_table(table, options.names, options.targets), options)
            self._statistics, self.kind = Statistics.of_rows(rows, options)
        self._check()

    @classmethod
    def from_batches(
        cls,
        batches: object,
        *,
        missing: str | None = None,
        names: Sequence[str] | None = None,
        kind: str | None = None,
        interventions: object = None,
    ) -> Data:
        """Read a table piece by piece, keeping sums over its rows instead of the rows: for tables larger than memory.

        Of numbers, their count, ranges, means and Gram matrix are kept; of classes, the different rows with their
        numbers. That is all that every score but `scores.Spline` needs, so results are those of the table in memory,
        up to rounding. `values` and whatever else needs rows is refused.

        Parameters
        ----------
        batches
            The path of a ``.parquet``, ``.csv``, ``.tsv`` or ``.txt`` file, an iterable (a generator, too) of tables
            with the same columns in the same order, or a Dask data frame, whose partitions are summed up where they
            are.
        missing, names, kind
            As for `Data`; `names` for batches that are arrays.
        interventions
            The name of the column, then no node, that names the nodes that were set in each row. The other forms that
            `Data` takes count rows, and are refused.

        Examples
        --------
        >>> halves = ([[1.5, 5.0], [2.0, 7.5]], [[4.0, 6.0], [3.0, 6.5]])
        >>> data = Data.from_batches(halves, names=["dose", "response"])
        >>> data
        Data(4 rows × 2 columns: dose, response)
        >>> data.standardised_gram().round(3)
        array([[3.   , 0.325],
               [0.325, 3.   ]])
        """
        options = _checked_options(missing, names, kind, interventions)
        data = cls.__new__(cls)
        data._statistics, data.kind = Statistics.of_batches(sum_up(batches, options), options)
        data._check()
        return data

    def _copy(self, other: Data, options: Options) -> None:
        kind, interventions, statistics = options.kind, options.interventions, other._statistics
        self._statistics, self._standardised, self.kind = statistics, other._standardised, other.kind
        if kind is not None and kind != other.kind:
            if kind == "discrete":
                statistics.require_rows("another kind")
            self.kind = statistics.decide_kind(kind)
        if interventions is None:
            return
        if other.has_interventions:
            raise DataError("interventions= was given together with a Data that has interventions; declare them once")
        if isinstance(interventions, str):
            raise DataError(
                f"interventions={interventions!r}: the columns of a Data are all nodes; name the column of targets "
                "when the Data is made from the table"
            )
        statistics.require_rows("interventions=")
        intervened = read_later(interventions, other.names, other.n_rows, statistics.kept)
        self._statistics = statistics.with_interventions(intervened)
        self._standardised = None  # its checks depend on the interventions

    def _check(self) -> None:
        set_rows = self._statistics.set_rows
        if set_rows is not None:
            check_interventions(set_rows, self.n_rows, self.names, FEWEST_ROWS)
        if self.kind == "continuous":
            self._standard()  # now rather than when a score asks, so that the refusal is about the table

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in the order of the table."""
        return self._statistics.names

    @property
    def dropped_rows(self) -> int:
        """How many rows were left out for missing values."""
        return self._statistics.dropped_rows

    @property
    def values(self) -> Floats:
        """The numbers as given, and codes of levels (rows × columns), read-only."""
        return self._statistics.values

    @property
    def intervened(self) -> Mask | None:
        """Where columns were set (rows × columns), read-only; None if they never were."""
        return self._statistics.intervened

    @property
    def has_interventions(self) -> bool:
        """Whether any column was set in any row."""
        return self._statistics.set_rows is not None

    @property
    def n_rows(self) -> int:
        """Number of rows used."""
        return self._statistics.n_rows

    @property
    def n_nodes(self) -> int:
        """Number of columns, each a node."""
        return len(self.names)

    def set_rows(self) -> NDArray[np.int64]:
        """Give the number of rows in which each column was set.

        Examples
        --------
        >>> Data([[0.1, 5.5], [0.2, 7.1], [0.4, 6.3], [9.0, 6.8]], interventions={3: "X0"}).set_rows()
        array([1, 0])
        """
        set_rows = self._statistics.set_rows
        return np.zeros(self.n_nodes, np.int64) if set_rows is None else set_rows

    def count_rows(self, rows: Mask | RowGroup | None = None) -> int:
        """Count rows: all, or those of a group of `patterns`."""
        return self.n_rows if rows is None else rows.n_rows if isinstance(rows, RowGroup) else int(rows.sum())

    def require_rows(self, what: str) -> None:
        """Refuse a table that was read in batches, for something that needs its rows."""
        self._statistics.require_rows(what)

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
        self.require_rows("standardised_values()")
        self._standard()
        return standard_values(self.values, self._statistics.spread())

    def scaled_gram(self, rows: Mask | RowGroup | None = None) -> Floats:
        """Give the Gram matrix of some rows, centred on them, in standard deviations over *all* rows.

        Parameters
        ----------
        rows
            The rows to use, as an array of truth values or a group of `patterns`; all by default, which is
            `standardised_gram`.

        Examples
        --------
        >>> data = Data([[0, 0], [1, 2], [2, 1], [3, 3]])
        >>> data.scaled_gram(np.array([True, True, True, False])).round(3)
        array([[1.2, 0.6],
               [0.6, 1.2]])
        """
        return self.scaled_moments(rows)[0]

    def scaled_moments(self, rows: Mask | RowGroup | None = None) -> tuple[Floats, Floats]:
        """Give `scaled_gram`, and the means of these rows: in standard deviations over all rows, from the mean of all.

        Examples
        --------
        >>> data = Data([[0, 0], [1, 2], [2, 1], [3, 3]])
        >>> data.scaled_moments(np.array([True, True, True, False]))[1].round(3)
        array([-0.387, -0.387])
        """
        if rows is None:
            return self.standardised_gram(), np.zeros(self.n_nodes)
        return scaled(self._statistics.moments(self._statistics.checked_rows(rows)), self._standard().moments)

    def centred_gram(self, rows: Mask | RowGroup | None = None) -> tuple[Floats, Floats]:
        """Give X_cᵀX_c, with the columns centred but not scaled, and their means.

        Parameters
        ----------
        rows
            The rows to use and to centre on, as an array of truth values or a group of `patterns`; all by default.

        Examples
        --------
        >>> gram, mean = Data([[0, 0], [1, 2], [2, 1], [3, 3]]).centred_gram()
        >>> gram
        array([[5., 4.],
               [4., 5.]])
        >>> mean
        array([1.5, 1.5])
        """
        whole = self._standard().moments
        return unscaled(
            whole if rows is None else self._statistics.moments(self._statistics.checked_rows(rows)), self.names
        )

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
        return self._statistics.levels()

    def row_counts(self) -> NDArray[np.int64] | None:
        """Say for how many rows each column of the codes of `discrete` stands.

        Returns
        -------
        array of int64, or None
            None if for one each, which is always so for a table in memory.

        Examples
        --------
        >>> data = Data.from_batches([[["m", "x"], ["f", "x"]], [["m", "y"], ["m", "x"]]] * 10)
        >>> data.discrete().codes.T[np.argmax(data.row_counts())], data.row_counts().max()
        (array([1, 0], dtype=uint8), np.int64(20))
        """
        return self._statistics.row_counts()

    def codes_used(self, rows: Mask | RowGroup) -> Mask:
        """Mark the columns of the codes of `discrete` that belong to a group of `patterns`."""
        return self._statistics.codes_used(rows)

    def patterns(self) -> tuple[NDArray[np.int64], list[Mask | RowGroup | None]]:
        """Group nodes that can use the same rows, those in which they were not set.

        Returns
        -------
        pattern : array (columns) of int64
            The group of each node, numbered from 0 in order of first appearance.
        masks : list
            For each group the rows that its nodes use, as an array of truth values; None for all rows. For a table
            that was read in batches, something that `scaled_gram` and `centred_gram` know in its place.

        Examples
        --------
        >>> rows = [[0.1, 5.5], [0.2, 7.1], [0.4, 6.3], [9.0, 6.8]]
        >>> Data(rows, interventions={3: "X1"}).patterns()
        (array([0, 1]), [None, array([ True,  True,  True, False])])
        """
        return self._statistics.patterns()

    def describe(self) -> dict[str, Any]:
        """Give the table in a few figures, as JSON can hold them: rows, kind, and a line for each column.

        Examples
        --------
        >>> Data([["f", True], ["m", False], ["f", False]], names=["sex", "ill"]).describe()["columns"][0]
        {'name': 'sex', 'levels': 2, 'most_frequent': 'f', 'share': 0.666667}
        """
        if self.kind == "discrete":
            levels = self.discrete()
            columns = describe_levels(self.names, levels.codes, levels.labels, self.row_counts())
        else:
            whole = self._standard().moments
            columns = describe_numbers(self.names, whole.mean, whole.unit * whole.deviation, *whole.spread)
        return {"rows": self.n_rows, "kind": self.kind, "dropped_rows": self.dropped_rows, "columns": columns}

    def digest(self) -> str:
        """Give a short text that is the same for the same table and differs for any other, for checkpoints.

        Examples
        --------
        >>> rows = [[0.1, 5.5], [0.2, 7.1], [0.4, 6.3]]
        >>> Data(rows).digest() == Data(rows).digest(), Data(rows).digest() == Data(rows, names=["a", "b"]).digest()
        (True, False)
        """
        labels = [None if coding is None else coding.labels for coding in self._statistics.codings]
        digest = hashlib.sha256(repr((self.names, self.kind, labels, self.n_rows)).encode("utf-8", "replace"))
        for part in self._statistics.fingerprint():
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:32]

    def _standard(self) -> Standardised:
        if self._standardised is None:
            refuse_coded(self.names, self._statistics.codings)
            self._refuse_constant_where_observed()
            self._standardised = standardise(self._statistics.moments(), self.names)
        return self._standardised

    def _refuse_constant_where_observed(self) -> None:
        """Refuse nodes that vary only because they were set: their variance given any parents would be zero."""
        pattern, masks = self.patterns()
        for group, rows in enumerate(masks):
            if rows is None:
                continue
            still = np.flatnonzero((pattern == group) & self._statistics.spread(rows).constant).tolist()
            if still:
                listed = shorten([self.names[j] for j in still])
                raise DataError(f"interventions: columns constant wherever they were not set: {listed}; remove them")

    def __repr__(self) -> str:
        kind = ", discrete" if self.kind == "discrete" else ""
        dropped = f"; {self.dropped_rows} dropped for missing values" if self.dropped_rows else ""
        changed = ""
        if self.has_interventions:
            nodes, rows = int((self.set_rows() > 0).sum()), self._statistics.rows_with_targets
            changed = f"; {number_of(nodes, 'node')} set in {number_of(rows, 'row')}"
        return f"Data({self.n_rows} rows × {self.n_nodes} columns{kind}: {shorten(self.names)}{changed}{dropped})"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.describe()["columns"])


def as_data(table: object) -> Data:
    """Give `table` as a `Data`; one that already is comes back unchanged.

    Examples
    --------
    >>> data = Data([[0, 0], [1, 2], [2, 1]])
    >>> as_data(data) is data
    True
    """
    return table if isinstance(table, Data) else Data(table)


# ---------------------------------------------------------------------------------------------------------------------
# Checks


def _checked_options(missing: str | None, names: Any, kind: str | None, interventions: object) -> Options:
    if missing is not None and missing not in MISSING:
        raise DataError(f"missing={missing!r} is not known: use 'raise' or 'drop'")
    if kind is not None and kind not in KINDS:
        raise DataError(f"kind={kind!r} is not known: use 'continuous' or 'discrete', or leave it out")
    given = names if names is None or isinstance(names, str) else list(names)  # they are gone through with each batch
    return Options(missing or "raise", given, kind, interventions)
