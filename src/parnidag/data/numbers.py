"""A table as numbers: cross products, means and scales of its columns."""

from __future__ import annotations

from functools import reduce
from itertools import compress

import numpy as np

from parnidag._util.text import shorten
from parnidag.data import gram, levels
from parnidag.data.columns import Floats, Mask
from parnidag.data.gaps import refuse_gaps
from parnidag.data.rows import Rows
from parnidag.errors import DataError


class Numbers(Rows):
    """What scores of numbers ask of a table."""

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
