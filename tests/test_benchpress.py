"""The module for Benchpress: its script on tables of that format, read back as the platform reads trajectories."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import parnidag

FOLDER = Path(__file__).parents[1] / "integrations" / "benchpress" / "parnidag"
SCHEMA = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
EXAMPLES = {example["datatype"]: example for example in SCHEMA["items"]["examples"]}


def run(tmp_path, table, **settings):
    """Run the script as Snakemake would, with one value for each setting, and return what it wrote."""
    table.to_csv(tmp_path / "data.csv", index=False)
    files = {name: str(tmp_path / f"{name}.txt") for name in ("seqgraph", "time", "ntests")}
    example = {**EXAMPLES[settings["datatype"]], "draws": 100, "chains": 2, **settings}
    words = {name: str(value) for name, value in example.items()}
    asked = SimpleNamespace(input={"data": str(tmp_path / "data.csv")}, output=files, wildcards=words)
    runpy.run_path(str(FOLDER / "script.py"), init_globals={"snakemake": asked})
    return pd.read_csv(files["seqgraph"]), {name: Path(path).read_text() for name, path in files.items()}


def edges(text):
    return re.findall(r"([^\[;\]]+)->([^\[;\]]+)", text)


def read_back(trajectory, names):
    """Shares of draws with each edge: a graph counts by the distance from its line to the next, from index 0 on."""
    place = {name: k for k, name in enumerate(names)}
    graph, total = np.zeros((len(names), len(names))), 0.0
    shares = np.zeros_like(graph)
    for k, row in trajectory.iterrows():
        if row["index"] > 0:
            weight = row["index"] - trajectory["index"][k - 1]
            shares += weight * graph
            total += weight
        for texts, value in ((row["added"], 1), (row["removed"], 0)):
            for parent, child in edges(texts):
                assert graph[place[parent], place[child]] != value, "an edge is added once, and removed if it is there"
                graph[place[parent], place[child]] = value
    return shares / total


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(3)
    numbers = pd.DataFrame(parnidag.simulate(nodes=5, edges=5, rows=60, seed=2).values, columns=list("abcde"))
    classes = pd.DataFrame({"a": rng.integers(0, 2, 80), "b": rng.integers(0, 3, 80)})
    classes["c"] = (classes["a"] + (rng.random(80) < 0.2)) % 2
    levels = pd.DataFrame([{"a": 2, "b": 3, "c": 2}])
    return {"continuous": numbers, "discrete": pd.concat([levels, classes])}


@pytest.mark.parametrize("datatype", ["continuous", "discrete"])
def test_the_trajectory_is_that_of_the_draws(tmp_path, tables, datatype):
    table = tables[datatype]
    found, written = run(tmp_path, table, datatype=datatype, mcmc_seed=4)
    assert list(found) == ["index", "score", "added", "removed"]
    rows = table if datatype == "continuous" else table.iloc[1:]
    kind = {"kind": datatype}
    prior = parnidag.EdgePrior(max_parents=5) if datatype == "discrete" else None
    data = parnidag.Data(rows.astype(int) if datatype == "discrete" else rows, **kind)
    expected = parnidag.sample(data, prior=prior, draws=100, chains=2, seed=4, progress=False)
    shares = expected.graphs.reshape(-1, len(rows.columns), len(rows.columns)).mean(axis=0)
    np.testing.assert_allclose(read_back(found, list(table)), shares, atol=1e-9)
    assert [found["index"].iloc[k] for k in (0, 1, 2, -1)] == [-2, -1, 0, 200]
    assert float(written["time"]) >= 0
    assert written["ntests"].strip() == "None"


def test_the_first_line_of_a_discrete_table_is_no_row(tmp_path, tables):
    """A reader that took the numbers of levels for a row would see another table."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("benchpress_script", FOLDER / "script.py")
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    tables["discrete"].to_csv(tmp_path / "data.csv", index=False)
    assert script.read(str(tmp_path / "data.csv"), "discrete").n_rows == 80


def test_the_files_agree_with_each_other():
    script, rule = ((FOLDER / name).read_text(encoding="utf-8") for name in ("script.py", "rule.smk"))
    properties = set(SCHEMA["items"]["properties"])
    asked = set(re.findall(r'(?:settings|wildcards)\["(\w+)"\]', script))
    platform = {"id", "threshold", "mcmc_estimator", "burnin_frac"}
    assert asked | platform == properties == set(SCHEMA["items"]["required"])
    for example in SCHEMA["items"]["examples"]:
        assert set(example) == properties
    assert set(re.findall(r"(\w+)=alg_output", rule)) == {"seqgraph", "time", "ntests"}
    assert json.loads((FOLDER / "info.json").read_text())["outputs"] == ["graphtraj"]


def test_scores_and_samplers_of_the_schema_exist():
    from parnidag.samplers.by_name import NAMES as SAMPLERS
    from parnidag.scores.by_name import NAMES as SCORES

    for setting, known in (("score", SCORES), ("sampler", SAMPLERS)):
        words = next(one["enum"] for one in SCHEMA["items"]["properties"][setting]["anyOf"] if "enum" in one)
        assert set(words) <= set(known), setting
