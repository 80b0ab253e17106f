"""What of a chain outlives its process: named arrays, checked before compiled code trusts them.

Compiled code does not check its indices, so whatever comes from a file must be proven sound first. Only what cannot be
made anew is kept. The graph is laid out again from its list of edges, and a sampler sets up its own arrays as for a new
chain; into them goes what `KEPT` names for each kind of arrays, if its check agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency, topological_order
from parnidag.kernels.problem import FREE
from parnidag.moves.node_swap import NodeSwapArrays
from parnidag.moves.orphans import ChildLists
from parnidag.moves.regroup import RegroupArrays
from parnidag.moves.reversal import ReversalArrays
from parnidag.moves.single_edge import CountArrays
from parnidag.samplers._on_tables import GraphDraw
from parnidag.samplers.base import Chain, Prepared, Sampler, new_chain
from parnidag.samplers.order import OrderState
from parnidag.samplers.parni.adaptation import ParniArrays
from parnidag.samplers.parni.mixture import MixedArrays, MixtureArrays
from parnidag.samplers.partition import PartitionState
from parnidag.samplers.rev import ReversalState
from parnidag.samplers.single_edge import MoveCounts
from parnidag.tables.arrays import DrawArrays
from parnidag.tables.orders import OrderArrays
from parnidag.tables.partitions import PartitionArrays
from parnidag.target import Target

Arrays = dict[str, NDArray[Any]]
MOST_COUNT = 2**62
"""Counters beyond this could overflow."""
MOST_SCORE = 1e99
"""So could sums of scores."""


class Setting(NamedTuple):
    """What the checks of a state may ask for."""

    free: Adjacency
    """Which edges moves may touch."""
    required: Adjacency
    reachable: Adjacency
    """Which parents the tables, if there are any, can give to a node: candidates, extras and required ones."""
    has_room: NDArray[np.bool_]
    """Which nodes may have more parents than the required ones."""


class Kept(NamedTuple):
    """Which fields of some arrays are kept, and whether what was read for them can be used."""

    fields: tuple[str, ...]
    sound: Callable[[Any, Any, Setting], bool]
    """Called with the fields as read, by name, with the arrays of a new chain, and with what it runs on."""


def _counters(read: Any, fresh: Any, setting: Setting) -> bool:
    return all(_is_count(array) for array in read.values())


def _is_count(array: NDArray[Any]) -> bool:
    return bool(((array >= 0) & (array < MOST_COUNT)).all())


def _sound_parni(read: Any, fresh: ParniArrays, setting: Setting) -> bool:
    """Check what neighbourhoods are drawn from.

    Room for the drawn blocks is one a pair, so no pair may be listed twice. A skip is a quotient by the log of a miss,
    which must not be zero. Only free edges may have a chance.
    """
    n, integers, floats = len(fresh.warm), read["integers"], read["floats"]
    start, pairs, bound = read["bucket_start"], read["pairs"], read["bucket_bound"]
    if not (start[0] == 0 and (start[1:] >= start[:-1]).all() and start[-1] <= pairs.size and _is_count(integers)):
        return False
    used = pairs[: start[-1]]
    first, second = used >> 16, used & 0xFFFF
    omega = float(floats[0])
    if not 0.0 < omega < 1.0:
        return False
    begun = bool(integers[1] > 0)
    filled = start[1:] > start[:-1]
    return bool(
        ((used >= 0) & (first < second) & (second < n)).all()
        and np.unique(used).size == used.size
        and integers[0] == fresh.integers[0]
        and (floats[1:4] == fresh.floats[1:4]).all()
        and (floats[4] < 0.0 if begun else floats[4] == fresh.floats[4])
        and _is_close(floats[4], np.log1p(-omega) if begun else 0.0)
        and (np.isfinite(read["eta_odds"]) & ((read["eta_odds"] > 0.0) == (setting.free & begun))).all()
        and np.isfinite(read["eta_logit"]).all()
        and ((bound >= 0.0) & (bound <= 1.0) & ((bound > 0.0) | ~filled)).all()
        and ((read["bucket_miss"] < 0.0) | ~filled).all()
        and _is_close(read["bucket_miss"], np.log1p(-omega * bound) if begun else 0.0 * bound)
    )


def _is_close(one: Any, other: Any) -> bool:
    """Are two numbers the same up to the last digits, in which compiled code may differ from NumPy?"""
    return bool(np.isclose(one, other, rtol=1e-9, atol=0.0).all())


def _sound_order(read: Any, fresh: OrderArrays, setting: Setting) -> bool:
    """Check that the order is one: required parents first, so that every node has a set of parents to draw."""
    order, level = read["order"], read["level"]
    n = order.size
    return bool(
        (np.sort(order) == np.arange(n)).all()
        and (level[order] == np.arange(n)).all()
        and ((level[:, None] < level[None, :]) | ~setting.required).all()
        and np.isfinite(read["values"]).all()
        and _is_count(read["tried"])
        and _is_count(read["accepted"])
    )


def _sound_partition(read: Any, fresh: PartitionArrays, setting: Setting) -> bool:
    """Check that the partition is one, in which every node has a set of parents to draw."""
    order, starts, level, parts = read["order"], read["starts"], read["level"], int(read["integers"][0])
    n = order.size
    if not ((np.sort(order) == np.arange(n)).all() and 1 <= parts <= n):
        return False
    used = starts[: parts + 1]
    above = level[:, None] == level[None, :] - 1
    permitted = (above & setting.required).any(axis=0) | ((above & setting.reachable).any(axis=0) & setting.has_room)
    return bool(
        used[0] == 0
        and used[-1] == n
        and (used[1:] > used[:-1]).all()
        and ((starts >= 0) & (starts <= n)).all()
        and (level[order] == np.repeat(np.arange(parts), np.diff(used))).all()
        and ((level[:, None] < level[None, :]) | ~setting.required).all()
        and (permitted | (level == 0)).all()
        and np.isfinite(read["values"]).all()
        and _is_count(read["tried"])
        and _is_count(read["accepted"])
    )


NOTHING = Kept((), lambda read, fresh, setting: True)
KEPT: dict[type, Kept] = {
    ParniArrays: Kept(
        ("eta_odds", "eta_logit", "pairs", "bucket_start", "bucket_bound", "bucket_miss", "integers", "floats"),
        _sound_parni,
    ),
    MixtureArrays: Kept(("tried", "accepted"), _counters),
    RegroupArrays: Kept(("outside",), _counters),
    ReversalArrays: Kept(("outside",), _counters),
    CountArrays: Kept(("tried", "accepted"), _counters),
    MoveCounts: Kept(("tried", "accepted"), _counters),
    ReversalState: Kept(("tried", "accepted"), _counters),
    OrderArrays: Kept(("order", "level", "values", "tried", "accepted"), _sound_order),
    PartitionArrays: Kept(("order", "starts", "level", "values", "tried", "accepted", "integers"), _sound_partition),
    PartitionState: Kept(("reversals",), _counters),
    MixedArrays: NOTHING,
    OrderState: NOTHING,
    NodeSwapArrays: NOTHING,
    ChildLists: NOTHING,
    DrawArrays: NOTHING,
    GraphDraw: NOTHING,
}
"""For every kind of arrays that a sampler gives to a chain; whatever is not named is working memory or a setting."""


def chain_state(chain: Chain) -> Arrays:
    """Return copies of all that a chain is made of and that cannot be made anew."""
    graph, recorder = chain.graph, chain.recorder
    edges, best = int(graph.integers[0]), int(recorder.integers[3])
    state: Arrays = {
        "graph.edges": graph.edges[:edges],
        "graph.since": graph.since[:edges],
        "graph.visits": graph.visits,
        "graph.local": graph.local,
        "graph.rng": graph.rng,
        "graph.integers": graph.integers,
        "graph.floats": graph.floats,
        "recorder.best": recorder.best_codes[:best],
        "recorder.integers": recorder.integers,
        "recorder.floats": recorder.floats,
    }
    for path, kind, arrays in _parts(chain.own, "own"):
        state |= {f"{path}.{name}": getattr(arrays, name) for name in kind.fields}
    return {name: array.copy() for name, array in state.items()}


def restored_chain(
    target: Target, sampler: Sampler, prepared: Prepared, plan: tuple[int, int], index: int, seed: int, state: Arrays
) -> Chain:
    """Return the chain that `chain_state` was taken from, or refuse what no chain can have been.

    `plan` are the iterations of tuning and between draws.
    """
    graph = _graph_of(target, state["graph.edges"])
    chain = new_chain(target, graph, seed, index)
    sampler.begin(target, prepared, chain, plan[0])
    _restore_graph(target, chain, state)
    _restore_recorder(target, chain, plan, state)
    setting = _setting(target, prepared)
    for path, kind, arrays in _parts(chain.own, "own"):
        read = {name: _fitting(state, f"{path}.{name}", getattr(arrays, name)) for name in kind.fields}
        if not kind.sound(read, arrays, setting):
            raise _unsound(path)
        for name, array in read.items():
            getattr(arrays, name)[:] = array
    return chain


def _setting(target: Target, prepared: Prepared) -> Setting:
    """Collect what checks ask for."""
    free, tables = np.asarray(target.problem.status == FREE), prepared.tables
    reachable = free if tables is None or tables.plus_one else free & tables.considered
    has_room = target.required.sum(axis=0) < target.max_parents
    return Setting(free, target.required, reachable | target.required, has_room)


def expected_shapes(target: Target, chain: Chain) -> dict[str, tuple[np.dtype[Any], tuple[int | None, ...], int]]:
    """Return type, shape and most entries of every array that `chain_state` gives; None where a length varies."""
    most = chain.graph.edges.size
    expected: dict[str, tuple[np.dtype[Any], tuple[int | None, ...], int]] = {}
    for name, array in chain_state(chain).items():
        varies = name in ("graph.edges", "graph.since", "recorder.best")
        expected[name] = (array.dtype, (None,) if varies else array.shape, most if varies else array.size)
    return expected


def _parts(own: Any, path: str) -> Iterator[tuple[str, Kept, Any]]:
    """Go through the arrays of a sampler, and those inside them, by path."""
    if own is None:
        return
    kind = KEPT.get(type(own))
    if kind is None:
        raise ParnidagError(
            f"checkpoint: what of {type(own).__name__} must be kept is not known; declare it in "
            "parnidag.samplers.state.KEPT"
        )
    yield path, kind, own
    for name in own._fields:
        inner = getattr(own, name)
        if isinstance(inner, tuple):
            yield from _parts(inner, f"{path}.{name}")


def _graph_of(target: Target, arcs: NDArray[np.int32]) -> Adjacency:
    """Return the graph of a list of arcs, if it is a DAG that the prior allows."""
    n = target.n_nodes
    parents, children = arcs >> 16, arcs & 0xFFFF
    if not ((arcs >= 0) & (parents < n) & (children < n)).all():
        raise _unsound("graph")
    graph = target.required.copy()
    graph[parents, children] = True
    free = (target.problem.status == FREE)[parents, children].all()
    listed_once = graph.sum() == target.required.sum() + arcs.size
    if not (free and listed_once) or topological_order(graph) is None or graph.sum(axis=0).max() > target.max_parents:
        raise _unsound("graph")
    return graph


def _restore_graph(target: Target, chain: Chain, state: Arrays) -> None:
    graph = chain.graph
    arcs, since = state["graph.edges"], state["graph.since"]
    integers = _fitting(state, "graph.integers", graph.integers)
    visits, local = _fitting(state, "graph.visits", graph.visits), _fitting(state, "graph.local", graph.local)
    floats = _fitting(state, "graph.floats", graph.floats)
    now = int(integers[2])
    if not (
        since.shape == arcs.shape
        and _is_count(integers)
        and integers[0] == arcs.size
        and (since == now).all()  # all edges are counted when a segment ends
        and ((visits >= 0) & (visits <= now)).all()
        and (np.abs(local) < MOST_SCORE).all()
        and (np.abs(floats) < MOST_SCORE).all()
        and state["graph.rng"].any()  # the generator never leaves zero
    ):
        raise _unsound("graph")
    graph.edges[: arcs.size], graph.since[: arcs.size] = arcs, since
    graph.position[arcs >> 16, arcs & 0xFFFF] = np.arange(arcs.size)
    graph.visits[:], graph.local[:], graph.floats[:] = visits, local, floats
    graph.rng[:] = _fitting(state, "graph.rng", graph.rng)
    graph.integers[2:] = integers[2:]


def _restore_recorder(target: Target, chain: Chain, plan: tuple[int, int], state: Arrays) -> None:
    """Restore the best graph, and the countdown to the next draw, which follows from the number of iterations."""
    recorder, (tune, thin) = chain.recorder, plan
    _graph_of(target, state["recorder.best"])
    best, now = state["recorder.best"], chain.iteration
    integers, floats = (
        _fitting(state, "recorder.integers", recorder.integers),
        _fitting(state, "recorder.floats", recorder.floats),
    )
    drawing = bool(integers[1])
    countdown = [thin - (now - tune) % thin, thin] if drawing else [-1 - now, 0]
    fits = integers.tolist() == [*countdown, 0, best.size] and (now >= tune if drawing else now <= tune)
    if not fits or np.isnan(floats).any():
        raise _unsound("recorder")
    recorder.best_codes[: best.size] = best
    recorder.integers[:], recorder.floats[:] = integers, floats


def _fitting(state: Arrays, name: str, fresh: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the state, if it has the type and shape that a new chain has there."""
    array = state[name]
    if array.dtype != fresh.dtype or array.shape != fresh.shape:
        raise _unsound(name)
    return array


def _unsound(where: str) -> ParnidagError:
    return ParnidagError(f"checkpoint: it holds a state that no chain can have (in {where}): the file is damaged")
