"""gsim100, or data like it: chains of the samplers on given skeletons, and a reference to judge them by.

With a hundred nodes nothing is exact. The reference is the mean of many long, independent chains, each from its own
search, and its own error is known from how far they differ. A second family of chains with other moves (ADR with
exchanges) is there to contradict it: both have the posterior as their law, and agree within their errors or one of them
is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.harness.study import Request
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.methods import METHODS, REFERENCES, Method
from benchmarks.problems import Problem, paper_problem
from benchmarks.timed import PC_ALPHA, Space, timed_chain

MARKS = (1.0, 2.0, 5.0, 7.0, 10.0, 15.0, 20.0, 50.0, 100.0, 200.0, 300.0, 450.0, 600.0)
"""CPU seconds at which edge probabilities are noted on the way."""
TIMES_LONGER = 3
REFERENCE_SEED = 1_000_000
"""Keeps the random numbers of the reference apart from those of the chains it judges."""


@dataclass(frozen=True)
class Size:
    """How much of it: CPU seconds and number of chains, for each cell of the table and for the reference."""

    seconds: float
    replications: int
    reference_seconds: float
    reference_chains: int


SIZES = {
    "quick": Size(2.0, 2, 6.0, 4),
    "standard": Size(20.0, 6, 60.0, 8),
    "paper": Size(900.0, 20, 3600.0, 20),
}
"""The same for both studies, which share the reference and some chains."""


class Reference(NamedTuple):
    """Edge probabilities that chains are compared with."""

    probabilities: np.ndarray
    error: float
    """Its own mean squared error, from the spread of its chains."""
    contradiction: float
    """Mean squared difference of the other family of chains, nan without one."""
    expected: float
    """What that difference would be from the errors of both alone."""
    chains: int

    def in_words(self) -> str:
        """Say how good the reference is."""
        text = (
            f"The reference is the mean of {self.chains} long chains; its own mean squared error is {self.error:.1e}."
        )
        if np.isfinite(self.contradiction):
            text += (
                f" Chains of another kind (ADR with exchanges) differ from it by {self.contradiction:.1e}; errors of "
                f"both alone would make {self.expected:.1e}."
            )
        return text


def problem_at(path: str | None) -> Problem:
    return paper_problem("gsim100", path)


def run_chain(
    method: str,
    described: object,
    space: Space,
    alpha: float,
    data: str,
    marks: Sequence[float],
    seconds: float,
    seed: int,
    path: str | None,
) -> Outcome:
    """Run one chain and return its edge probabilities on the way."""
    problem, chosen = problem_at(path), chosen_method(method)
    assert (problem.data.digest(), chosen.describe()) == (data, described)
    chain = timed_chain(
        problem, chosen.sampler, seconds, seed, space=space, search=chosen.search, marks=marks, alpha=alpha
    )
    return Outcome(
        figures={
            "iterations": chain.iterations,
            "cpu_seconds": chain.seconds,
            "set_up_seconds": chain.set_up_seconds,
            "best_log_posterior": chain.best_score,
        },
        arrays={"times": chain.marks, "probabilities": chain.probabilities, "trace": chain.trace},
    )


def chosen_method(name: str) -> Method:
    return METHODS[name] if name in METHODS else REFERENCES[name]


def chain_task(
    request: Request,
    method: str,
    skeleton: str,
    space: Space,
    seconds: float,
    replication: int,
    alpha: float = PC_ALPHA,
) -> Task:
    """Return one chain of the table."""
    path = None if request.data is None else str(request.data)
    problem = problem_at(path)
    return Task(
        function="benchmarks.studies.gsim:run_chain",
        settings={
            "method": method,
            "described": chosen_method(method).describe(),
            "space": space,
            "alpha": alpha,
            "data": problem.data.digest(),
            "marks": list(MARKS) if method in METHODS else [],
            "seconds": seconds,
            "seed": request.seed_of(replication),
        },
        labels={"data": problem.name, "skeleton": skeleton, "method": method, "replication": replication},
        place={"path": path},
    )


def reference_tasks(request: Request, size: Size) -> list[Task]:
    """Return the long chains, longer if those that they judge are; half as many of the other family."""
    seconds = max(size.reference_seconds, TIMES_LONGER * (request.seconds or size.seconds))
    return [
        chain_task(request, name, "reference", "own", seconds, REFERENCE_SEED + k)
        for name, count in (("reference", size.reference_chains), ("other", size.reference_chains // 2))
        for k in range(count)
    ]


def split(found: Found) -> tuple[Found, Reference]:
    """Take the reference from its chains, and return it with the rest."""
    chains = {
        name: np.array(
            [
                outcome.arrays["probabilities"][-1]
                for task, outcome in found
                if task.labels["method"] == name and outcome.status == "done"
            ]
        )
        for name in REFERENCES
    }
    middle, error = chains["reference"].mean(axis=0), own_error(chains["reference"])
    other = chains["other"]
    enough = len(other) > 1
    reference = Reference(
        middle,
        error,
        float(((other.mean(axis=0) - middle) ** 2).mean()) if enough else np.nan,
        own_error(other) + error if enough else np.nan,
        len(chains["reference"]),
    )
    return [(task, outcome) for task, outcome in found if task.labels["method"] not in REFERENCES], reference


def own_error(chains: np.ndarray) -> float:
    """Return the mean squared error of the mean of chains, from their spread."""
    return float((chains.var(axis=0, ddof=1) / len(chains)).mean()) if len(chains) > 1 else np.nan


def judged(found: Found, reference: Reference) -> Found:
    """Return the outcomes with their errors against the reference."""
    result: Found = []
    for task, outcome in found:
        if outcome.status == "done":
            errors = ((outcome.arrays["probabilities"] - reference.probabilities) ** 2).mean(axis=(1, 2))
            figures = {"mse": float(errors[-1]), **outcome.figures}
            arrays = {"times": outcome.arrays["times"], "errors": errors, "trace": outcome.arrays["trace"]}
            outcome = Outcome("done", figures, arrays)
        result.append((task, outcome))
    return result
