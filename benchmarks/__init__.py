"""Measurements of the library: speed, mixing, accuracy, and the paper's experiments again.

`python -m benchmarks <study>` runs one of `studies/`, which stand on `harness/` (tasks, processes, results on disk),
`timed` (a chain under a budget), `methods` and `learners` (what is compared), `baselines/` (other people's methods),
`networks` and `problems` (data), `published` (the paper's figures). Other measurements are modules to be run by
themselves, as in `python -m benchmarks.mixing`:

- do chains mix, and find the posterior: `mixing`, `defaults`, `against_exact`, `calibration`;
- what scores gain: `nonlinear`, `interventions`;
- how long it takes, and how much memory: `spaces`, `large`, `big_tables`, `soak`;
- is it still right after a change: `digests` (the same bits as before, run by run), `kills` (after `kill -9`).
"""
