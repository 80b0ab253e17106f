"""What is believed of edges before the data."""

from parnidag.priors.edge_prior import EdgePrior as EdgePrior
