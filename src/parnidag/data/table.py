"""The data of a problem: named columns that can be scored, as numbers or levels, and which of them were set where.

Everything a user can get wrong with the contents of a table is refused here (and with its form in `reading.py`), with a
`DataError` that names the columns, so that the rest of the library can trust its numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from parnidag._util.text import number_of, shorten
from parnidag.data import gram, levels
from parnidag.data.batches import streams, sum_up
from parnidag.data.columns import Floats
from parnidag.data.describing import as_html, describe_levels, describe_mixed, describe_numbers
from parnidag.data.doubts import Doubted, doubts_of
from parnidag.data.files import file_name
from parnidag.data.gaps import cells_in_words, gaps_of
from parnidag.data.interventions import read_later
from parnidag.data.kept import Kept
from parnidag.data.kinds import decide, in_order, look_at, refuse_unknown, taken_for
from parnidag.data.reading import Table, read_table, refuse_names
from parnidag.data.rows import make_read_only
from parnidag.data.summary import Cleaned, Options, Summary, clean
from parnidag.errors import DataError

MOST_COUNTED = 2**31 - 1
"""Rows of a table of classes that is read in batches: more would not fit the counts of compiled code."""


class Data(Kept):
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
    left_out : dict
        Columns that can be no node, and what they are: dates, another text in almost every row, the same in all rows,
        nothing at all, row names that were saved. Named in `columns` or `kinds` they are refused instead.
    source : str or None
        The name of the file that was read; None if it was no file.

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

    source: str | None = None
    left_out: Mapping[str, str] = MappingProxyType({})

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
        if not isinstance(table, Data):
            self.source = file_name(table)
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

    def _take_rows(self, table: Cleaned, options: Options) -> None:
        self.names, self._values, codings, self._targets, self._kept, tally, self._notes, left_out = table
        self.left_out = {**self.left_out, **left_out}
        tally.refuse(self.names, options.missing)
        refuse_unknown(options.kinds, self.names)
        self.n_rows, self.dropped_rows = tally.n_rows, tally.dropped_rows
        self._codings = tuple(
            in_order(name, options.kinds.get(name, ""), column, coding)
            for name, column, coding in zip(self.names, self._values.T, codings, strict=True)
        )
        tally.refuse_constant(self.names, codings)
        self.gaps = gaps_of(self._values) if tally.missing.any() else None
        make_read_only(self._values, self._targets, self.gaps)
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
            make_read_only(codes)
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
        make_read_only(self._targets)
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

    # -----------------------------------------------------------------------------------------------------------------
    # The table as a whole

    def doubts(self) -> tuple[str, ...]:
        """List what the model cannot carry, or what looks like a mistake: a line each with its remedy, gravest first.

        Found are columns that are functions of others, row numbers, dates, fewer rows than columns, columns far from
        normal, relations that look curved, columns that never vary where others were set, levels that are written
        alike, rows that resemble the rows before them, and kinds of columns that one value more would change. Of a
        table that is read in batches only how it was read is known.

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
        columns = f"{number_of(self.n_nodes, 'column')}: {taken_for(self.names, self.kinds)}"
        rows = f"{number_of(self.dropped_rows, 'row')} left out for empty cells" if self.dropped_rows else ""
        aside = shorten([f"{name} ({what})" for name, what in self.left_out.items()])
        parts = [columns, f"left out: {aside}" if aside else "", cells_in_words(self.gaps), rows]
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
