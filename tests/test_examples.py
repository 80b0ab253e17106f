"""Every script in examples/ runs, says something, and writes only where it was told to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SAYS_AND_WRITES = {
    "compare_samplers.py": (r"OrderMCMC +0\.\d", {"order-bias.png"}),
    "dask_cluster.py": (
        r"2 workers sampled 50 draws per chain\nthe same draws as on threads: True",
        {"posterior.nc", "run.ckpt"},
    ),
    "discrete.py": (r"(converged|exact).*\n(.*\n)*pollen – sneezing +1\.00", {"graph.csv"}),
    "first_posterior.py": (
        r"(converged|exact).*\n(.*\n)*2\d edges are nearly certain",
        {"garden.csv", "posterior.nc", "graph.dot", "report.html"},
    ),
    "hand_over.py": (
        r"scikit-learn: [234] of 5 columns explain 0\.\d\d of soil_moisture: .*rain.*\n"
        r"pgmpy: P\(soil_moisture high \| rain high\) = 0\.[6-9]\d\n"
        r"(DoWhy: one unit more of rain adds|dowhy is not installed)",
        {"kept.csv"},
    ),
    "interventions.py": (r"regulator → messenger .* 1\.0", {"experiments.csv"}),
    "mpi_cluster.py": (r"threads\n.*converged", {"posterior.nc", "run.ckpt"}),
    "own_score.py": (r"flowers → bees .* 1\.00 .* 1\.00", {"scores.csv"}),
    "panel.py": (r"Panel\(955 rows(.*\n)*exercise glucose +0\.\d\d +1\.00", {"slices.png"}),
    "prior_knowledge.py": (r"altitude → rain .* 1\.00", {"priors.csv"}),
}
"""A part of what each prints, and the files it leaves."""


def run(script, *arguments, cwd, **variables):
    environment = {**os.environ, "PYTHONUTF8": "1", **variables}
    command = [sys.executable, str(EXAMPLES / script), *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_script_is_known():
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix == ".py"} == set(SAYS_AND_WRITES)


@pytest.mark.parametrize("script", SAYS_AND_WRITES)
def test_script_runs(script, tmp_path):
    told, elsewhere = tmp_path / "told", tmp_path / "elsewhere"
    told.mkdir()
    elsewhere.mkdir()
    pattern, files = SAYS_AND_WRITES[script]
    assert re.search(pattern, run(script, str(told), cwd=elsewhere))
    assert {path.name for path in told.iterdir()} == files
    assert not list(elsewhere.iterdir())


def test_without_a_folder_a_temporary_one_is_made_and_named(tmp_path):
    said = run("prior_knowledge.py", cwd=tmp_path, TMPDIR=str(tmp_path))
    (made,) = tmp_path.glob("parnidag-*")
    assert str(made / "priors.csv") in said
    assert (made / "priors.csv").exists()
