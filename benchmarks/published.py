"""The figures that the paper prints, as data.

From Alberto Caron, Xitong Liang, Samuel Livingstone and Jim Griffin, "Structure Learning with Adaptive Random
Neighborhood Informed MCMC", Advances in Neural Information Processing Systems 36 (NeurIPS 2023).
"""

from __future__ import annotations

TABLE1 = {"ADR": 8.84e-8, "PARNI-DAG": 19.44e-8, "Order MCMC": 145.17e-8, "Partition MCMC": 121.83e-8}
"""Protein data: time-normalised median MSE of edge probabilities, 20 chains of 3 minutes each."""

TABLE1_SECONDS, TABLE2_SECONDS = 180.0, 900.0
"""CPU seconds of each chain in the two tables."""

TABLE2 = {
    ("PC", "ADR"): 2.91e-7,
    ("PC", "PARNI-DAG"): 1.83e-7,
    ("PC", "Order MCMC"): 1.79e-7,
    ("PC", "Partition MCMC"): 12.75e-7,
    ("iterative", "ADR"): 2.37e-7,
    ("iterative", "PARNI-DAG"): 1.72e-7,  # printed with a decimal comma, "1,72"
    ("iterative", "Order MCMC"): 1.84e-7,
    ("iterative", "Partition MCMC"): 31.16e-7,
}
"""gsim100: the same by skeleton and method, 20 chains of 15 minutes each."""

NETWORKS = ("ecoli70", "magic-niab", "magic-irri", "arth150")

_ROWS: dict[str, tuple[tuple[float, float] | None, ...]] = {
    "PC": ((62.65, 1.64), (66.95, 0.82), (103.75, 0.91), (126.70, 2.10)),
    "GES": ((47.95, 1.72), (65.50, 0.42), (97.60, 0.99), (129.70, 3.47)),
    "LiNGAM": ((107.4, 3.96), (71.60, 1.34), (111.25, 2.34), None),
    "DiBS": ((71.05, 0.17), (65.80, 0.24), (102.35, 0.17), None),
    "DiBS+": ((71.25, 0.28), (64.70, 0.36), (100.45, 0.40), None),
    "DECI": ((70.95, 0.02), (66.95, 0.02), (102.00, 0.00), None),
    "Order MCMC": ((42.85, 1.30), (62.05, 1.52), (92.90, 1.46), (110.00, 1.96)),
    "Iterative MCMC": ((39.55, 2.15), (65.00, 2.43), (96.15, 2.11), (119.45, 3.43)),
    "Partition MCMC": ((48.85, 2.76), (66.20, 1.62), (103.35, 1.81), (140.75, 4.04)),
    "ADR": ((39.40, 1.27), (64.25, 0.64), (95.20, 1.16), (143.15, 1.62)),
    "PARNI-DAG": ((37.55, 1.59), (64.14, 0.55), (91.85, 0.97), (97.60, 2.16)),
}

TABLE3 = {method: dict(zip(NETWORKS, row, strict=True)) for method, row in _ROWS.items()}
"""Structural Hamming distance, N = 100, 20 data sets: mean and half width of the 95 % interval, None where "–"."""

SKELETONS: dict[float | str, float] = {0.0: 2.40e-7, 0.01: 1.92e-7, 0.05: 1.95e-7, 0.1: 1.95e-7, "iterative": 1.85e-7}
"""gsim100, appendix: MSE of PARNI-DAG started from the PC skeleton of each level, and from the iterative one."""
