"""Table 1 and Figure 1: the protein data, against the exact posterior.

The paper compares with a five-hour chain of partition MCMC. Eleven nodes can be summed exactly, so the errors here have
no floor; what is left of order MCMC's after a long time is its bias.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import parnidag
from benchmarks.drawing import error_figure, trace_figure
from benchmarks.harness.study import Report, Request, Study, rows_of
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.methods import METHODS
from benchmarks.networks import MissingData
from benchmarks.problems import Problem, paper_problem
from benchmarks.published import TABLE1 as PUBLISHED
from benchmarks.published import TABLE1_SECONDS
from benchmarks.studies.mse import curves_and_traces, error_table
from benchmarks.timed import timed_chain

MOST_NODES = 17
"""More would take minutes to sum over."""
CHOICE = ("adr", "parni-printed", "parni-gibbs", "parni", "order", "partition")
MARKS = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0)
"""CPU seconds at which errors are noted on the way."""


@dataclass(frozen=True)
class Size:
    """How much of it: CPU seconds of a chain, and chains of each method."""

    seconds: float
    replications: int


@functools.cache
def exact_probabilities(path: str | None) -> np.ndarray:
    """Return the exact edge probabilities; computed once in each process."""
    return parnidag.exact(problem_at(path).data).edge_probabilities.to_numpy()


def problem_at(path: str | None) -> Problem:
    """Return the data, if an exact posterior can be computed for them."""
    problem = paper_problem("protein", path)
    if problem.data.n_nodes > MOST_NODES:
        raise MissingData(f"--data {path} has {problem.data.n_nodes} columns; table 1 can do {MOST_NODES}, exactly")
    return problem


def run_chain(
    method: str, described: object, data: str, marks: Sequence[float], seconds: float, seed: int, path: str | None
) -> Outcome:
    """Run one chain and return its errors on the way."""
    problem, chosen = problem_at(path), METHODS[method]
    assert (problem.data.digest(), chosen.describe()) == (data, described)
    truth = exact_probabilities(path)
    chain = timed_chain(
        problem,
        chosen.sampler,
        seconds,
        seed,
        space=chosen.space or "all",
        search=chosen.search,
        marks=marks,
    )
    errors = ((chain.probabilities - truth) ** 2).mean(axis=(1, 2))
    return Outcome(
        figures={
            "mse": float(errors[-1]),
            "iterations": chain.iterations,
            "cpu_seconds": chain.seconds,
            "set_up_seconds": chain.set_up_seconds,
            "best_log_posterior": chain.best_score,
        },
        arrays={"times": chain.marks, "errors": errors, "trace": chain.trace},
    )


def tasks(request: Request, size: Size) -> list[Task]:
    """Return the chains, replication by replication, so that a busy hour hits all methods alike."""
    path = None if request.data is None else str(request.data)
    problem = problem_at(path)
    return [
        Task(
            function="benchmarks.studies.table1:run_chain",
            settings={
                "method": name,
                "described": METHODS[name].describe(),
                "data": problem.data.digest(),
                "marks": list(MARKS),
                "seconds": request.seconds or size.seconds,
                "seed": request.seed_of(replication),
            },
            labels={"data": problem.name, "method": name, "replication": replication},
            place={"path": path},
        )
        for replication in range(request.replications or size.replications)
        for name in request.chosen(CHOICE)
    ]


def published(method: str) -> tuple[float, ...]:
    """Return the paper's figure of a line."""
    peer = METHODS[method].peer
    return (PUBLISHED[peer],) if peer in PUBLISHED else ()


def name(method: str) -> tuple[str]:
    """Return what a line is called."""
    return (METHODS[method].label,)


def report(request: Request, size: Size, found: Found) -> Report:
    """Return errors beside the paper's, errors against time, and traces."""
    data = found[0][0].labels["data"]
    real = data == "protein"
    seconds = request.seconds or size.seconds
    table = error_table(found, ["method"], [""], seconds, name, published if real else lambda *_: ())
    curves, traces = curves_and_traces(found, ["method"], name)
    peers = {}
    if real:
        peers = {METHODS[one].label: [(TABLE1_SECONDS, value) for value in published(one)] for one in CHOICE}
    text = (
        f"{data}: median over chains of the mean squared error of the edge probabilities (all n² positions) against "
        f"the exact posterior, with the 95 % interval of the median; the paper's chains had "
        f"{TABLE1_SECONDS:g} s.\n\n{table}"
    )
    figures = {
        "": error_figure(curves, peers, f"{data}: error against the exact posterior"),
        "-trace": trace_figure(traces, f"{data}: log posterior along one chain"),
    }
    return Report(rows_of(found), text, figures)


TABLE1 = Study(
    name="table1",
    about="protein data: errors against the exact posterior, and traces",
    methods=CHOICE,
    sizes={"quick": Size(2.0, 3), "standard": Size(30.0, 6), "paper": Size(180.0, 20)},
    tasks=tasks,
    report=report,
    data=("a file", "a folder"),
)
