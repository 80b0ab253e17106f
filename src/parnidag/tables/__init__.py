"""Scores of all parent sets that a search space allows, sums over them, and walks over orders and partitions."""
