"""All that is settled before the first iteration: found by searching, or read from a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.cells.choose import CompletedTable
from parnidag.data.table import Data
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.dag import ABSENT
from parnidag.kernels.random import random_state
from parnidag.kernels.types import Floats
from parnidag.run.chain_log import ChainLog
from parnidag.run.plan import Plan
from parnidag.run.run_file import Bundle
from parnidag.samplers.base import Asked, Prepared, Sampler, Stages, new_chain
from parnidag.space.default import default_skeleton, grown, settled
from parnidag.space.search_space import SearchSpace
from parnidag.tables.build import build_tables
from parnidag.target import Target

CELLS_KEY = 8
"""Keeps the random numbers that first complete a table apart from those of chains and searches."""


@dataclass(frozen=True)
class Setup:
    """What the chains of a run share, and where they start."""

    target: Target
    sampler: Sampler
    prepared: Prepared
    starts: list[Adjacency]
    searched: bool
    """Does every chain start where a search of its own ended?"""
    space: SearchSpace | None
    space_given: bool
    """Did the user choose the space?"""
    prior: Floats
    """How probable each edge is before the data."""
    level_prior: Floats
    """And each level of what is learned along with the graph."""
    after: str = ""
    """The verdict on a first run that this one goes on from."""
    completed: tuple[CompletedTable, ...] = ()
    """The tables that its chains had completed, if it had any."""

    def bundle(self) -> Bundle:
        """Return it as a checkpoint keeps it: without what the next call has, and without tables, which are filled."""
        prepared = self.prepared
        matrices = {
            "prior": self.prior,
            "level_prior": self.level_prior,
            "considered": prepared.considered,
            "warm": prepared.warm,
            "tables": None if prepared.tables is None else prepared.tables.considered,
        }
        facts = {
            "level": self.target.level,
            "plus_one": prepared.tables is not None and prepared.tables.plus_one,
            "space": None if self.space is None else self.space.describe(),
            "space_given": self.space_given,
            "found": None if prepared.space is None else prepared.space.describe(),
        }
        arrays: dict[str, NDArray[Any]] = {name: array for name, array in matrices.items() if array is not None}
        return Bundle(facts, arrays | {"starts": np.array(self.starts)})

    @staticmethod
    def read(bundle: Bundle, target: Target, sampler: Sampler, searched: bool) -> Setup:
        facts, arrays = bundle
        target = target.beginning_at(facts["level"])
        space, found = (
            None if facts[name] is None else SearchSpace.read(target.names, facts[name]) for name in ("space", "found")
        )
        tables = None
        if "tables" in arrays:
            tables = build_tables(target, arrays["tables"], plus_one=facts["plus_one"], memory=sampler.table_memory)
        prepared = Prepared(considered=arrays.get("considered"), tables=tables, warm=arrays.get("warm"), space=found)
        prepared = sampler.restored(target, prepared)
        starts, given, priors = list(arrays["starts"]), facts["space_given"], (arrays["prior"], arrays["level_prior"])
        return Setup(target, sampler, prepared, starts, searched, space, given, *priors)


def starts_from_searches(sampler: Sampler, starts: list[Adjacency] | None) -> bool:
    return starts is None and sampler.default_space != "none"


def found_space(data: Data, target: Target, sampler: Sampler, seed: int, stages: Stages) -> SearchSpace | None:
    if sampler.default_space == "none":
        return None
    with stages("skeleton"):
        space = default_skeleton(data, target)
    if sampler.default_space == "grown":
        with stages("search space"):
            space = grown(target, space, seed)
    return space


def prepare(
    data: Data,
    target: Target,
    sampler: Sampler,
    plan: Plan,
    starts: list[Adjacency] | None,
    given: SearchSpace | None,
    priors: tuple[Floats, Floats],
    stages: Stages,
) -> Setup:
    """Do what all chains share, and find where they start if that is not given."""
    if sampler.walks_on_tables:
        target.check_nodes_apart(sampler.name)
    if target.levels is not None and (sampler.default_space != "none" or sampler.walks_on_tables):
        with stages("values to learn"):
            begin = given or default_skeleton(data, target)
            target = settled(target, begin.considered, plan.seed)
    space = given or found_space(data, target, sampler, plan.seed, stages)
    asked = Asked(
        None if space is None else space.considered,
        plan.seed,
        stages,
        chains=plan.chains if starts is None else 0,
        given=given is not None or space is None,
    )
    prepared = sampler.prepare(target, asked)
    target.check_score()
    found = prepared.starts if starts is None else starts
    assert found is not None
    searched, space = starts_from_searches(sampler, starts), prepared.space or space
    return Setup(target, sampler, prepared, found, searched, space, given is not None, *priors)


def going_on(setup: Setup, sampler: Sampler, logs: list[ChainLog], verdict: str) -> Setup:
    """Return a set-up for chains that go on from where others stand, with all that was found for these."""
    prepared = sampler.restored(setup.target, setup.prepared)
    starts = [np.asarray(log.chain.graph.position != ABSENT) for log in logs]
    completed = tuple(log.chain.cells for log in logs if log.chain.cells is not None)
    return replace(setup, sampler=sampler, prepared=prepared, starts=starts, after=verdict, completed=completed)


def first_logs(setup: Setup, plan: Plan, *key: int) -> list[ChainLog]:
    """Set up the chains; a key gives them other random numbers than without one."""
    logs = []
    cells = setup.target.cells
    for index, graph in enumerate(setup.starts):
        completed = setup.completed[index] if setup.completed else None
        if completed is None and cells is not None:
            completed = cells.begin(random_state(plan.seed, CELLS_KEY, index))
        chain = new_chain(setup.target, graph, plan.seed, index, cells=completed)
        chain.graph.rng[:] = random_state(plan.seed, index, *key)
        if not np.isfinite(chain.log_posterior):
            setup.target.check_score()
            raise ParnidagError(
                f"the log posterior of the graph that chain {index} starts from is {chain.log_posterior}: "
                "the score or the prior rules it out; start= can give another one"
            )
        setup.sampler.begin(chain.law or setup.target, setup.prepared, chain, plan.tune)
        log = ChainLog(chain, plan.boundaries())
        log.pass_boundaries(setup.sampler, plan.thin)
        logs.append(log)
    return logs
