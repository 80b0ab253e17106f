"""What is believed of the edges before any data: odds, forbidden and required edges, tiers, a bound on parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from parnidag._util.checks import as_whole, number, whole
from parnidag._util.text import shorten
from parnidag.data.edge_rules import EdgeRules
from parnidag.errors import ParnidagError, PriorError
from parnidag.graphs.matrices import frame_parts, is_frame, is_zero_one
from parnidag.graphs.read import read_graph
from parnidag.kernels.problem import FORBIDDEN, FREE, REQUIRED
from parnidag.priors.nodes import SIZE_ADVICE, Edge, Node, Nodes, checked_edge, checked_node, refuse_repeated
from parnidag.priors.odds import LEAST_BETA, MOST_BETA, Beta, weights_by_children

MOST_LOG_ODDS = 1e4
"""Largest log odds of one edge: beyond any evidence, yet far from swallowing the digits of a score."""
MOST_LISTED_EDGES = 1000
"""Most forbidden or required edges that `EdgePrior.describe` lists: a dense mask has n² of them, too many to keep."""

Edges = tuple[Edge, ...] | NDArray[np.bool_]


@dataclass(frozen=True)
class ResolvedPrior:
    """An `EdgePrior` worked out for given nodes, as the arrays that samplers run on."""

    log_odds: NDArray[np.float64]
    """Log prior odds of each edge (n × n), rows parents; the diagonal is 0."""
    status: NDArray[np.uint8]
    """`FORBIDDEN`, `FREE` or `REQUIRED` for each edge (n × n); never free: the diagonal and reversed required edges."""
    max_parents: int
    """The most parents a node may have."""
    h: tuple[float, ...]
    """The odds weight in use, or all that it may be."""
    shifts: NDArray[np.float64]
    """What each odds weight adds to the log odds of every edge: 0, and more if there are several."""
    by_children: NDArray[np.float64]
    """What a node adds to the log prior by its number of children (n), beside their log odds; empty if nothing."""
    log_weights: NDArray[np.float64]
    """Log prior weight of each, with what it gives to all graphs alike, but for the sum over all graphs."""


@dataclass(frozen=True, eq=False)
class EdgePrior:
    """Prior over graphs, p(G) ∝ ∏ h/(1−h) over the edges of G, with what is known of single edges.

    Nodes are given by name or by index (an ``int`` is always an index, even if some name looks like a number); an
    edge is a pair (parent, child). What contradicts itself is refused with a `PriorError`, when the prior is made
    if no names are needed to see it, otherwise when it meets the data.

    Parameters
    ----------
    h
        Odds weight of an edge, in (0, 1). None (default) means 2/n for n nodes, at most ½: about as many edges as
        nodes. ``"paper"`` means 1/n, and `Beta(a, b)` learns it along with the graph. It is not the prior probability
        of an edge: graphs with cycles have no weight, so that is smaller (n = 11 and h = 1/11 give 0.07776).
    regulators
        How unequal nodes are as parents. None (default): not at all, every edge has the same h. A number a > 0: each
        node has an h of its own for its children, beforehand Beta(a, a(1 − h)/h), of mean h, which is averaged over. A
        node of c children then weighs B(a + c, b + n − 1 − c)/B(a, b), and a graph the product of these. The smaller a,
        the fewer nodes have most of the children; 1 has served well for genes. Chains of PARNI, ADR, MC3 and REV carry
        it; sums over all graphs, and walks over orders and partitions, cannot.
    forbidden
        Edges in no graph: pairs, an n × n boolean array, a boolean data frame whose labels are nodes, or a graph of
        parnidag, networkx or causal-learn. The diagonal of an array means nothing; an undirected edge counts both ways.
    required
        Edges in every graph, given like `forbidden`.
    tiers
        Groups of nodes, the earliest first, or a mapping from nodes to tier numbers: no edge leads from a later tier
        to an earlier one. Edges inside a tier are allowed; nodes in no tier are free.
    log_odds
        Finite numbers added to log(h/(1−h)) for single edges: a mapping from pairs, an n × n array (its diagonal
        means nothing), or a data frame whose labels are nodes.
    max_parents
        The most parents a node may have; None (default) sets no bound.

    Examples
    --------
    >>> prior = EdgePrior(h=0.2, forbidden=[("rain", "season")], required=[("rain", "wet")], max_parents=2)
    >>> prior.resolve(["season", "rain", "wet"]).status
    array([[0, 1, 1],
           [0, 0, 2],
           [1, 0, 0]], dtype=uint8)
    """

    h: float | Beta | Literal["paper"] | None = None
    regulators: float | None = field(default=None, kw_only=True)
    forbidden: Iterable[Edge] | NDArray[np.bool_] = ()
    required: Iterable[Edge] | NDArray[np.bool_] = ()
    tiers: Sequence[Sequence[Node]] | Mapping[Node, float] | None = None
    log_odds: Mapping[Edge, float] | NDArray[np.float64] | None = None
    max_parents: int | None = None

    def __post_init__(self) -> None:
        # Stored in one checked form, so that generators are read once and later changes to an array do not matter.
        h, bound = self.h, self.max_parents
        if h is not None and h != "paper" and not isinstance(h, Beta):
            h = number(h, "h", above=0, below=1, note='a Beta, "paper" for 1/n, or None for 2/n', error=PriorError)
        if bound is not None:
            bound = whole(bound, "max_parents", note="or None for no bound", error=PriorError)
        unequal = self.regulators
        if unequal is not None:
            unequal = number(unequal, "regulators", least=LEAST_BETA, most=MOST_BETA, error=PriorError)
            if isinstance(h, Beta):
                raise PriorError("regulators gives every node an h of its own, of mean h, which must be a number then")
        for argument, value in (
            ("h", h),
            ("regulators", unequal),
            ("forbidden", _checked_edges(self.forbidden, "forbidden")),
            ("required", _checked_edges(self.required, "required")),
            ("tiers", _checked_tiers(self.tiers)),
            ("log_odds", _checked_log_odds(self.log_odds)),
            ("max_parents", bound),
        ):
            object.__setattr__(self, argument, value)
        if isinstance(self.required, np.ndarray) and self.required.diagonal().any():
            raise PriorError("required: the array requires an edge from a node to itself; its diagonal must be False")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EdgePrior):
            return NotImplemented
        return all(_same(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    def __hash__(self) -> int:
        return hash((self.h, self.regulators, self.tiers, self.max_parents))

    def resolve(self, names: Sequence[str], rules: EdgeRules | None = None) -> ResolvedPrior:
        """Work the prior out for the nodes `names`, at least two, in the order of the data.

        `rules` are what the data themselves say of edges, such as which columns are from an earlier time.

        Refused with a `PriorError` if a name or an index is unknown, or the constraints contradict one another.

        Examples
        --------
        >>> resolved = EdgePrior(log_odds={("a", "b"): 1.5}).resolve(["a", "b", "c", "d"])
        >>> resolved.h, round(float(resolved.log_odds[0, 1]), 4), resolved.max_parents
        ((0.5,), 1.5, 3)
        """
        nodes = Nodes(names)
        forbidden, required = self._masks(nodes)
        late_to_early = nodes.against_tiers(self.tiers)
        if rules is not None:
            _refuse_against_rules(required, forbidden, rules, nodes.names)
            forbidden, required = forbidden | rules.forbidden, required | rules.required
        _refuse_contradictions(required, forbidden, late_to_early, nodes.names)
        max_parents = nodes.size - 1 if self.max_parents is None else min(self.max_parents, nodes.size - 1)
        counts = zip(nodes.names, required.sum(axis=0).tolist(), strict=True)
        crowded = [f"{name} ({count})" for name, count in counts if count > max_parents]
        if crowded:
            raise PriorError(f"max_parents={max_parents} is less than the required parents of {shorten(crowded)}")

        status = np.full((nodes.size, nodes.size), FREE, dtype=np.uint8)
        status[forbidden | late_to_early | required.T] = FORBIDDEN
        np.fill_diagonal(status, FORBIDDEN)
        status[required] = REQUIRED
        values, log_weights = np.array([min(2.0 / nodes.size, 0.5)]), np.zeros(1)
        if self.h == "paper":
            values = np.array([1.0 / nodes.size])
        elif isinstance(self.h, Beta):
            values, log_weights = self.h.grid()
        elif self.h is not None:
            values = np.array([float(self.h)])
        extra = self._extra(nodes)
        if abs(extra).max(initial=0.0) > MOST_LOG_ODDS:
            i, j = np.unravel_index(int(abs(extra).argmax()), extra.shape)
            raise PriorError(
                f"log_odds: {nodes.arrow((int(i), int(j)))} has {extra[i, j]:g}, beyond ±{MOST_LOG_ODDS:g}; "
                "use required= or forbidden= for certainty"
            )
        odds = np.log(values) - np.log1p(-values)
        if values.size > 1:
            log_weights = log_weights - required.sum() * odds  # required edges say nothing of h
        log_odds = extra + odds[0]
        np.fill_diagonal(log_odds, 0.0)
        by_children = np.zeros(0)
        if self.regulators is not None:
            by_children = weights_by_children(nodes.size, float(values[0]), float(self.regulators))
        return ResolvedPrior(
            log_odds, status, max_parents, tuple(values.tolist()), odds - odds[0], by_children, log_weights
        )

    def _masks(self, nodes: Nodes) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return nodes.matrix(self.forbidden, "forbidden") != 0, nodes.matrix(self.required, "required") != 0

    def _extra(self, nodes: Nodes) -> NDArray[np.float64]:
        return nodes.matrix(() if self.log_odds is None else self.log_odds, "log_odds")

    def describe(self, names: Sequence[str], rules: EdgeRules | None = None) -> dict[str, Any]:
        """Give the settings for the nodes `names` in a form that JSON can hold.

        The lists of forbidden and of required edges end after `MOST_LISTED_EDGES` pairs; `forbidden_edges` and
        `required_edges` count all of them.

        Examples
        --------
        >>> EdgePrior(tiers=[["a"], ["b"]]).describe(["a", "b"])  # doctest: +NORMALIZE_WHITESPACE
        {'h': 0.5, 'forbidden': [], 'forbidden_edges': 0, 'required': [], 'required_edges': 0,
         'tiers': [['a'], ['b']], 'forbidden_by_tiers': 1, 'max_parents': 1, 'log_odds_edges': 0}
        """
        nodes = Nodes(names)
        resolved = self.resolve(names, rules)
        forbidden, required = self._masks(nodes)
        tiers = [[nodes.names[place] for place in tier] for tier in nodes.places(self.tiers)]
        return {
            "h": {"beta": [float(self.h.a), float(self.h.b)]} if isinstance(self.h, Beta) else resolved.h[0],
            "forbidden": _listed(forbidden, nodes.names),
            "forbidden_edges": int(forbidden.sum()),
            "required": _listed(required, nodes.names),
            "required_edges": int(required.sum()),
            "tiers": None if self.tiers is None else tiers,
            "forbidden_by_tiers": int(nodes.against_tiers(self.tiers).sum()),
            "max_parents": resolved.max_parents,
            **({} if self.regulators is None else {"regulators": float(self.regulators)}),
            "log_odds_edges": int(np.count_nonzero(self._extra(nodes))),
        }


def chosen_prior(prior: EdgePrior | str | None, score: object) -> EdgePrior:
    """Return the prior as given, or by its name; some scores bring their edge odds, unless these are given."""
    chosen = EdgePrior() if prior is None else EdgePrior(h="paper") if isinstance(prior, str) else prior
    of_paper = isinstance(score, str) and score.lower() == "paper"
    usual: Any = "paper" if of_paper else getattr(score, "usual_h", None)
    return replace(chosen, h=usual) if usual is not None and chosen.h is None else chosen


def _listed(mask: NDArray[np.bool_], names: Sequence[str]) -> list[list[str]]:
    return [[names[i], names[j]] for i, j in np.argwhere(mask)[:MOST_LISTED_EDGES].tolist()]


def _checked_edges(edges: Any, argument: str) -> Edges:
    if edges is None:
        return ()
    if is_frame(edges):
        return tuple(_frame_entries(edges, argument))
    if any(hasattr(edges, name) for name in ("nodes", "adjacency", "G")):
        return _edges_of_graph(edges, argument)
    if isinstance(edges, np.ndarray):
        if edges.dtype.kind == "b" and edges.ndim == 2 and edges.shape[0] == edges.shape[1]:
            return _frozen_copy(edges)
        if edges.size and (edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind == "b"):
            raise PriorError(
                f"{argument}: an array must be boolean and n × n ({SIZE_ADVICE}), or list pairs in 2 columns; "
                f"got {edges.dtype} with shape {edges.shape}"
            )
        edges = edges.tolist()
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise PriorError(f"{argument}={edges!r} must be a list of (parent, child) pairs")
    return tuple(checked_edge(edge, argument) for edge in edges)


def _frame_entries(frame: Any, argument: str) -> dict[Edge, float]:
    """Read the entries of a data frame that are not 0; those from a node to itself mean nothing, unless required."""
    rows, columns, values = frame_parts(frame)
    if len(rows) != len(columns):
        raise PriorError(f"{argument}: a data frame must be n × n ({SIZE_ADVICE}); got shape {values.shape}")
    if argument == "log_odds":
        values = _checked_numbers(values)
    elif not is_zero_one(values):
        raise PriorError(f"{argument}: a data frame must hold booleans, not {values.dtype}")
    edges = {(_label(rows[i]), _label(columns[j])): float(values[i, j]) for i, j in np.argwhere(values).tolist()}
    known = edges.items()
    return {checked_edge(edge, argument): x for edge, x in known if argument == "required" or edge[0] != edge[1]}


def _edges_of_graph(graph: object, argument: str) -> Edges:
    try:
        reading = read_graph(graph, argument)
    except ParnidagError as error:
        raise PriorError(str(error)) from error
    if reading.labels is None:
        return _frozen_copy(reading.matrix)
    labels = [_label(label) for label in reading.labels]
    return tuple(checked_edge((labels[i], labels[j]), argument) for i, j in np.argwhere(reading.matrix).tolist())


def _checked_tiers(tiers: object) -> tuple[tuple[Node, ...], ...] | None:
    if tiers is None:
        return None
    if isinstance(tiers, Mapping):
        numbers = {checked_node(node, "tiers"): _finite(x, f"tiers[{node!r}]") for node, x in tiers.items()}
        listed: list[Any] = [[node for node, x in numbers.items() if x == tier] for tier in sorted({*numbers.values()})]
    elif isinstance(tiers, Iterable) and not isinstance(tiers, str):
        listed = list(tiers)
    else:
        raise PriorError(f"tiers={tiers!r} must be a list of lists of nodes, or map nodes to tier numbers")
    for tier in listed:
        if isinstance(tier, str) or not isinstance(tier, Iterable):
            raise PriorError(f"tiers: {tier!r} is not a list of nodes; write tiers such as [['A', 'B'], ['C']]")
    checked = tuple(tuple(checked_node(node, "tiers") for node in tier) for tier in listed)
    refuse_repeated([node for tier in checked for node in tier])
    return checked


def _checked_log_odds(log_odds: object) -> dict[Edge, float] | NDArray[np.float64] | None:
    if log_odds is None:
        return None
    if is_frame(log_odds):
        return _frame_entries(log_odds, "log_odds")
    if isinstance(log_odds, Mapping):
        certain = " (for certainty use forbidden= or required=)"
        return {
            checked_edge(edge, "log_odds"): _finite(x, f"log_odds[{edge!r}]", certain) for edge, x in log_odds.items()
        }
    if isinstance(log_odds, (np.ndarray, list, tuple)):
        try:
            return _checked_numbers(np.asarray(log_odds))
        except ValueError as error:
            if isinstance(error, PriorError):
                raise
    raise PriorError(f"log_odds must map (parent, child) pairs to numbers or be an n × n array ({SIZE_ADVICE})")


def _checked_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.dtype.kind not in "fiu":
        raise PriorError(
            f"log_odds: an array must hold numbers and be n × n ({SIZE_ADVICE}); "
            f"got {values.dtype} with shape {values.shape}"
        )
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0].tolist()
        raise PriorError(f"log_odds: entry ({i}, {j}) is {values[i, j]}, not finite; use forbidden= or required=")
    return _frozen_copy(values.astype(np.float64))


def _finite(x: object, argument: str, more: str = "") -> float:
    return number(x, argument, what=f"a finite number{more}", error=PriorError)


def _refuse_against_rules(
    required: NDArray[np.bool_], forbidden: NDArray[np.bool_], rules: EdgeRules, names: Sequence[str]
) -> None:
    for clash, argument, why in (
        (required & rules.forbidden, "required", "the data rule out"),
        (forbidden & rules.required, "forbidden", "the data require"),
    ):
        both = [f"{names[i]} → {names[j]}" for i, j in np.argwhere(clash).tolist()]
        if both:
            raise PriorError(
                f"{argument}: {why} {shorten(both)}: earlier and static columns are parents only, and within= and "
                "autoregression= have their say",
                argument=argument,
            )


def _refuse_contradictions(
    required: NDArray[np.bool_], forbidden: NDArray[np.bool_], late_to_early: NDArray[np.bool_], names: Sequence[str]
) -> None:
    for clash, why in ((forbidden, "forbidden"), (late_to_early, "forbidden by tiers (it leads to an earlier tier)")):
        both = [f"{names[i]} → {names[j]}" for i, j in np.argwhere(required & clash).tolist()]
        if both:
            raise PriorError(f"required and {why}: {shorten(both)}; drop one of the two")
    try:
        TopologicalSorter({j: np.flatnonzero(parents).tolist() for j, parents in enumerate(required.T)}).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]  # the first node again at the end
        first = cycle.index(min(cycle))
        shown = " → ".join(names[node] for node in [*cycle[first:-1], *cycle[: first + 1]])
        raise PriorError(f"required edges form a cycle: {shown}; drop one of them") from None


def _label(label: object) -> Node:
    index = as_whole(label)
    return str(label) if index is None else index


def _frozen_copy(array: NDArray[Any]) -> NDArray[Any]:
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.array_equal(left, right)
    return type(left) is type(right) and bool(left == right)
