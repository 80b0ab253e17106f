"""Table 2 and Figure 2: gsim100 with the PC and the iterative skeleton, against a reference of long chains."""

from __future__ import annotations

from benchmarks.drawing import error_figure, trace_figure
from benchmarks.harness.study import Report, Request, Study, rows_of
from benchmarks.harness.task import Found, Task
from benchmarks.methods import METHODS
from benchmarks.published import TABLE2 as PUBLISHED
from benchmarks.published import TABLE2_SECONDS
from benchmarks.studies.gsim import SIZES, Size, chain_task, judged, reference_tasks, split
from benchmarks.studies.mse import curves_and_traces, error_table, in_short
from benchmarks.timed import Space

CHOICE = ("adr", "parni-printed", "parni-gibbs", "parni", "order", "partition")
LABELS = ("skeleton", "method")
SKELETONS: dict[str, Space] = {"PC": "pc", "iterative": "iterative"}


def tasks(request: Request, size: Size) -> list[Task]:
    """Return the reference and the chains; a method that no skeleton changes is there once."""
    seconds = request.seconds or size.seconds
    return reference_tasks(request, size) + [
        chain_task(request, name, skeleton, METHODS[name].space or space, seconds, replication)
        for replication in range(request.replications or size.replications)
        for name in request.chosen(CHOICE)
        for skeleton, space in SKELETONS.items()
        if METHODS[name].space is None or skeleton == "PC"
    ]


def name(skeleton: str, method: str) -> tuple[str, str]:
    """Return what a line is called."""
    chosen = METHODS[method]
    return chosen.label, {None: skeleton, "none": "none", "own": "its own"}[chosen.space]


def published(skeleton: str, method: str) -> tuple[float, ...]:
    """Return the paper's figures of a line: of both skeletons for a method that is here without one."""
    chosen = METHODS[method]
    skeletons = (skeleton,) if chosen.space is None else SKELETONS
    return tuple(PUBLISHED[one, chosen.peer] for one in skeletons if (one, chosen.peer) in PUBLISHED)


def report(request: Request, size: Size, found: Found) -> Report:
    """Return errors beside the paper's, errors against time, and traces."""
    chains, reference = split(found)
    chains = judged(chains, reference)
    data = found[0][0].labels["data"]
    real = data == "gsim100"
    seconds = request.seconds or size.seconds
    table = error_table(chains, LABELS, ["", "skeleton"], seconds, name, published if real else lambda *_: ())
    curves, traces = curves_and_traces(chains, LABELS, name)
    peers = {}
    if real:
        peers = {
            in_short(name(skeleton, method)): [(TABLE2_SECONDS, value) for value in published(skeleton, method)]
            for method in CHOICE
            for skeleton in SKELETONS
        }
    text = (
        f"{data}: median over chains of the mean squared error of the edge probabilities (all n² positions), with the "
        f"95 % interval of the median; the paper's chains had {TABLE2_SECONDS:g} s. {reference.in_words()}"
        f"\n\n{table}"
    )
    figures = {
        "": error_figure(curves, peers, f"{data}: error against long chains", reference.error),
        "-trace": trace_figure(traces, f"{data}: log posterior along one chain", best_known(found)),
    }
    return Report(rows_of(chains), text, figures)


def best_known(found: Found) -> float:
    """Return the best log posterior that any chain has met."""
    scores = [float(outcome.figures["best_log_posterior"]) for _, outcome in found if outcome.status == "done"]
    return max(scores, default=float("nan"))


TABLE2 = Study(
    name="table2",
    about="gsim100: errors against long chains, two skeletons, and traces",
    methods=CHOICE,
    sizes=SIZES,
    tasks=tasks,
    report=report,
    data=("a file", "a folder"),
)
