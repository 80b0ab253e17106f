"""Measurements of the library: speed, mixing, accuracy, and the paper's experiments again.

`python -m benchmarks <study>` runs one of `studies/`, which stand on `harness/` (tasks, processes, results on disk),
`timed` (a chain under a budget), `methods` and `learners` (what is compared), `baselines/` (other people's methods),
`networks` and `problems` (data), `published` (the paper's figures). Other measurements are modules to be run by
themselves, such as `python -m benchmarks.mixing`.
"""
