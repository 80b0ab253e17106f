"""What the shape of a table says of edges: which columns are parents only, and which edges it rules out or demands."""

from __future__ import annotations

from typing import NamedTuple

from parnidag.data.columns import Mask


class EdgeRules(NamedTuple):
    """Rules that come with the data, beside those that a prior has."""

    parents_only: Mask
    """Columns that are parents and nothing else: no edge leads into them, and they have no score (n)."""
    forbidden: Mask
    """Edges that are in no graph, those into `parents_only` among them (n × n)."""
    required: Mask
    """Edges that are in every graph (n × n)."""
