"""The posterior without sampling: sums over all graphs of few nodes, and independent draws."""
