"""What of a chain outlives its process: named arrays, for checkpoints and for the way to a worker.

Only what cannot be made anew is kept. The graph is laid out again from its list of edges, and a sampler sets up its own
arrays as for a new chain; into them go the fields that their class names in `kept`. Whatever is not named there is
working memory or a setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.cells.choose import CompletedTable
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency
from parnidag.kernels.dag import Scratch
from parnidag.kernels.declare import named
from parnidag.samplers.base import Chain, Prepared, Sampler, new_chain
from parnidag.samplers.levels import take_level
from parnidag.target import Target, lay_graph

Arrays = dict[str, NDArray[Any]]


def chain_state(chain: Chain) -> Arrays:
    """Return copies of all that a chain is made of and that cannot be made anew; its buffer of draws is empty."""
    arrays: Arrays = {}
    for path, one in _chains(chain):
        lasting = _lasting(one, named(one.graph).edge_count, named(one.recorder).best_count)
        arrays |= {path + name: array.copy() for name, array in lasting.items()}
    return arrays


def restored_chain(
    target: Target,
    sampler: Sampler,
    prepared: Prepared,
    tune: int,
    index: int,
    state: Arrays,
    scratch: Scratch | None = None,
) -> Chain:
    """Return the chain that `chain_state` was taken from."""
    cells = _kept_cells(target, state)
    chain = new_chain(target, _kept_graph(target, state, ""), 0, index, scratch, cells)
    target = chain.law or target
    sampler.begin(target, prepared, chain, tune)
    for (path, one), rung in zip(_chains(chain), [None, *chain.rungs], strict=True):
        law = target if rung is None else rung.target
        if rung is not None:  # it stands where the chain stands
            one.graph = law.empty_graph()
            lay_graph(law.problem, one.graph, one.scratch(law), _kept_graph(law, state, path))
        if law.levels is not None:
            take_level(sampler, law, one, int(state[f"{path}level"][0]))
        _restore(one, path, state)
    return chain


def _kept_graph(target: Target, state: Arrays, path: str) -> Adjacency:
    arcs, graph = state[f"{path}graph.edges"], target.required.copy()
    graph[arcs >> 16, arcs & 0xFFFF] = True
    return graph


def _kept_cells(target: Target, state: Arrays) -> CompletedTable | None:
    if target.cells is None:
        return None
    completed = target.cells.completed()
    for path, own in _parts_of_cells(completed):
        for name in own.kept:
            getattr(own, name)[:] = state[f"{path}.{name}"]
    completed.settle()
    return completed


def _restore(chain: Chain, path: str, state: Arrays) -> None:
    """Write what was kept of a chain, or of a rung, where it belongs."""
    arcs = state[f"{path}graph.edges"]
    for name, into in _lasting(chain, arcs.size, state[f"{path}recorder.best"].size).items():
        array = state[path + name]
        if array.dtype != into.dtype or array.shape != into.shape:
            raise ParnidagError(
                f"checkpoint: {path}{name} is {array.dtype} of shape {array.shape}, a chain of this run has "
                f"{into.dtype} of shape {into.shape} there; start again with another checkpoint"
            )
        into[:] = array
    chain.graph.position[arcs >> 16, arcs & 0xFFFF] = np.arange(arcs.size)
    chain.graph.since[: arcs.size] = chain.iteration  # all edges are counted when a segment ends


def _chains(chain: Chain) -> Iterator[tuple[str, Chain]]:
    """Go through a chain and the rungs of its ladder, each with what the names of its arrays begin with."""
    yield "", chain
    for k, rung in enumerate(chain.rungs, start=1):
        yield f"rung{k}.", rung.chain


def _lasting(chain: Chain, edges: int, best: int) -> Arrays:
    """Return the arrays that must outlive the process, or parts of them, for a graph and a best graph of some edges."""
    graph, recorder = chain.graph, chain.recorder
    arrays: Arrays = {
        "graph.edges": graph.edges[:edges],
        "graph.visits": graph.visits,
        "graph.local": graph.local,
        "graph.rng": graph.rng,
        "graph.integers": graph.integers,
        "graph.floats": graph.floats,
        "recorder.best": recorder.best_codes[:best],
        "recorder.integers": recorder.integers,
        "recorder.floats": recorder.floats,
    }
    if chain.level_draws.size:
        arrays |= {"level": np.array([chain.level]), "level_draws": chain.level_draws}
    parts = [*_parts(chain.own, "own"), *_parts(chain.counts, "counts")]
    if chain.cells is not None:
        parts += _parts_of_cells(chain.cells)
    for path, own in parts:
        arrays |= {f"{path}.{name}": getattr(own, name) for name in own.kept}
    return arrays


def _parts_of_cells(completed: CompletedTable) -> Iterator[tuple[str, Any]]:
    for path, own in (("cells", completed.arrays), ("filled", completed.filled), ("worlds", completed.worlds)):
        yield from _parts(own, path)


def _parts(own: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Go through the arrays of a sampler, and those inside them, by path."""
    if own is None:
        return
    if not hasattr(own, "kept"):
        raise TypeError(
            f"{type(own).__name__} does not say which of its arrays a checkpoint must keep: give it kept = ()"
            ", or the names of the fields that cannot be made anew"
        )
    yield path, own
    for name in own._fields:
        inner = getattr(own, name)
        if isinstance(inner, tuple):
            yield from _parts(inner, f"{path}.{name}")
