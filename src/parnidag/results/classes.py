"""What the stored graphs say of equivalence classes: which directions data can tell."""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np
import pandas as pd

from parnidag.results.verdict import edge_label

SHOWN_PAIRS = 12
SPACED = "text-align:left;padding:.1em 1em .1em 0"


@dataclass(frozen=True, repr=False)
class CpdagProbabilities:
    """How probable each edge of the equivalence class is: what data alone can tell.

    The classes are those of observation. Where nodes were set by an experimenter the data tell more: a pair can be open
    here and have a direction with certainty in `Posterior.edge_probabilities`.

    Attributes
    ----------
    compelled : data frame
        Rows are parents, columns children: probability that every graph of the class has this edge, this way.
    reversible : data frame
        Symmetric: probability that the class has the edge, but leaves its direction open.

    Examples
    --------
    >>> import parnidag
    >>> data = parnidag.simulate(nodes=2, edges=1, rows=100, seed=1).values
    >>> parnidag.exact(data, draws=100, seed=1).cpdag_probabilities
    CpdagProbabilities: 2 nodes, 1 pair with probability 0.01 or more
      pair     adjacent      →      ←   open
      X0 – X1      1.00   0.00   0.00   1.00
    """

    compelled: pd.DataFrame
    reversible: pd.DataFrame

    @property
    def adjacent(self) -> pd.DataFrame:
        """Symmetric: probability that there is an edge between two nodes, either way."""
        return self.compelled + self.compelled.T + self.reversible

    def table(self, min_probability: float = 0.01) -> pd.DataFrame:
        """Tabulate the pairs of nodes, those that are most probably joined first.

        Parameters
        ----------
        min_probability : float, default 0.01
            Pairs less probably joined are left out.

        Returns
        -------
        pandas.DataFrame
            Columns `first`, `second`; `adjacent`, the probability of an edge; and its parts: `forward`, that every
            graph of the class has first → second, `backward`, that every one has second → first, and `open`, that data
            cannot tell the direction.
        """
        names = list(self.compelled.columns)
        compelled, reversible = self.compelled.to_numpy(), self.reversible.to_numpy()
        adjacent = self.adjacent.to_numpy()
        first, second = np.nonzero(np.triu(adjacent >= min_probability, 1))
        turned = compelled[second, first] > compelled[first, second]
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        order = np.argsort(-adjacent[first, second].round(9), kind="stable")
        first, second = first[order], second[order]
        return pd.DataFrame(
            {
                "first": [names[k] for k in first],
                "second": [names[k] for k in second],
                "adjacent": adjacent[first, second],
                "forward": compelled[first, second],
                "backward": compelled[second, first],
                "open": reversible[first, second],
            }
        )

    def __repr__(self) -> str:
        table = self.table()
        shown = list(table.head(SHOWN_PAIRS).itertuples(index=False))
        labels = [edge_label(first, second, "–") for first, second, *_ in shown]
        width = max(map(len, labels), default=4)
        lines = [self._title(table), f"  {'pair':<{width}}  adjacent      →      ←   open"]
        for label, (*_, adjacent, forward, backward, either) in zip(labels, shown, strict=True):
            lines.append(f"  {label:<{width}}  {adjacent:>8.2f} {forward:>6.2f} {backward:>6.2f} {either:>6.2f}")
        return "\n".join([*lines, *self._more(table)])

    def _repr_html_(self) -> str:
        table = self.table()
        head = "".join(f'<th style="{SPACED}">{name}</th>' for name in ("pair", "adjacent", "→", "←", "open"))
        rows = [
            f'<tr><td style="{SPACED}">{html.escape(first)} – {html.escape(second)}</td>'
            + "".join(f'<td style="{SPACED}">{share:.2f}</td>' for share in shares)
            + "</tr>"
            for first, second, *shares in table.head(SHOWN_PAIRS).itertuples(index=False)
        ]
        more = "".join(f"<p>{html.escape(line.strip())}</p>" for line in self._more(table))
        return (
            f"<div><p><strong>{self._title(table)}</strong></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}</div>"
        )

    def _title(self, table: pd.DataFrame) -> str:
        pairs = f"{len(table)} pair{'s' * (len(table) != 1)}"
        return f"CpdagProbabilities: {len(self.compelled)} nodes, {pairs} with probability 0.01 or more"

    def _more(self, table: pd.DataFrame) -> list[str]:
        more = len(table) - SHOWN_PAIRS
        return [f"  … and {more} more: see table()"] if more > 0 else []
