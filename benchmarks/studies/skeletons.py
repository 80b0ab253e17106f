"""The appendix's study of skeletons: PARNI on gsim100, begun from PC skeletons of four levels and the iterative one.

The level 0 keeps no pair at all.
"""

from __future__ import annotations

from benchmarks.drawing import error_figure, trace_figure
from benchmarks.harness.study import Report, Request, Study, rows_of
from benchmarks.harness.task import Found, Task
from benchmarks.methods import METHODS
from benchmarks.published import SKELETONS as PUBLISHED
from benchmarks.published import TABLE2_SECONDS
from benchmarks.studies.gsim import SIZES, Size, chain_task, judged, reference_tasks, split
from benchmarks.studies.mse import curves_and_traces, error_table
from benchmarks.studies.table2 import best_known
from benchmarks.timed import PC_ALPHA, Space

CHOICE = ("parni-printed", "parni-gibbs")
LABELS = ("skeleton", "method")
LEVELS = {"PC, α = 0": 0.0, "PC, α = 0.01": 0.01, "PC, α = 0.05": 0.05, "PC, α = 0.1": 0.1}
ITERATIVE = "iterative"


def tasks(request: Request, size: Size) -> list[Task]:
    """Return the reference, which is that of table 2, and the chains."""
    skeletons: list[tuple[str, Space, float]] = [(label, "pc", alpha) for label, alpha in LEVELS.items()]
    skeletons.append((ITERATIVE, "iterative", PC_ALPHA))
    return reference_tasks(request, size) + [
        chain_task(request, method, label, space, request.seconds or size.seconds, replication, alpha)
        for replication in range(request.replications or size.replications)
        for method in request.chosen(CHOICE)
        for label, space, alpha in skeletons
    ]


def name(skeleton: str, method: str) -> tuple[str, str]:
    """Return what a line is called."""
    return METHODS[method].label, skeleton


def published(skeleton: str, method: str) -> tuple[float, ...]:
    """Return the paper's figure of a line."""
    return (PUBLISHED[LEVELS.get(skeleton, skeleton)],) if METHODS[method].peer else ()


def report(request: Request, size: Size, found: Found) -> Report:
    """Return errors by skeleton, errors against time, and traces."""
    chains, reference = split(found)
    chains = judged(chains, reference)
    data = found[0][0].labels["data"]
    seconds, real = request.seconds or size.seconds, data == "gsim100"
    table = error_table(chains, LABELS, ["", "skeleton"], seconds, name, published if real else lambda *_: ())
    curves, traces = curves_and_traces(chains, LABELS, name)
    text = (
        f"{data}: median over chains of the mean squared error of the edge probabilities, with the 95 % "
        f"interval of the median; the paper's chains had {TABLE2_SECONDS:g} s. {reference.in_words()}\n\n{table}"
    )
    figures = {
        "": error_figure(curves, {}, f"{data}: error by skeleton", reference.error),
        "-trace": trace_figure(traces, f"{data}: log posterior along one chain", best_known(found)),
    }
    return Report(rows_of(chains), text, figures)


SKELETONS = Study(
    name="skeletons",
    about="gsim100: PARNI begun from five skeletons, as in the appendix",
    methods=CHOICE,
    sizes=SIZES,
    tasks=tasks,
    report=report,
    data=("a file", "a folder"),
)
