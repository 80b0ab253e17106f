"""Patients over weeks: which quantity acts on which, and how much later.

python examples/panel.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import parnidag
from parnidag import plots


def weekly_visits(patients: int = 40, weeks: int = 25, seed: int = 3) -> pd.DataFrame:
    """Exercise lowers glucose a week later, glucose raises insulin at once, and age raises glucose."""
    rng = np.random.default_rng(seed)
    rows = []
    for patient in range(patients):
        age, (glucose, insulin, exercise) = rng.normal(), np.zeros(3)
        for week in range(weeks):
            earlier, exercise = exercise, 0.5 * exercise + rng.normal()
            glucose = 0.4 * glucose - 0.5 * earlier + 0.3 * age + rng.normal()
            insulin = 0.3 * insulin + 0.6 * glucose + rng.normal()
            rows.append((patient, week, age, glucose, insulin, exercise))
    return pd.DataFrame(rows, columns=["patient", "week", "age", "glucose", "insulin", "exercise"])


def main(folder: Path) -> None:
    """Make a panel of the visits, weigh its dynamic networks, and follow a week of exercise through the next weeks."""
    visits = weekly_visits().drop(index=[30, 31, 77])  # some visits were missed
    panel = parnidag.Panel(visits, time="week", unit="patient", lags=1, static=["age"])
    print(panel)

    posterior = parnidag.sample(panel, seed=1, progress=False)
    print(posterior.diagnostics().verdict, end="\n\n")
    print(posterior.lag_probabilities().head(6).round(2), end="\n\n")

    print("One unit more of exercise, once:")
    print(posterior.impulse_responses("exercise", steps=4).mean.round(2))
    plots.slices(posterior).figure.savefig(folder / "slices.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="parnidag-")))
