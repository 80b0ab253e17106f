"""The data of a problem: named columns that can be scored, as numbers or levels, and which of them were set where.

Everything a user can get wrong with the contents of a table is refused here (and with its form in `reading.py`), with a
`DataError` that names the columns, so that the rest of the library can trust its numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import compress
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import number_of, shorten
from parnidag.data import gram, levels
from parnidag.data.batches import streams, sum_up
from parnidag.data.columns import Coding, Floats, Integers, Mask
from parnidag.data.counts import different_rows as different
from parnidag.data.describing import as_html, describe_levels, describe_mixed, describe_numbers
from parnidag.data.doubts import Doubted, doubts_of
from parnidag.data.edge_rules import EdgeRules
from parnidag.data.gaps import cells_in_words, gaps_of, refuse_gaps, refuse_unlearnable
from parnidag.data.interventions import check_interventions, group_by_rows, read_later
from parnidag.data.kinds import decide, in_order, look_at, refuse_unknown, taken_for
from parnidag.data.reading import Table, read_table, refuse_names
from parnidag.data.summary import (
    FEWEST_ROWS,
    Cleaned,
    Options,
    Summary,
    clean,
    group_by_targets,
    moments_by_group,
)
from parnidag.errors import DataError

MOST_KEPT_SUMS = 64 * 10**6
"""Bytes that the sums a result keeps of its table may take."""
MOST_KEPT_CELLS = 4 * 10**6
"""Cells of the different rows of classes that a result keeps."""
MOST_COUNTED = 2**31 - 1
"""Rows of a table of classes that is read in batches: more would not fit the counts of compiled code."""


class Data:
    """A table, checked and ready to be scored.

    Parameters
    ----------
    table
        A pandas or polars data frame, a pyarrow table, a 2-D array or nested sequence (rows × columns), the path of a
        ``.csv``, ``.tsv``, ``.txt`` or ``.parquet`` file, or another `Data`. Columns are the nodes of the graphs. A
        Dask data frame, an iterator of tables, and a file whose numbers would take more than 1 GB (8 bytes each) are
        read in batches, as `from_batches` does.
    kinds
        What columns are, where it is not what it seems: a mapping from names to ``"number"``, ``"count"``,
        ``"ordinal"`` (classes with an order), ``"binary"`` or ``"class"`` (classes without an order). The levels of
        text have no order until they are listed in it: ``kinds={"stage": ["low", "mid", "high"]}``.
    missing
        What to do about empty cells (NaN or null): ``"impute"``, the default, keeps them, to be drawn along with the
        graphs; ``"drop"`` leaves out every row that has one; ``"refuse"`` refuses the table. Rows that hold nothing at
        all are always left out. A table that is read in batches can be given only without empty cells or with "drop".
    names
        Column names for an array; X0, X1, … by default. Every other table brings its own.
    kind
        What all columns are: ``"continuous"`` (measurements), ``"discrete"`` (classes) or ``"mixed"`` (each what it
        seems, on one scale of latent numbers). By default a table is discrete if all columns hold text, truth values,
        categories or whole numbers with at most 10 different values each; continuous if all hold other numbers; else
        mixed.
    interventions
        In which rows which columns were set by the experimenter, rather than observed. Truth values (rows × columns of
        the table; an array, or a data frame whose columns are matched by name, and those it lacks were never set);
        or the name of a column, then no node, that names the node that was set in each row (several separated by ";"
        or ","; empty, "none", "obs", "observational" or "-" if none was); or ``{row: name or list of names}``, with
        rows counted from 0 in the table as given, before any were dropped. A `Data` that has no interventions yet takes
        the first and the last form.
    columns, drop
        Names of columns: the only ones that are nodes, and those that are not.

    Attributes
    ----------
    names : tuple of str
        Column names, in the order of the table.
    values : array (rows, columns) of float64
        The numbers as given, read-only; for columns of text, truth values or categories codes of their levels.
        Refused, and so is `intervened`, if the table was read in batches.
    kind : str
        "continuous", "discrete" or "mixed".
    kinds : tuple of str
        What each column is taken for, in the words of `kinds` above.
    gaps : array (rows, columns) of bool, or None
        The empty cells, NaN in `values`, read-only; None if there are none.
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
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    n_rows: int
    dropped_rows: int
    _codings: tuple[Coding | None, ...]
    _values: Floats | None = None
    """None if the table was read in batches; the fields of groups and codes are then set in its place."""
    gaps: Mask | None = None
    _doubts: tuple[str, ...] | None = None
    _rows_are_times: ClassVar[bool] = False
    _notes: tuple[str, ...] = ()
    """What should be known of how the table was read."""
    _asked: str | None = None
    """The kind of the table that was asked for."""
    _told: Mapping[str, str] = MappingProxyType({})
    """The kinds of columns that were told."""
    _kept: Mask | None = None
    """Which rows of the table as given are used, None if all are or nobody knows."""
    _targets: Mask | None
    """Which nodes were set in each row, or in each group of rows (rows or groups × nodes), None if none was."""
    _group_rows: Integers | None = None
    """Rows are in one group if the same nodes were set in them: the number of rows of each."""
    _group_moments: Sequence[gram.Moments] = ()
    _columns: Sequence[levels.SeenColumn] = ()
    _row_counts: Integers | None = None
    _group_of_code: Integers | None = None
    _levels: levels.Levels | None = None
    own_score: Any = None
    """The score of a table that is nothing but local scores."""
    _standardised: gram.Standardised | None = None
    rules: EdgeRules | None = None
    """What the shape of the table says of edges, None if nothing."""

    def __init__(
        self,
        table: object,
        *,
        kinds: Mapping[str, Any] | None = None,
        missing: str | None = None,
        names: Sequence[str] | None = None,
        kind: str | None = None,
        interventions: object = None,
        columns: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
    ) -> None:
        options = Options.checked(missing, names, kind, kinds, interventions, columns, drop)
        if isinstance(table, Data):
            refuse_names(names, "a Data")
            if columns is not None or drop is not None:
                raise DataError("columns= and drop= choose columns when a Data is made from a table, not from another")
            vars(self).update(vars(table))
            if missing is not None:
                self._change_missing(options.missing)
            self._change(options)
        elif streams(table, interventions):
            if options.kinds:
                raise DataError(
                    "kinds= needs the rows of a table, but this one is read in batches: kind='continuous' or "
                    "kind='discrete' says what all columns are",
                    argument="kinds",
                )
            self._take_sums(sum_up(table, options), options)
        else:
            read = read_table(table, options.names, options.targets, wanted=options.wanted())
            self._take_rows(clean(read, options), options)
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
        columns: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
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
        missing, names, kind, columns, drop
            As for `Data`; `names` for batches that are arrays.
        interventions
            The name of the column, then no node, that names the nodes that were set in each row. The other forms that
            `Data` takes count rows, and are refused.

        Examples
        --------
        >>> halves = ([[1.5, 5.0], [2.0, 7.5]], [[4.0, 6.0], [3.0, 6.5]])
        >>> Data.from_batches(halves, names=["dose", "response"])
        Data(4 rows × 2 columns: dose, response)
        """
        options = Options.checked(missing, names, kind, None, interventions, columns, drop)
        data = cls.__new__(cls)
        data._take_sums(sum_up(batches, options), options)
        data._check()
        return data

    @classmethod
    def from_sums(cls, names: Sequence[str], sums: Mapping[str, Any]) -> Data:
        """Give back a table, without the order of its rows, from what `sums` or `different_rows` kept."""
        data = cls.__new__(cls)
        if "classes_codes" in sums:
            data._take_different_rows(tuple(names), sums)
            return data
        data.names, data.kind, data._codings = tuple(names), "continuous", (None,) * len(names)
        data.kinds = ("number",) * len(names)
        data._targets = np.asarray(sums["sums_targets"], bool)
        data._group_rows = np.asarray(sums["sums_rows"], np.int64)
        data._columns = [levels.SeenColumn("numbers") for _ in names]
        data._group_moments = [
            gram.Moments(int(rows), gram.Spread(low, high), matrix, shift, offset, unit)
            for rows, matrix, (low, high, shift, offset, unit) in zip(
                data._group_rows, sums["sums_gram"], sums["sums_columns"], strict=True
            )
        ]
        data.n_rows, data.dropped_rows = int(data._group_rows.sum()), 0
        data._check()
        return data

    def _take_different_rows(self, names: tuple[str, ...], kept: Mapping[str, Any]) -> None:
        self.names, self.kind, self._codings = names, "discrete", (None,) * len(names)
        self._targets = np.asarray(kept["sums_targets"], bool)
        self._group_rows = np.asarray(kept["sums_rows"], np.int64)
        self._row_counts = np.asarray(kept["classes_rows"], np.int64)
        self._group_of_code = np.asarray(kept["classes_group"], np.int64)
        labels = json.loads(np.asarray(kept["classes_labels"], np.uint8).tobytes())
        self._levels = levels.Levels(np.asarray(kept["classes_codes"]), tuple(map(tuple, labels)))
        self.kinds = tuple("binary" if len(one) == 2 else "class" for one in labels)
        self.n_rows, self.dropped_rows = int(self._group_rows.sum()), 0
        self._check()

    def _take_rows(self, table: Cleaned, options: Options) -> None:
        self.names, self._values, codings, self._targets, self._kept, tally, self._notes = table
        tally.refuse(self.names, options.missing)
        refuse_unknown(options.kinds, self.names)
        self.n_rows, self.dropped_rows = tally.n_rows, tally.dropped_rows
        self._codings = tuple(
            in_order(name, options.kinds.get(name, ""), column, coding)
            for name, column, coding in zip(self.names, self._values.T, codings, strict=True)
        )
        tally.refuse_constant(self.names, codings)
        self.gaps = gaps_of(self._values) if tally.missing.any() else None
        _make_read_only(self._values, self._targets, self.gaps)
        self._told = {name: told if isinstance(told, str) else "ordinal" for name, told in options.kinds.items()}
        self._decide(options.kind)

    def _take_sums(self, summary: Summary, options: Options) -> None:
        names, columns, tally, groups = summary.names, summary.columns, summary.tally, summary.groups
        tally.refuse(names, options.missing, in_batches=True)
        new_codes = summary.sort_levels()
        bits = np.frombuffer(b"".join(groups), np.uint8).reshape(len(groups), -1)
        self._targets = np.unpackbits(bits, axis=1, count=len(names)).astype(bool)
        self._group_rows = np.array(list(groups.values()), np.int64)
        self._group_moments = [] if summary.moments is None else [summary.moments[key] for key in groups]
        self.names, self._columns, self._codings = names, columns, tuple(column.coding for column in columns)
        self.n_rows, self.dropped_rows = tally.n_rows, tally.dropped_rows
        tally.refuse_constant(names, self._codings)
        levels.refuse_strays(names, columns)
        self._decide(options.kind)
        if self.kind == "mixed":
            raise DataError(
                f"the table mixes kinds of columns ({taken_for(names, self.kinds)}), which needs its rows, but it is "
                "read in batches: leave out one kind or the other; kind='continuous' takes all columns for "
                "measurements, kind='discrete' for classes",
                argument="kind",
            )
        if self.kind == "discrete":
            if tally.n_rows > MOST_COUNTED:
                raise DataError(f"{tally.n_rows} rows of classes are more than {MOST_COUNTED}; take a part of the rows")
            assert summary.rows is not None
            summary.rows.rename([*new_codes, np.arange(len(groups))])
            codes, self._row_counts = summary.rows.collect()
            _make_read_only(codes)
            self._levels = levels.Levels(codes[:-1], tuple(column.labels() for column in columns))
            self._group_of_code = codes[-1]

    def _change(self, options: Options) -> None:
        """Take other kinds, or interventions, than the `Data` that this is a copy of has."""
        if options.kind not in (None, self.kind) or options.kinds:
            if options.kind != "continuous":
                self.require_rows("another kind")
            refuse_unknown(options.kinds, self.names)
            if not all(isinstance(kind, str) for kind in options.kinds.values()):
                raise DataError("kinds: the order of levels is said when a Data is made from the table")
            self._told = {**self._told, **options.kinds}
            self._decide(options.kind)
        given = options.interventions
        if given is None:
            return
        if self.has_interventions:
            raise DataError("interventions= was given together with a Data that has interventions; declare them once")
        if isinstance(given, str):
            raise DataError(
                f"interventions={given!r}: the columns of a Data are all nodes; name the column of targets when the "
                "Data is made from the table"
            )
        self.require_rows("interventions=")
        self._targets = read_later(given, self.names, self.n_rows, self._kept)
        _make_read_only(self._targets)
        self._standardised = self._doubts = None  # they depend on the interventions

    def _change_missing(self, missing: str) -> None:
        """Leave out rows with empty cells, or refuse the table for them, unless they were to be drawn."""
        if missing == "refuse" and (self.dropped_rows or self.gaps is not None):
            rows = self.dropped_rows or int(self.gaps.any(axis=1).sum())  # type: ignore[union-attr]
            raise DataError(
                f"missing='refuse' was given together with a Data of a table in which {number_of(rows, 'row')} had "
                "missing values; make it from the table again"
            )
        if missing != "drop" or self.gaps is None:
            return
        cleaned = clean(Table(self.names, self.values.copy(), self._codings), Options(missing))
        kept = cleaned.kept
        assert kept is not None
        targets = None if self._targets is None else self._targets[kept]
        before, dropped = self._kept, self.dropped_rows
        self._standardised = self._levels = None
        self._take_rows(cleaned._replace(intervened=targets), Options(missing, kind=self._asked, kinds=self._told))
        self.dropped_rows += dropped
        if before is not None:
            self._kept = before.copy()
            self._kept[before] = kept

    def _decide(self, asked: str | None) -> None:
        columns = self._columns
        if self._values is not None:
            columns = [look_at(column, coding) for column, coding in zip(self._values.T, self._codings, strict=True)]
            self._columns, self._doubts = columns, None
        self.kind, self.kinds = decide(asked, self._told, self.names, columns)
        self._asked = asked

    def _check(self) -> None:
        check_interventions(self.set_rows(), self.n_rows, self.names, FEWEST_ROWS)
        if self.gaps is not None:
            refuse_unlearnable(self.values, self.gaps, self._targets, self.names, FEWEST_ROWS)
            return
        if self.kind == "continuous":
            self._standard()  # now rather than when a score asks, so that the refusal is about the table

    # -----------------------------------------------------------------------------------------------------------------
    # Rows

    @property
    def n_nodes(self) -> int:
        """Number of columns, each a node."""
        return len(self.names)

    @property
    def n_scored(self) -> int:
        """Number of columns that have a score: all but those that are parents only."""
        return self.n_nodes if self.rules is None else int((~self.rules.parents_only).sum())

    @property
    def values(self) -> Floats:
        """The numbers as given, and codes of levels (rows × columns), read-only."""
        if self._values is None:
            raise _rows_gone("values")
        return self._values

    @property
    def has_interventions(self) -> bool:
        """Whether any column was set in any row."""
        return self._targets is not None and bool(self._targets.any())

    @property
    def intervened(self) -> Mask | None:
        """Where columns were set (rows × columns), read-only; None if they never were."""
        if not self.has_interventions:
            return None
        self.require_rows("intervened")
        return self._targets

    def set_rows(self) -> Integers:
        """Give the number of rows in which each column was set."""
        if self._targets is None:
            return np.zeros(self.n_nodes, np.int64)
        return np.asarray(self._targets.sum(axis=0) if self._group_rows is None else self._group_rows @ self._targets)

    def patterns(self) -> tuple[Integers, list[Mask | None]]:
        """Group nodes that can use the same rows, those in which they were not set.

        Gives the group of each node, numbered from 0 in order of first appearance, and for each group the rows that it
        uses, as truth values; None for all rows. Where rows were not kept, the truth values are for sets of rows;
        `count_rows`, `codes_used`, `scaled_gram` and `centred_gram` know these too.

        Examples
        --------
        >>> rows = [[0.1, 5.5], [0.2, 7.1], [0.4, 6.3], [9.0, 6.8]]
        >>> Data(rows, interventions={3: "X1"}).patterns()
        (array([0, 1]), [None, array([ True,  True,  True, False])])
        """
        return group_by_rows(self._targets if self.has_interventions else None, self.n_nodes)

    def count_rows(self, rows: Mask | None = None) -> int:
        """Count rows: all, or those that a mask of `patterns` marks."""
        if rows is None:
            return self.n_rows
        return int(rows.sum() if self._group_rows is None else self._group_rows[rows].sum())

    @property
    def needs_cells(self) -> bool:
        """Whether there are cells that are not known exactly: empty ones, or classes among numbers."""
        return self.kind == "mixed" or self.gaps is not None

    def require_rows(self, what: str) -> None:
        """Refuse a table that was read in batches, for something that needs its rows."""
        if self._values is None:
            raise _rows_gone(what)

    def _checked_rows(self, rows: Any) -> Mask:
        """Refuse anything but truth values for the rows or, if they were not kept, a mask of `patterns`."""
        rows = np.asarray(rows)
        if self._group_rows is not None and rows.shape != self._group_rows.shape:
            raise _rows_gone("an array of truth values for them")
        count = self.n_rows if self._group_rows is None else len(self._group_rows)
        if rows.dtype != np.bool_ or rows.shape != (count,) or not rows.any():
            raise DataError(
                f"rows must be {count} truth values, at least one of them True; "
                f"got {rows.dtype} of shape {rows.shape}, {np.count_nonzero(rows)} of them True"
            )
        return np.asarray(rows, bool)

    # -----------------------------------------------------------------------------------------------------------------
    # Numbers

    def standardised_gram(self) -> Floats:
        """Give ZᵀZ, with the columns of Z centred and divided by their standard deviation (with N−1).

        Its diagonal is N−1 and, off it, N−1 times the correlations. Computed once; each call gives a fresh copy.
        Columns of text, truth values or categories are refused, and so are copies of columns.
        """
        return self._standard().gram.copy()

    def standardised_values(self) -> Floats:
        """Give the columns, centred and divided by their standard deviation; refuses what `standardised_gram` does."""
        self.require_rows("standardised_values()")
        return gram.standard_values(self.values, self._standard().moments.spread)

    def scaled_gram(self, rows: Mask | None = None) -> Floats:
        """Give the Gram matrix of some rows, centred on them, in standard deviations over *all* rows.

        The rows are marked by truth values, as in `patterns`; all by default, which is `standardised_gram`.
        """
        return self.scaled_moments(rows)[0]

    def scaled_moments(self, rows: Mask | None = None) -> tuple[Floats, Floats]:
        """Give `scaled_gram`, and the means of these rows: in standard deviations of all rows, from the mean of all."""
        if rows is None:
            return self.standardised_gram(), np.zeros(self.n_nodes)
        return gram.scaled(self._moments(self._checked_rows(rows)), self._standard().moments)

    def centred_gram(self, rows: Mask | None = None) -> tuple[Floats, Floats]:
        """Give X_cᵀX_c, with the columns centred but not scaled, and their means; over all rows or those marked."""
        whole = self._standard().moments
        return gram.unscaled(whole if rows is None else self._moments(self._checked_rows(rows)), self.names)

    def _standard(self) -> gram.Standardised:
        if self._standardised is None:
            refuse_gaps(self.gaps, self.names, "a Gram matrix, and so a Gaussian score,")
            levels.refuse_coded(self.names, self._codings)
            self._refuse_constant_where_observed()
            self._standardised = gram.standardise(self._moments(), self.names)
        return self._standardised

    def _refuse_constant_where_observed(self) -> None:
        """Refuse nodes that vary only because they were set: their variance given any parents would be zero."""
        pattern, masks = self.patterns()
        for group, rows in enumerate(masks):
            if rows is None:
                continue
            spread = self._moments(rows).spread if self._values is None else gram.spread_of(self._values, rows)
            assert spread is not None
            still = np.flatnonzero((pattern == group) & spread.constant).tolist()
            if still:
                listed = shorten([self.names[j] for j in still])
                raise DataError(f"interventions: columns constant wherever they were not set: {listed}; remove them")

    def _moments(self, rows: Mask | None = None) -> gram.Moments:
        if self._values is not None:
            return gram.moments_of(self._values, rows)
        return reduce(gram.merge, self._group_moments if rows is None else compress(self._group_moments, rows))

    def scales(self) -> tuple[Floats, Floats]:
        """Give the mean and the standard deviation of every column, over all rows."""
        whole = self._standard().moments
        return whole.mean, np.asarray(whole.unit * whole.deviation)

    def sums(self) -> dict[str, NDArray[Any]]:
        """Give what scores of linear relations need of the table, as arrays without rows; nothing if it is much.

        Rows in which the same columns were set are one group: for each these columns, the number of rows, the cross
        products, and what tells their units. `from_sums` makes a table of it again.
        """
        moments, targets, counts = self._group_moments, self._targets, self._group_rows
        if self._values is not None and self.kind == "continuous":
            group_of_row, groups = group_by_targets(self._targets, self.n_rows, self.n_nodes)
            if len(groups) * self.n_nodes**2 * 8 > MOST_KEPT_SUMS:
                return {}
            bits = np.frombuffer(b"".join(groups), np.uint8).reshape(len(groups), -1)
            targets = np.unpackbits(bits, axis=1, count=self.n_nodes).astype(bool)
            counts = np.array(list(groups.values()), np.int64)
            moments = list(moments_by_group(self._values, group_of_row, list(groups)).values())
        if not moments or targets is None or counts is None or len(moments) * self.n_nodes**2 * 8 > MOST_KEPT_SUMS:
            return {}
        return {
            "sums_targets": np.asarray(targets, np.uint8),
            "sums_rows": counts,
            "sums_gram": np.array([one.gram for one in moments]),
            "sums_columns": np.array([[*one.spread, one.shift, one.offset, one.unit] for one in moments]),
        }

    # -----------------------------------------------------------------------------------------------------------------
    # Classes

    def discrete(self) -> levels.Levels:
        """Give each column as codes of its levels. Computed once; for whole numbers and columns without numbers.

        Text is sorted, and so are whole numbers; truth values are False, True; categories keep their order, and those
        that never occur are levels too.

        Examples
        --------
        >>> levels = Data([["m", 10], ["f", 9], ["f", 10]]).discrete()
        >>> levels.codes.tolist(), levels.labels
        ([[1, 0, 0], [1, 0, 1]], (('f', 'm'), ('9', '10')))
        """
        if self._levels is None:
            refuse_gaps(self.gaps, self.names, "a discrete score")
            if self._values is None:
                levels.refuse_fractions(self.names, self._columns, "a discrete score")
                raise _rows_gone("discrete() of a continuous table", "; kind='discrete' keeps what it needs")
            self._levels = levels.make_levels(self.names, self._values, self._codings)
        return self._levels

    def known_levels(self) -> levels.Levels:
        """Give what `discrete` gives of a table with empty cells: their codes are −1."""
        self.require_rows("a table with empty cells")
        if self.gaps is None:
            return self.discrete()
        filled = self.values.copy()
        known = filled[
            (~self.gaps).argmax(axis=0), np.arange(self.n_nodes)
        ]  # of each column the first that is not empty
        filled[self.gaps] = np.broadcast_to(known, filled.shape)[self.gaps]
        codes, labels = levels.make_levels(self.names, filled, self._codings)
        return levels.Levels(np.where(self.gaps.T, -1, codes), labels)

    def level_names(self, column: int) -> list[str]:
        """Name the levels of a column of a table with empty cells, in the order of their codes."""
        if self.kind == "discrete":
            return list(self.known_levels().labels[column])
        known = np.unique(self.values[~np.isnan(self.values[:, column]), column]).tolist()
        coding = self._codings[column]
        return [f"{value:g}" if coding is None else coding.labels[int(value)] for value in known]

    def row_numbers(self) -> Integers:
        """Number the rows as in the table that was given, from 0, of which some may have been left out."""
        return np.arange(self.n_rows) if self._kept is None else np.flatnonzero(self._kept)

    def row_counts(self) -> Integers | None:
        """Say for how many rows each column of the codes of `discrete` stands; None if for one, as always in memory."""
        return self._row_counts

    def codes_used(self, rows: Mask) -> Mask:
        """Mark the columns of the codes of `discrete` that belong to the rows of a mask of `patterns`."""
        return rows if self._group_of_code is None else np.asarray(rows[self._group_of_code])

    def different_rows(self) -> dict[str, NDArray[Any]]:
        """Give what scores of classes need of the table: its different rows and their numbers; nothing if it is much.

        `from_sums` makes a table of it again, in which rows have lost their order.
        """
        codes, labels = self.discrete()
        if self._values is None:
            targets, rows, groups = self._targets, self._group_rows, self._group_of_code
            assert targets is not None
            assert rows is not None
            assert groups is not None
            counts = np.ones(codes.shape[1], np.int64) if self._row_counts is None else self._row_counts
        else:
            group_of_row, bits = group_by_targets(self._targets, self.n_rows, self.n_nodes)
            flags = np.frombuffer(b"".join(bits), np.uint8).reshape(len(bits), -1)
            targets = np.unpackbits(flags, axis=1, count=self.n_nodes).astype(bool)
            rows = np.array(list(bits.values()), np.int64)
            members, place = different(np.vstack([codes, group_of_row]))
            counts, groups, codes = np.bincount(place), group_of_row[members], codes[:, members]
        if codes.size > MOST_KEPT_CELLS:
            return {}
        return {
            "sums_targets": np.asarray(targets, np.uint8),
            "sums_rows": rows,
            "classes_codes": np.asarray(codes, np.int32),
            "classes_rows": np.asarray(counts, np.int64),
            "classes_group": np.asarray(groups, np.int64),
            "classes_labels": np.frombuffer(json.dumps(labels).encode(), np.uint8),
        }

    # -----------------------------------------------------------------------------------------------------------------
    # The table as a whole

    def doubts(self) -> tuple[str, ...]:
        """List what the model cannot carry, or what looks like a mistake: a line each with its remedy, gravest first.

        Found are columns that are functions of others, row numbers, dates, fewer rows than columns, columns far from
        normal, columns that never vary where others were set, levels that are written alike, rows that resemble the
        rows before them, and kinds of columns that one value more would change. Of a table that is read in batches
        only how it was read is known.

        Examples
        --------
        >>> rows = [[k, (k * 7 % 11) / 3 + k % 4] for k in range(30)]
        >>> Data(rows, names=["row", "x"]).doubts()
        ("row: looks like a row number, a time or an id, which is no node: drop=['row']",)
        """
        if self._doubts is None:
            self._doubts = (() if self._values is None else doubts_of(self._doubted(self._values))) + self._notes
        return self._doubts

    def _doubted(self, values: Floats) -> Doubted:
        told = frozenset(self._told if self._asked is None else self.names)
        held = (self.names, self.kind, self.kinds, values, self._codings, self._columns)
        return Doubted(*held, told, self._targets, self._rows_are_times)

    def describe(self) -> dict[str, Any]:
        """Give the table in a few figures, as JSON can hold them: rows, kind, and a line for each column.

        Examples
        --------
        >>> Data([["f", True], ["m", False], ["f", False]], names=["sex", "ill"]).describe()["columns"][0]
        {'name': 'sex', 'levels': 2, 'most_frequent': 'f', 'share': 0.666667, 'kind': 'binary'}
        """
        columns = self._described_columns()
        for j, (column, kind) in enumerate(zip(columns, self.kinds, strict=True)):
            column["kind"] = kind
            if self.gaps is not None:
                column["empty"] = int(self.gaps[:, j].sum())
        figures = {"rows": self.n_rows, "kind": self.kind, "dropped_rows": self.dropped_rows}
        told = {"kinds_told": dict(self._told)} if self._told else {}
        doubts = {"doubts": list(self.doubts())} if self.doubts() else {}
        return {**figures, "taken_for": self.in_words(), **told, **doubts, "columns": columns}

    def _described_columns(self) -> list[dict[str, Any]]:
        if self.needs_cells:
            return describe_mixed(self.names, self.values, self._codings)
        if self.kind == "discrete":
            codes, labels = self.discrete()
            return describe_levels(self.names, codes, labels, self.row_counts())
        whole = self._standard().moments
        return describe_numbers(self.names, whole.mean, whole.unit * whole.deviation, *whole.spread)

    def in_words(self) -> str:
        """Say in one line what the columns are taken for, and how many cells are empty.

        Examples
        --------
        >>> rows = [["a", 1.5], ["b", None], ["a", 2.5], ["c", 4.0]]
        >>> Data(rows, names=["site", "dose"]).in_words()
        '2 columns: 1 number, 1 class (site); 1 of 8 cells is empty and is drawn along with the graphs'
        """
        left_out = f"{number_of(self.dropped_rows, 'row')} left out for empty cells" if self.dropped_rows else ""
        columns = f"{number_of(self.n_nodes, 'column')}: {taken_for(self.names, self.kinds)}"
        parts = [columns, cells_in_words(self.gaps), left_out]
        return "; ".join(filter(None, parts))

    def digest(self) -> str:
        """Give a short text that is the same for the same table and differs for any other, for checkpoints."""
        labels = [None if coding is None else coding.labels for coding in self._codings]
        digest = hashlib.sha256(
            repr((self.names, self.kind, self.kinds, labels, self.n_rows)).encode("utf-8", "replace")
        )
        for part in self._fingerprint():
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:32]

    def _fingerprint(self) -> Iterator[Any]:
        """Give arrays that tell this table from any other: its rows, its different rows, or ranges and moments.

        Moments are given to nine digits: the last digits of sums depend on how the table was cut into batches, and on
        the machine.
        """
        if self._values is not None:
            yield from gram.row_blocks(self._values)
            if self._targets is not None:
                yield np.packbits(self._targets)
            return
        yield self._targets
        yield self._group_rows
        if self._levels is not None:
            counts = np.ones(self._levels.codes.shape[1], int) if self._row_counts is None else self._row_counts
            codes = np.vstack([self._levels.codes, counts]).astype(np.int64)
            yield codes[:, np.lexsort(codes)]
        for moments in self._group_moments:
            yield from moments.spread
            half = np.where(moments.spread.half_range > 0, moments.spread.half_range, 1.0) / moments.unit
            yield np.round(moments.gram / np.outer(half, half) / moments.rows, 9) + 0.0

    def __repr__(self) -> str:
        kind = "" if self.kind == "continuous" else f", {self.kind}"
        dropped = f"; {self.dropped_rows} dropped for missing values" if self.dropped_rows else ""
        changed = ""
        if self._targets is not None and self.has_interventions:
            nodes, rows = int((self.set_rows() > 0).sum()), self.count_rows(np.any(self._targets, axis=1))
            changed = f"; {number_of(nodes, 'node')} set in {number_of(rows, 'row')}"
        return f"Data({self.n_rows} rows × {self.n_nodes} columns{kind}: {shorten(self.names)}{changed}{dropped})"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.describe()["columns"])


def as_data(table: object) -> Data:
    """Give `table` as a `Data`; one that already is comes back unchanged, and objects may know what stands for them."""
    if hasattr(table, "as_data"):
        table = table.as_data()
    return table if isinstance(table, Data) else Data(table)


def _rows_gone(what: str, instead: str = "") -> DataError:
    return DataError(
        f"the rows of this table were not kept, since it was read in batches; {what} needs them{instead}: a table "
        "that fits into memory can be read, for example with pandas, and passed as it is"
    )


def _make_read_only(*arrays: NDArray[Any] | None) -> None:
    for array in arrays:
        if array is not None:
            array.flags.writeable = False
