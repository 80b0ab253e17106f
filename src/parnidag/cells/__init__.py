"""Cells that are not known: what may stand in them, and how they are drawn given a graph."""
