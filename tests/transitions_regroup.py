"""Exact transition matrices of regroup, as `transitions.py` has them for other kernels.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_regroup.py three``; prints figures of all cases as JSON, which
`test_regroup.py` judges.

Four nodes have 24 orders and thousands of ways to draw parents, whatever parents they have now. So the chances of all
groups and of all draws are enumerated once, from the production code, and then taken in one decision. Only the case
"raw" takes every decision by itself.
"""

import functools
import itertools
import json
import math
import sys
from contextlib import ExitStack, contextmanager
from unittest import mock

import dags
import numpy as np
import reference
import reference_moves
import reference_spaces
from transitions import DECISIONS, EXPLORER, G, deviations, install, judge, key_of, starting_at
from transitions_moves import advance_steps
from transitions_reversal import PRIORS, spaces

from parnidag.data import Data
from parnidag.moves import regroup
from parnidag.priors.edge_prior import EdgePrior
from parnidag.samplers import PARNI
from parnidag.samplers.base import Prepared
from parnidag.scores import Gaussian
from parnidag.tables.arrays import draw_arrays, open_tables
from parnidag.tables.build import build_tables
from parnidag.target import Target

FOUR = EdgePrior(h=0.4, required=[(0, 1)], forbidden=[(3, 0), (2, 3), (1, 2), (2, 0)])
FEW_TRIES = 3
"""In place of TRIES, whose branches would take too long: groups have another law then, but still one for all graphs."""
ROUNDING = 1e-14
"""A draw by rank leaves its last set a crumb of this size."""


def law_of(function):
    """Probability of each result, over all decisions of a function; also in the midst of another exploration."""
    saved = EXPLORER.path, EXPLORER.depth, EXPLORER.weight
    EXPLORER.path, found = [], {}
    for weight, result in EXPLORER.outcomes(function):
        found[result] = found.get(result, 0.0) + weight
    EXPLORER.path, EXPLORER.depth, EXPLORER.weight = saved
    return found


def reached(law):
    return {graph for graph, chance in law.items() if chance > ROUNDING}


# ---------------------------------------------------------------------------------------------------------------------
# Groups and draws in one decision


def choosing(groups, weigh=None):
    """Let moves choose their group in one decision; a twin weighs groups by the graph."""
    lists = tuple(groups)

    def choose_group(dag, own):
        weights = [groups[each] * (1.0 if weigh is None else weigh(dag, each)) for each in lists]
        chosen = lists[EXPLORER.decide(tuple(weight / sum(weights) for weight in weights))]
        own.group[: len(chosen)] = chosen
        return np.int64(len(chosen))

    return mock.patch.object(regroup, "choose_group", choose_group)


@contextmanager
def drawing_at_once():
    """Let moves draw an order and all parents in one decision: the chances depend on the group and on `reach` alone."""
    known, draw_group, sum_over_orders = {}, regroup.draw_group, regroup.sum_over_orders

    def place(own, size):
        return own.group[:size].tobytes(), own.reach.tobytes()

    def sum_unless_known(tables, own, size):
        if place(own, size) not in known:
            sum_over_orders(tables, own, size)

    def draw(dag, tables, own, size):
        def once():
            draw_group(dag, tables, own, size)
            return tuple(tuple(own.drawn[k, : own.degrees[k]].tolist()) for k in range(size))

        if place(own, size) not in known:
            law = law_of(once)
            known[place(own, size)] = tuple(law), tuple(law.values())
        families, weights = known[place(own, size)]
        for k, family in enumerate(families[EXPLORER.decide(weights)]):
            own.drawn[k, : len(family)] = family
            own.degrees[k] = len(family)

    with mock.patch.multiple(regroup, draw_group=draw, sum_over_orders=sum_unless_known):
        yield


# ---------------------------------------------------------------------------------------------------------------------
# The definition


class Definition:
    """The law of the next graph by writing out every choice of parents of a group.

    Nothing here goes through orders and their sums: whether a choice is possible, and how many orders permit it, is
    asked of the graph that it makes, in which nobody may come before an ancestor.
    """

    def __init__(self, target, values, considered, plus_one):
        local = reference_moves.Definition(target, values, G).local
        sets = [reference_spaces.space_sets(target, considered, plus_one, j) for j in range(target.n_nodes)]
        self.scores = [{family: local(j, tuple(sorted(family))) for family in each} for j, each in enumerate(sets)]
        self.weigh = functools.partial(reference.log_weight_of_children, target)
        self.known = {}

    def choices(self, graph, group):
        """All DAGs that differ in the parents of a group alone, how likely each is drawn, and its number of orders.

        What the tables do not know of a graph divides its number of orders.
        """
        rest = graph.copy()
        rest[:, list(group)] = False
        key = rest.tobytes(), group
        if key not in self.known:
            families = list(itertools.product(*(self.scores[v] for v in group)))
            graphs = np.repeat(rest[None], len(families), axis=0)
            for each, choice in zip(graphs, families, strict=True):
                for v, family in zip(group, choice, strict=True):
                    each[list(family), v] = True
            logs = np.array([sum(self.scores[v][f] for v, f in zip(group, each, strict=True)) for each in families])
            possible = dags.is_acyclic(graphs)
            orders = orders_without_descendants_first(graphs[possible], group)
            chances = orders * np.exp(logs[possible] - logs[possible].max())
            index = {each.tobytes(): k for k, each in enumerate(graphs[possible])}
            rest_of_prior = np.array([self.weigh(each) for each in graphs[possible]])
            self.known[key] = index, chances / chances.sum(), orders * np.exp(-rest_of_prior)
        return self.known[key]

    def law(self, graph, groups):
        """Probability of each next graph, by its bytes."""
        here, found = graph.tobytes(), {}
        for group, weight in groups.items():
            index, chances, orders = self.choices(graph, tuple(sorted(group)))
            if here not in index:  # the tables do not hold it
                found[here] = found.get(here, 0.0) + weight
                continue
            accepted = chances * np.minimum(1.0, orders[index[here]] / orders)
            accepted[index[here]] += 1.0 - accepted.sum()
            for key, k in index.items():
                found[key] = found.get(key, 0.0) + weight * accepted[k]
        return found


def orders_without_descendants_first(graphs, group):
    """In how many orders of a group nobody comes before an ancestor, graph by graph."""
    above = graphs.copy()
    for _ in range(graphs.shape[-1]):
        above |= (above.astype(np.int64) @ graphs.astype(np.int64)) > 0
    found = np.zeros(len(graphs), np.int64)
    for order in itertools.permutations(group):
        found += ~above[:, np.array(order)[:, None], np.array(order)][:, *np.tril_indices(len(group), -1)].any(axis=1)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# All graphs of three or four nodes


class Case:
    """A target and tables on it, and the move as kernels take it."""

    def __init__(self, n, prior, space):
        self.values = reference.small_values(n)
        self.target = Target.build(Data(self.values), Gaussian(g=G), prior)
        self.space = space
        tables = build_tables(self.target, space[0], plus_one=space[1])
        self.tables = open_tables(tables.arrays, draw_arrays(tables.arrays))
        self.likely = np.random.default_rng(3).uniform(0.05, 0.95, (n, n))
        self.own = regroup.open_regroup(regroup.make_regroup(self.target, self.likely))
        self.misreported = 0

    def groups(self, tries=FEW_TRIES):
        """Probability of each group, its nodes in one of the ways in which they are found, the last one."""
        fresh, found = starting_at(self.target, self.target.required), {}
        with mock.patch.object(regroup, "TRIES", tries):
            lists = law_of(lambda: tuple(self.own.group[: regroup.choose_group(fresh(), self.own)].tolist()))
        for members in {frozenset(each) for each in lists}:
            ways = [each for each in lists if frozenset(each) == members]
            found[ways[-1]] = sum(lists[each] for each in ways)
        return found

    def law(self, graph):
        """Probability of each next graph, by the production kernel."""
        fresh = starting_at(self.target, graph)

        def once():
            dag = fresh()
            changed = regroup.regroup_move(dag, self.tables, self.own)
            self.misreported += int(changed != (key_of(dag) != graph.tobytes()))
            return key_of(dag)

        return law_of(once)

    def compared(self, graphs, groups):
        """The laws of the next graph, and how far they are from the definition."""
        definition = Definition(self.target, self.values, *self.space)
        laws = [self.law(graph) for graph in graphs]
        pairs = [(law, definition.law(graph, groups)) for law, graph in zip(laws, graphs, strict=True)]
        return laws, {
            "definition": float(max(reference_moves.distance(*pair) for pair in pairs)),
            "missed": sum(len(reached(law) ^ reached(expected)) for law, expected in pairs),
            "next": sum(len(reached(law)) - 1 for law in laws),
            "misreported": self.misreported,
            "outside": int(self.own.outside[0]),
            "sizes": sorted({len(group) for group in groups}),
        }


def figures(n, prior, space, patches=(), tries=FEW_TRIES, weigh=None, raw=False):
    """Judge the move over all graphs of n nodes."""
    case = Case(n, prior, spaces(n)[space])
    graphs, posterior, _ = reference.enumerate_posterior(case.target, case.values, G)
    groups = case.groups(tries)
    quick = [mock.patch.object(regroup, "TRIES", tries)] if raw else [choosing(groups, weigh), drawing_at_once()]
    with ExitStack() as stack:
        for patch in (*quick, *patches):
            stack.enter_context(patch)
        laws, found = case.compared(graphs, groups)
    return {**deviations(matrix_of(laws, graphs), posterior), **found}


def matrix_of(laws, graphs):
    keys = [graph.tobytes() for graph in graphs]
    return np.array([[law.get(key, 0.0) for key in keys] for law in laws])


def three_nodes():
    found = {f"{prior}, {space}": figures(3, PRIORS[prior], space) for prior in PRIORS for space in spaces(3)}
    found |= {f"alone, {space}": figures(3, PRIORS["free"], space, tries=0) for space in spaces(3)}
    return found | {f"raw, {space}": figures(3, PRIORS["constrained"], space, tries=2, raw=True) for space in spaces(3)}


def four_free_nodes(rows=6):
    """Some rows of the matrix of 543 graphs; the whole matrix of the definition takes their place otherwise."""
    found = {}
    for space in spaces(4):
        case = Case(4, EdgePrior(h="paper"), spaces(4)[space])
        graphs, posterior, _ = reference.enumerate_posterior(case.target, case.values, G)
        groups, definition = case.groups(), Definition(case.target, case.values, *case.space)
        with choosing(groups), drawing_at_once():
            some = np.random.default_rng(1).choice(len(graphs), rows, replace=False)
            _, found_there = case.compared([graphs[k] for k in some], groups)
        defined = matrix_of([definition.law(graph, groups) for graph in graphs], graphs)
        found[f"free, {space}"] = {**deviations(defined, posterior), **found_there}
    return found


def four_nodes():
    return {space: figures(4, FOUR, space) for space in spaces(4)} | four_free_nodes()


def mixed_with_adr():
    """Through `advance`, so that choosing the kind of move belongs to what is proven."""
    found = {}
    for prior, space in itertools.product(("constrained", "one parent"), ("full", "gaps")):
        case = Case(3, PRIORS[prior], spaces(3)[space])
        sampler = PARNI(target_evaluations=1, moves={"adr": 0.5, "regroup": 0.5})
        prepared = Prepared(None, build_tables(case.target, case.space[0], plus_one=case.space[1]), case.likely)
        with choosing(case.groups()), drawing_at_once():
            own = sampler, case.target, prepared
            found[f"{prior}, {space}"] = judge(case.target, case.values, advance_steps, own)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Random graphs of five and six nodes

MOST_CHOICES = 400


def random_case(rng):
    """A target with random constraints and tables, and a random graph that it allows but the tables may not hold."""
    n = int(rng.integers(5, 7))
    order, off = rng.permutation(n), ~np.eye(n, dtype=bool)
    graph = np.zeros((n, n), bool)
    graph[np.ix_(order, order)] = np.triu(rng.random((n, n)) < rng.choice([0.2, 0.4]), 1)
    required = graph & (rng.random((n, n)) < rng.choice([0.1, 0.4]))
    forbidden = ~graph & (rng.random((n, n)) < rng.choice([0.0, 0.2])) & off
    limit = min(max(1, int(graph.sum(axis=0).max())) + int(rng.integers(0, 2)), n - 1)
    considered = off & ((graph & (rng.random((n, n)) < rng.choice([0.8, 1.0]))) | (rng.random((n, n)) < 0.2))
    prior = EdgePrior(h=0.4, required=required, forbidden=forbidden, max_parents=limit)
    return Case(n, prior, (considered, bool(rng.random() < 0.3))), graph


def random_groups(rng, case):
    """Some groups, one of four nodes among them if its parents can be chosen in not too many ways."""
    n = case.target.n_nodes
    counts = [len(reference_spaces.space_sets(case.target, *case.space, j)) for j in range(n)]
    drawn = [tuple(rng.permutation(n)[:size].tolist()) for size in (4, 4, 3, 2)]
    found = {group: float(rng.random()) for group in drawn if math.prod(counts[v] for v in group) <= MOST_CHOICES}
    return {group: weight / sum(found.values()) for group, weight in found.items()}


def compare_random_graphs(cases=40):
    rng = np.random.default_rng(11)
    found = []
    while len(found) < cases:
        case, graph = random_case(rng)
        groups = random_groups(rng, case)
        if 4 in map(len, groups):
            with choosing(groups), drawing_at_once():
                found.append(case.compared([graph], groups)[1])
    return {
        "definition": max(each["definition"] for each in found),
        **{name: sum(each[name] for each in found) for name in ("missed", "next", "misreported", "outside")},
    }


# ---------------------------------------------------------------------------------------------------------------------
# Broken twins


def paths_unseen(own, parents, degree):
    """Sees a parent of the group, but not that it descends from another."""
    members = own.group.tolist()
    return np.int64(sum(1 << members.index(p) for p in set(parents[:degree].tolist()) & set(members)))


def only_own_descendants_barred(tables, own, node, last, permit=regroup.permit):
    permit(tables, own, node, np.int64(1 << own.group.tolist().index(node)))


def only_later_descendants_barred(tables, own, node, last, permit=regroup.permit):
    permit(tables, own, node, np.int64(last ^ 1 << own.group.tolist().index(node)))


def nobody_orphaned(dag, lists, orphans, count, list_children=regroup.list_children):
    """Takes G for G⊙."""
    list_children(dag, lists, orphans, 0)


def required_unseen(dag, lists, orphans, count, list_children=regroup.list_children):
    """Forgets the paths through required edges."""
    list_children(dag, lists._replace(required=lists.required[:0]), orphans, count)


def likelier_with_parents(dag, group):
    return 1.0 + dag.degree[group[0]]


BROKEN = {
    "orders uncounted": ("free", "full", {"acceptance": lambda before, after, gain: 1.0}),
    "orders upside down": ("free", "full", {"acceptance": lambda before, after, gain: min(1.0, after / before)}),
    "orders alike": ("free", "full", {"odds": lambda log_odds: float(log_odds > -math.inf)}),
    "paths unseen": ("free", "full", {"reached_by": paths_unseen}),
    "nobody orphaned": ("free", "full", {"list_children": nobody_orphaned}),
    # one parent at most where there will be cycles: a dag has no room for more edges than a DAG may have
    "only own descendants barred": ("one parent", "full", {"permit": only_own_descendants_barred}),
    "only later descendants barred": ("one parent", "full", {"permit": only_later_descendants_barred}),
    "required unseen": ("a path through a required parent", "full", {"list_children": required_unseen}),
    "children forgotten": ("regulators", "full", {"drawn_for_gone": lambda dag, *families: 0.0}),
    "outside forgotten": ("free", "gaps", {"holds_parents": lambda dag, tables, node: True}),
    "outside forgotten, plus one": ("free", "gaps plus one", {"holds_parents": lambda dag, tables, node: True}),
}


def twins():
    found = {
        name: figures(3, PRIORS[prior], space, [mock.patch.multiple(regroup, **broken)])
        for name, (prior, space, broken) in BROKEN.items()
    }
    return found | {"groups by graph": figures(3, PRIORS["free"], "full", weigh=likelier_with_parents)}


def main(what):
    install(DECISIONS)
    tasks = {
        "three": three_nodes,
        "four": four_nodes,
        "mixed": mixed_with_adr,
        "random": compare_random_graphs,
        "twins": twins,
    }
    print(json.dumps(tasks[what]()))


if __name__ == "__main__":
    main(*sys.argv[1:])
