"""Exact transition matrices of the production kernels, by enumerating every random decision they make.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions.py "PARNI gibbs" free``: without compilation the kernels are plain
Python, so the functions through which they decide (`happens`, `pick`, `choose`, `below`, `skip`) can be replaced by an
explorer that visits every outcome with its probability. Prints figures as JSON; `test_transitions.py` runs it and
judges them. A third argument names one of the BROKEN twins, which must fail.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
np.seterr(over="ignore")

import reference  # noqa: E402

from parnidag import samplers  # noqa: E402
from parnidag.data.table import Data  # noqa: E402
from parnidag.kernels import dag as dag_module  # noqa: E402
from parnidag.kernels.dag import open_dag  # noqa: E402
from parnidag.moves import single_edge  # noqa: E402
from parnidag.priors.edge_prior import EdgePrior  # noqa: E402
from parnidag.samplers.base import Prepared, new_chain  # noqa: E402
from parnidag.samplers.parni import adaptation as tuning  # noqa: E402
from parnidag.samplers.parni import algorithm1 as block_kernels  # noqa: E402
from parnidag.samplers.parni import neighbourhood  # noqa: E402
from parnidag.scores import Gaussian  # noqa: E402
from parnidag.target import Target  # noqa: E402

G = 10.0


class Explorer:
    """Runs a function again and again, each time down another branch of its random decisions."""

    def __init__(self):
        self.path = []  # (probabilities, chosen index) of each decision so far
        self.depth = 0
        self.weight = 1.0

    def decide(self, probabilities):
        if self.depth == len(self.path):
            self.path.append((probabilities, next(k for k, p in enumerate(probabilities) if p > 0.0)))
        chosen = self.path[self.depth][1]
        self.depth += 1
        self.weight *= probabilities[chosen]
        return chosen

    def outcomes(self, function):
        """Yield (weight, result) of every branch."""
        while True:
            self.depth, self.weight = 0, 1.0
            result = function()
            yield self.weight, result
            while self.path:
                probabilities, chosen = self.path.pop()
                later = [k for k in range(chosen + 1, len(probabilities)) if probabilities[k] > 0.0]
                if later:
                    self.path.append((probabilities, later[0]))
                    break
            else:
                return


EXPLORER = Explorer()


def happens(rng, probability):
    return EXPLORER.decide((probability, 1.0 - probability)) == 0


def pick(rng, first, second):
    return (1, 2, 0)[EXPLORER.decide((first, second, max(0.0, 1.0 - first - second)))]


def choose(rng, weights, count):
    total = sum(float(weights[k]) for k in range(int(count)))
    return EXPLORER.decide(tuple(float(weights[k]) / total for k in range(int(count))))


def below(rng, count):
    return EXPLORER.decide((1.0 / count,) * int(count))


def skip(rng, hit, log_miss, limit):
    assert math.isclose(math.log1p(-hit), log_miss, rel_tol=1e-12)
    chances = [hit * math.exp(k * log_miss) for k in range(int(limit))]
    return EXPLORER.decide((*chances, math.exp(int(limit) * log_miss)))


def random_absent(dag):
    """The production version draws until it finds a place, which no finite tree covers; its law is uniform."""
    codes = [c for c in dag.free if not dag_module.adjacent(dag, c >> 16, c & 0xFFFF)]
    return np.int64(codes[EXPLORER.decide((1.0 / len(codes),) * len(codes))])


def install(replacements, modules=None):
    """Put `replacements` {name: function} in place of the functions of that name in every module that imported them."""
    for module in modules or [m for name, m in sys.modules.items() if name.startswith("parnidag")]:
        for name, function in replacements.items():
            if callable(getattr(module, name, None)):
                setattr(module, name, function)


DECISIONS = {
    "happens": happens,
    "pick": pick,
    "choose": choose,
    "below": below,
    "skip": skip,
    "random_absent": random_absent,
}


def transition_matrix(target, graphs, step, own=None):
    """P[s, t] of one `step(dag, own)` from every graph; what leaves the allowed graphs is missing from its row."""
    index = {graph.tobytes(): k for k, graph in enumerate(graphs)}
    matrix = np.zeros((len(graphs), len(graphs)))
    for s, graph in enumerate(graphs):
        for weight, key in step(starting_at(target, graph), own):
            if key in index:
                matrix[s, index[key]] += weight
    return matrix


def starting_at(target, graph):
    """Return a function that makes a fresh dag standing at `graph`."""
    chain = new_chain(target, graph, 0, 0)
    scratch = chain.scratch(target)

    def fresh():
        return open_dag(target.problem, type(chain.graph)(*(array.copy() for array in chain.graph)), scratch)

    return fresh


def key_of(dag):
    return (dag.position != -1).tobytes()


def frozen_parni(target, kernel, omega, seed=3):
    """PARNI's state with arbitrary η and ω, as if tuned long ago."""
    chain = new_chain(target, target.required, 0, 0)
    n = target.n_nodes
    rng = np.random.default_rng(seed)
    sampler = samplers.PARNI(kernel=kernel, moves="paper")
    sampler.begin(target, Prepared(warm=rng.uniform(0.05, 0.95, (n, n))), chain, 0)
    run = tuning.open_parni(chain.own.parni)
    run.omega = omega
    dag = open_dag(target.problem, chain.graph, chain.scratch(target))
    tuning.refresh_eta(dag, run, 0)
    return run


def single_edge_steps(choose_move):
    """Yield every outcome of one step of MC3 or ADR."""

    def outcomes(fresh, own):
        def once():
            dag = fresh()
            single_edge.single_edge_step(dag, choose_move(dag))
            return key_of(dag)

        return EXPLORER.outcomes(once)

    return outcomes


def parni_steps(fresh, run):
    """Yield every outcome of one iteration of PARNI, frozen."""
    draw_from(chances_of_blocks(fresh, run))

    def once():
        dag = fresh()
        block_kernels.parni_iteration(dag, run)
        return key_of(dag)

    return EXPLORER.outcomes(once)


def chances_of_blocks(fresh, run):
    """Return how likely each ordered list of blocks is; many ways of drawing lead to the same one."""

    def draw():
        neighbourhood.draw_neighbourhoods(fresh(), run)
        return run.block_codes[: run.blocks].tobytes(), run.block_pairs[: run.blocks].tobytes()

    chances = {}
    for weight, blocks in EXPLORER.outcomes(draw):
        chances[blocks] = chances.get(blocks, 0.0) + weight
    return chances


def draw_from(chances):
    """Let the next iterations draw their blocks in one decision."""
    lists, weights = tuple(chances), tuple(chances.values())

    def draw_neighbourhoods(dag, run):
        codes, pairs = lists[EXPLORER.decide(weights)]
        run.blocks = len(pairs)
        run.block_codes[: run.blocks] = np.frombuffer(codes, np.int32)
        run.block_pairs[: run.blocks] = np.frombuffer(pairs, np.bool_)

    install({"draw_neighbourhoods": draw_neighbourhoods}, [block_kernels])


def printed_equation_7(run):
    """The acceptance ratio as printed: it forgets p(k | γ′)/p(k | γ)."""
    missing = 0.0
    for k in range(run.undos):
        i, j = int(run.undo_codes[k]) >> 16, int(run.undo_codes[k]) & 0xFFFF
        here = run.undo_moves[k] >= block_kernels.UNDO_HERE
        choice = run.undo_moves[k] - block_kernels.UNDO_HERE if here else run.undo_moves[k]
        missing += run.eta_logit[i, j] if here else 0.0
        if choice == block_kernels.SECOND:
            missing -= run.eta_logit[j, i]
        elif not here:
            missing -= run.eta_logit[i, j]
    return run.log_ratio - missing


def phantom_states(first, second, choice):
    """Z′ with a ratio of 1 for each state that a cycle rules out."""
    chosen = first if choice == block_kernels.FIRST else second
    total = min(1.0, math.exp(min(700.0, -chosen)))
    for state in (first, second):
        impossible = state == -math.inf and (state is not second or PAIR["block"])
        total += 1.0 if impossible else min(1.0, math.exp(min(700.0, state - chosen)))
    return total


PAIR = {"block": False}
PRODUCTION_CHOICE = block_kernels.printed_choice


def choice_noting_pairs(dag, run, first, second, code):
    PAIR["block"] = second > -math.inf
    return PRODUCTION_CHOICE(dag, run, first, second, code)


def plain_gibbs(dag, first, second, code):
    """Draw the next state with its own probability, the present one included: exact, but it stays more often."""
    w1 = math.exp(first) if block_kernels.first_possible(dag, code) else 0.0
    w2 = math.exp(second) if block_kernels.second_possible(dag, code) else 0.0
    return block_kernels.pick(dag.rng, w1 / (1.0 + w1 + w2), w2 / (1.0 + w1 + w2))


def fixed_order(dag, run):
    """Blocks in the order of their node pairs, instead of a random one."""
    keys = [tuple(sorted((int(code) >> 16, int(code) & 0xFFFF))) for code in run.block_codes[: run.blocks]]
    order = sorted(range(run.blocks), key=keys.__getitem__)
    run.block_codes[: run.blocks] = run.block_codes[: run.blocks][order]
    run.block_pairs[: run.blocks] = run.block_pairs[: run.blocks][order]


def judge(target, values, step, own=None):
    """How far one step is from leaving the posterior invariant, and from being reversible."""
    graphs, posterior, _ = reference.enumerate_posterior(target, values, G)
    matrix = transition_matrix(target, graphs, step, own)
    return {**deviations(matrix, posterior), "total_variation": float(total_variation(matrix, posterior))}


def deviations(matrix, posterior):
    """What is wrong with a transition matrix, and how much it moves."""
    flow = posterior[:, None] * matrix
    return {
        "graphs": len(matrix),
        "rows": float(abs(matrix.sum(axis=1) - 1.0).max()),
        "invariance": float(abs(posterior @ matrix - posterior).max()),
        "reversibility": float(abs(flow - flow.T).max()),
        "moves": float((posterior * (1.0 - np.diag(matrix))).sum()),
    }


def total_variation(matrix, posterior):
    """Distance between the posterior and the law that the step really leaves invariant."""
    values, vectors = np.linalg.eig(matrix.T)
    stationary = np.real(vectors[:, np.argmin(abs(values - 1.0))])
    return abs(stationary / stationary.sum() - posterior).sum() / 2.0


VALUES = reference.small_values(3)
PRIORS = {
    "free": EdgePrior(h="paper"),
    "constrained": EdgePrior(h="paper", required=[(0, 1)], forbidden=[(2, 0)]),
    "one parent": EdgePrior(h=0.4, max_parents=1, log_odds={(1, 2): 0.7}),
}
ALL_PRIORS = {**PRIORS, "regulators": EdgePrior(h=0.3, regulators=0.2, forbidden=[(2, 0)])}
"""With one that ties nodes together, which walks over orders and partitions cannot have."""
KERNELS = {
    "MC3": single_edge_steps(lambda dag: single_edge.FLIP),
    "ADR": single_edge_steps(single_edge.adr_move),
    "PARNI gibbs": parni_steps,
    "PARNI printed": parni_steps,
}
BROKEN = {
    "equation 7 as printed": {"log_acceptance": printed_equation_7},
    "phantom states": {"reverse_normaliser": phantom_states, "printed_choice": choice_noting_pairs},
    "fixed order": {"shuffle_blocks": fixed_order},
    "plain Gibbs": {"gibbs_choice": plain_gibbs},
    "children forgotten": {"more_children": lambda dag, i, more: 0.0, "turned_round": lambda dag, i, j: 0.0},
}


def main(kernel, prior, twin=""):
    target = Target.build(Data(VALUES), Gaussian(g=G), ALL_PRIORS[prior])
    install(DECISIONS)
    install(BROKEN.get(twin, {}))
    own = frozen_parni(target, kernel.removeprefix("PARNI "), omega=0.6) if kernel.startswith("PARNI") else None
    print(json.dumps(judge(target, VALUES, KERNELS[kernel], own)))


if __name__ == "__main__":
    main(*sys.argv[1:])
