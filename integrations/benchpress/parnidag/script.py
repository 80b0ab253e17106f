"""Sample the posterior over DAGs for Benchpress, and write the draws as the graph trajectory that it reads.

Snakemake puts the object `snakemake` into this script: `input["data"]` is the table, `wildcards` hold the settings of
schema.json as text ("None" for null), `output` names the files to write.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import parnidag
from parnidag import EdgePrior
from parnidag.samplers.by_name import named_sampler
from parnidag.scores.by_name import named_score

NOTHING = "[]"


def given(text: str, kind: type) -> Any:
    """Return a setting as Python knows it; None for null."""
    return None if text == "None" else kind(text)


def read(path: str, datatype: str) -> parnidag.Data:
    """Read a table of Benchpress, in which a discrete one has the numbers of levels in its second line."""
    table = pd.read_csv(path)
    if datatype == "discrete":
        return parnidag.Data(table.iloc[1:].astype(int), kind="discrete")
    return parnidag.Data(table, kind="continuous")


def sample(data: parnidag.Data, settings: Any) -> parnidag.Posterior:
    """Run the sampler with the settings of one line of the configuration."""
    score, sampler = given(settings["score"], str), given(settings["sampler"], str)
    ess, h = given(settings["ess"], float), given(settings["h"], float)
    options = {} if ess is None else {"ess": str(ess)}
    asked = {"h": h, "max_parents": given(settings["max_parents"], int)}
    return parnidag.sample(
        data,
        score=named_score(score, options) if score is not None else None,
        prior=EdgePrior(**{name: value for name, value in asked.items() if value is not None}),
        sampler=None if sampler is None else named_sampler(sampler),
        draws=int(settings["draws"]),
        chains=int(settings["chains"]),
        seed=int(settings["mcmc_seed"]),
        progress=False,
    )


def edges(pairs: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """Write edges as Benchpress does: [a->b;c->d]."""
    return "[" + ";".join(f"{names[i]}->{names[j]}" for i, j in pairs) + "]"


def trajectory(posterior: parnidag.Posterior) -> Iterator[tuple[int, float, str, str]]:
    """Yield index, score, added and removed edges: one chain after the other, a line wherever the graph changes.

    Two lines in front add and remove an edge to every node, which tells readers the nodes and their order. A last line
    without changes ends the sequence: readers weigh a graph by the distance to the next line, so the last one would
    count for nothing without it.
    """
    names, scores = posterior.nodes, posterior.log_posterior
    every = edges([(0, j) for j in range(1, len(names))], names)
    yield -2, 0.0, every, NOTHING
    yield -1, 0.0, NOTHING, every
    before = np.zeros((len(names), len(names)), bool)
    chains, draws = scores.shape
    for index in range(chains * draws):
        graph = posterior.graph_at(index // draws, index % draws)
        if index and (graph == before).all():
            continue
        added, removed = np.argwhere(graph & ~before), np.argwhere(before & ~graph)
        yield index, float(scores[index // draws, index % draws]), edges(added, names), edges(removed, names)
        before = graph
    yield chains * draws, float(scores[-1, -1]), NOTHING, NOTHING


def main(snakemake: Any) -> None:
    """Sample, and write the trajectory and the CPU seconds that it took."""
    settings = snakemake.wildcards
    began = time.process_time()
    posterior = sample(read(snakemake.input["data"], settings["datatype"]), settings)
    seconds = time.process_time() - began
    table = pd.DataFrame(trajectory(posterior), columns=["index", "score", "added", "removed"])
    table.to_csv(snakemake.output["seqgraph"], index=False)
    Path(snakemake.output["time"]).write_text(f"{seconds}\n", encoding="utf-8")
    Path(snakemake.output["ntests"]).write_text("None\n", encoding="utf-8")


def limited(snakemake: Any) -> contextlib.AbstractContextManager[object]:
    """Return what ends the run after the time limit, by the platform's own means; nothing without a limit."""
    if snakemake.wildcards["timeout"] == "None":
        return contextlib.nullcontext()
    sys.path.append("workflow/scripts/utils")
    from add_timeout import timeoutf

    files = [snakemake.output[name] for name in ("seqgraph", "time", "ntests")]
    limit: contextlib.AbstractContextManager[object] = timeoutf(
        int(snakemake.wildcards["timeout"]), *files, time.perf_counter()
    )
    return limit


if "snakemake" in globals():
    with limited(snakemake):  # type: ignore[name-defined]  # noqa: F821
        main(snakemake)  # type: ignore[name-defined]  # noqa: F821
