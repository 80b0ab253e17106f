"""What is learned along with the graph: how a chain moves from one value to another, and completes a table.

The chain walks on pairs of a graph and a level, which stands for the values of the score's field and of the edge odds.
Every so many iterations the level is drawn from its law given the graph,

    p(level | G, D) ∝ p(D | G, level) p(G | level) p(level),

and in between the sampler walks as it does without levels: both leave the joint posterior as it is, and so the graphs
have their posterior with the values averaged over. Walks over orders or partitions count as steps on the graph that was
drawn from them last; given this graph, the level depends on neither.

Where a table has cells that are not known, chains walk on pairs of a graph and a completed table, and draw the cells
given the graph and the level in the same way (`cells.sweep`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from parnidag._util.cores import WORTH_A_TURN
from parnidag.kernels.jit import entry
from parnidag.kernels.random import RandomState, choose
from parnidag.kernels.score_cache import make_scratch
from parnidag.kernels.types import Floats, int64
from parnidag.tables.build import tables_at
from parnidag.target import Target, score_anew, score_graph

if TYPE_CHECKING:
    from parnidag.samplers.base import Chain, Sampler

MY_TURN = threading.Lock()
"""Of the chains on the threads of this process one draws cells and levels at a time. That is many short calls of
compiled code, each of which lets go of the interpreter: chains that all do so at once pass it to and fro, and took
three times as long on two threads as on one."""


def advance_on_levels(sampler: Sampler, target: Target, chain: Chain, steps: int) -> int:
    """Run at most `steps` iterations of a sampler, as `Sampler.advance`; draw cells and level whenever it is time."""
    target = chain.law or target
    if (target.levels is None and chain.cells is None) or chain.rungs:  # ladders see to it themselves
        return sampler.advance(target, chain, steps)
    with MY_TURN:
        return _advance_and_draw(sampler, target, chain, steps)


def _advance_and_draw(sampler: Sampler, target: Target, chain: Chain, steps: int) -> int:
    done = 0
    long_sweeps = target.cells is not None and target.cells.sweep_seconds >= WORTH_A_TURN
    every = sampler.steps_a_level(target) if chain.cells is None else sampler.steps_a_sweep(target)
    while done < steps:
        wanted = min(every - chain.iteration % every, steps - done)
        with _turn_of_others(sampler.works_long(target)):
            made = sampler.advance(target, chain, wanted)
        done += made
        if made > 0 and chain.iteration % every == 0:
            if chain.cells is not None:
                with _turn_of_others(long_sweeps):
                    draw_cells(target, chain)
            if target.levels is not None:
                draw_level(sampler, target, chain)
        if made < wanted:  # the buffer of draws is full
            break
    return done


@contextmanager
def _turn_of_others(pays: bool) -> Iterator[None]:
    if not pays:
        yield
        return
    MY_TURN.release()
    try:
        yield
    finally:
        MY_TURN.acquire()


def draw_cells(target: Target, chain: Chain) -> None:
    """Draw the cells that are not known, given the graph, and score it anew."""
    assert chain.cells is not None
    odds = 1 if target.levels is None else target.levels.shifts.size
    given = chain.level // odds, chain.graph.parents, chain.graph.degree
    chain.cells.draw(*given, chain.graph.rng)
    chain.cells.note(*given)
    chain.forget()
    score_anew(*chain.parts(target)[:3])


def draw_level(sampler: Sampler, target: Target, chain: Chain) -> None:
    """Draw the level given the graph, and count it."""
    logs = log_posterior_by_level(target, chain)
    level = pick_level(chain.graph.rng, np.exp(logs - logs.max()))
    if level != chain.level:
        take_level(sampler, target, chain, level)
    chain.level_draws[level] += 1


def log_posterior_by_level(target: Target, chain: Chain) -> Floats:
    """Return the log of the joint posterior of the chain's graph and each level."""
    levels = target.levels
    assert levels is not None
    scratch = make_scratch(target.n_nodes, target.max_parents, 2, target.problem.table.widest)
    odds = levels.shifts.size
    here = chain.level % odds
    by_value = np.array(
        [score_graph(target.at(k * odds + here).problem, chain.graph, scratch) for k in range(len(levels.tables))]
    )
    found = (by_value - levels.offsets[:, here])[:, None] + chain.edge_count * (levels.shifts - levels.shifts[here])
    return np.asarray((found + levels.offsets).ravel())


def take_level(sampler: Sampler, target: Target, chain: Chain, level: int) -> None:
    """Bring a chain to another level: its local scores and its tables are made anew, its graph stays."""
    chain.level = level
    chain.forget()
    score_anew(*chain.parts(target)[:3])
    if chain.tables is not None:
        wanted = level if sampler.walks_on_tables else target.table_level(level)
        if wanted != chain.tables.target.level:
            chain.tables = tables_at(target, wanted, chain.tables)
    sampler.on_new_tables(chain)


@entry
def pick_level(rng: RandomState, weights: Floats) -> int:
    return choose(rng, weights, int64(weights.size))
