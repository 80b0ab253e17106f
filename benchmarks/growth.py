"""What one chain costs on a simulated network of a given size: set-up, an iteration, an effective draw, memory.

CPU time throughout. Importing, compiling and simulating are not charged. Set-up is what `sample` does before the first
iteration of one chain, apart from iterations: reading the table into what scores need, and the search for a start (ADR,
which has no search, is given PARNI's start, so that all chains are measured where the posterior is).

Effective draws are those of edges, from counts over all iterations: edges are what people read off, and counts miss
nothing between stored draws. Of the open edges the median of the ten slowest says how long a whole answer takes; the
median of all says how an edge fares that is not the worst of many, which more nodes alone would make worse.

Memory is what the system says of a process that does nothing else: the height that it reached above what it had with
everything imported, compiled and simulated. Processes of the harness run many tasks and keep freed memory, so that
this needs a fresh one (`alone`).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import parnidag
from benchmarks.chains import BATCHES, FIRST_RATE, Walk, run_chains, set_up
from benchmarks.figures import OPEN_EDGES, SLOWEST
from benchmarks.methods import METHODS
from benchmarks.problems import build, simulated
from benchmarks.timed import warmed_up
from parnidag.data import Data
from parnidag.results.convergence import chain_probabilities, edge_ess, edge_mcse
from parnidag.samplers import PARNI
from parnidag.samplers.base import Sampler, new_chain

Figures = dict[str, float | int | str | None]

FEWEST_EFFECTIVE = 2 * BATCHES
"""An edge that moves less often than batches end cannot be told from one that moves once a batch."""
MANY_NODES = 200
"""From here on chains run compiled code that small ones do not load."""
MEGABYTE = 1e6


@dataclass(frozen=True)
class Point:
    """A network, its data, and how long one chain is watched."""

    nodes: int
    edges: int
    rows: int
    seconds: float
    """CPU seconds after tuning."""
    tuning_draws: int
    """Tuning takes as many iterations as so many stored draws do by default; the default call has 250."""
    seed: int


def measured(method: str, point: Point, alone: bool = False) -> Figures:
    """Return the figures of one chain; `alone` has it run in a fresh process, whose memory is then known too."""
    if not alone:
        return _measured(method, point, None)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send_measured, args=(theirs, method, point))
    process.start()
    theirs.close()
    try:
        found: Figures | Exception = ours.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"the process ended with code {process.exitcode}") from None
    process.join()
    if isinstance(found, Exception):
        raise found
    return found


def _send_measured(connection: Connection, method: str, point: Point) -> None:
    """Measure in this process, and go quietly when the one that asked is gone."""
    try:
        found: Figures | Exception = _measured(method, point, Memory())
    except Exception as error:  # the one that asked reports it
        found = error
    with contextlib.suppress(BrokenPipeError):
        connection.send(found)


@functools.cache
def warmed_up_for_many(sampler: Sampler) -> None:
    """Compile what chains of many nodes have of their own: compilers take time and memory that are not the chain's."""
    problem = simulated("warm-up", nodes=MANY_NODES, edges=MANY_NODES // 2, rows=100)
    run_chains(problem, sampler, "found", chains=1, seconds=0.02, seed=1, jobs=1)


def _measured(method: str, point: Point, memory: Memory | None) -> Figures:
    sampler = METHODS[method].sampler
    values = parnidag.simulate(nodes=point.nodes, edges=point.edges, rows=point.rows, seed=point.seed).values
    for used in {sampler, PARNI()}:
        warmed_up(used)
        if point.nodes >= MANY_NODES:
            warmed_up_for_many(used)
    if memory is not None:
        memory.begin()
    began = time.process_time()
    problem = build(f"n={point.nodes}", Data(values))
    reading = time.process_time() - began
    ready = set_up(problem, sampler, "found", 1, point.seed)
    chain = new_chain(problem.target, ready.starts[0], point.seed, 0)
    tune = point.tuning_draws * sampler.default_thin(point.nodes)
    sampler.begin(problem.target, ready.prepared, chain, tune)
    walk = Walk(sampler, problem, chain, FIRST_RATE)
    while chain.iteration < tune:
        walk.segment(tune - chain.iteration)
    figures: Figures = {"reading_seconds": reading, "search_seconds": ready.seconds, "tuning_seconds": walk.used}
    if memory is not None:
        figures |= memory.figures()
    return figures | kept_figures(walk, point.seconds)


def kept_figures(walk: Walk, seconds: float) -> Figures:
    """Run for so many seconds after tuning, and return what an iteration and an effective draw cost."""
    began = walk.used
    counts, lengths = open_edge_counts(walk, seconds)
    return draw_figures(counts, lengths, walk.used - began)


def draw_figures(counts: np.ndarray, lengths: np.ndarray, used: float) -> Figures:
    """Return the same from counts of the open edges, and the seconds that their iterations took."""
    iterations = int(lengths.sum())
    effective = np.sort(edge_ess(chain_probabilities(counts, lengths)[0], edge_mcse(counts, lengths), iterations))
    figures: Figures = {"iterations": iterations, "microseconds_an_iteration": 1e6 * used / iterations}
    for name, edges in (("slow", effective[:SLOWEST]), ("typical", effective)):
        draws = float(np.median(edges)) if edges.size else 0.0
        figures[f"effective_draws_{name}"] = draws
        figures[f"seconds_a_draw_{name}"] = used / draws if draws >= FEWEST_EFFECTIVE else None
    return figures | {"open_edges": len(effective)}


def open_edge_counts(walk: Walk, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of the open edges (1 × batch × edge) and the batches' iterations (1 × batch).

    Counts of all pairs in all batches would be the largest array of the whole measurement.
    """
    chain, began = walk.chain, walk.used
    batches, lengths = list[dict[int, int]](), list[int]()
    start, first = chain.graph.visits.copy(), chain.iteration
    before, seen = start, first
    for batch in range(BATCHES):
        walk.until(began + seconds * (batch + 1) / BATCHES)
        now = chain.graph.visits.copy()
        gained = (now - before).ravel()
        present = np.flatnonzero(gained)
        batches.append(dict(zip(present.tolist(), gained[present].tolist(), strict=True)))
        lengths.append(chain.iteration - seen)
        before, seen = now, chain.iteration
    share = (before - start).ravel() / (seen - first)
    wanted = np.flatnonzero((share > OPEN_EDGES[0]) & (share < OPEN_EDGES[1])).tolist()
    counts = np.array([[batch.get(edge, 0) for edge in wanted] for batch in batches], np.int64)
    return counts.reshape(1, BATCHES, len(wanted)), np.array([lengths])


class Memory:
    """The memory of this process, as the system counts it."""

    def __init__(self) -> None:
        self.before: float | None = None

    def begin(self) -> None:
        """Forget the height so far, if the system can do that."""
        gc.collect()
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            return
        self.before = _kilobytes("VmRSS")

    def figures(self) -> Figures:
        """Return megabytes above those at the beginning: at the height, and now."""
        if self.before is None:
            return {"peak_megabytes": None, "held_megabytes": None}
        gc.collect()
        return {
            f"{name}_megabytes": 1024 * (_kilobytes(entry) - self.before) / MEGABYTE
            for name, entry in (("peak", "VmHWM"), ("held", "VmRSS"))
        }


def _kilobytes(entry: str) -> float:
    """Return an entry of the process's status."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{entry}:"))
