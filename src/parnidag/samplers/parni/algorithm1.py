"""One iteration of PARNI-DAG (Algorithm 1 of the paper, corrected).

It draws a random set of positions, visits them one sub-neighbourhood K_r at a time, and lets each choose its next state
knowing what every alternative scores. Beside the paper, line by line:

    compute π̃                                        `warm_start`, once
    sample k, construct K, and let U₁ < ω choose      `draw_neighbourhoods` in `neighbourhood`, in one go
    for r = 1 … R: sample γ(r) from its neighbourhood `visit_block`
    calculate Z(r) and Z′(R − r + 1)                  `printed_choice`
    accept γ′, or set it back to γ                    `propose_and_decide`
    update η̂ (9) and ω (13)                           `adapt_eta` and `adapt_omega` in `adaptation`, called by `mixture`

Two kernels are exact:

- ``"gibbs"``: given k, the pair (γ, k) has the law π(γ) p(k | γ). Each K_r is updated by a Metropolised Gibbs step that
  leaves this law invariant, so every block stands on its own and nothing is rejected as a whole.
- ``"printed"``: Algorithm 1. The blocks together form one proposal, accepted with probability
  min{1, ∏ Z(r)/Z′(R − r + 1)} (Appendix D), else undone.

The states of a block are {no edge, i → j} or {no edge, i → j, j → i}, less those that close a cycle. The log ratio of
a state to the present one is that of π(γ) p(K_r | γ): adding i → j costs log(η/(1 − η)), removing it earns as much.
"""

from __future__ import annotations

import math

from parnidag.kernels.dag import (
    ONE,
    ZERO,
    Dag,
    add_edge,
    child_of,
    has_detour,
    is_ancestor,
    more_children,
    odds,
    parent_of,
    present,
    remove_edge,
)
from parnidag.kernels.jit import kernel, leaf
from parnidag.kernels.random import happens, pick
from parnidag.kernels.score_cache import flipped_score
from parnidag.kernels.types import int64
from parnidag.samplers.parni.adaptation import Parni
from parnidag.samplers.parni.neighbourhood import draw_neighbourhoods

STAY, FIRST, SECOND = 0, 1, 2
"""A block's choice: as it is; (i, j) flipped; the edge as j → i."""
UNDO_HERE = int64(4)
"""Added to an undo record when i → j was there before."""


@kernel
def parni_iteration(dag: Dag, run: Parni) -> None:
    """Draw k, then visit every evaluated sub-neighbourhood K_r."""
    draw_neighbourhoods(dag, run)
    run.evaluations += run.blocks
    if run.printed:
        propose_and_decide(dag, run)
    else:
        for r in range(run.blocks):
            visit_block(dag, run, r)
        run.tried += run.blocks


@kernel
def propose_and_decide(dag: Dag, run: Parni) -> None:
    """Algorithm 1: let the blocks build one proposal, then accept it or undo it all."""
    run.log_ratio = 0.0
    run.undos = ZERO
    for r in range(run.blocks):
        visit_block(dag, run, r)
    run.tried += ONE
    if happens(dag.rng, math.exp(min(0.0, log_acceptance(run)))):
        run.accepted += ONE
    else:
        undo_all(dag, run)


@leaf
def log_acceptance(run: Parni) -> float:
    """Σ log Z(r) − log Z′(R − r + 1), the log of the ratio in Appendix D."""
    return run.log_ratio


@kernel
def visit_block(dag: Dag, run: Parni, r: int) -> None:
    """Score the states of K_r against the present one and move to the state that is chosen."""
    code, pair = int64(run.block_codes[r]), run.block_pairs[r]
    i, j = parent_of(code), child_of(code)
    here = present(dag, i, j)
    flipped = flipped_score(dag, j, i)
    gain = flipped - dag.local[j] + more_children(dag, i, -ONE if here else ONE)
    first = gain + run.eta_logit[i, j] if here else gain - run.eta_logit[i, j]
    second, turned = -math.inf, 0.0
    if pair:
        turned = flipped_score(dag, i, j)
        second = turned - dag.local[i] + more_children(dag, j, ONE) - run.eta_logit[j, i]
        if here:
            second += first
    choice = printed_choice(dag, run, first, second, code) if run.printed else gibbs_choice(dag, first, second, code)
    if choice == STAY:
        return
    if run.printed:
        note_undo(dag, run, code, choice, here)
    else:
        run.accepted += ONE
    make_move(dag, code, choice, flipped, turned)


@kernel
def gibbs_choice(dag: Dag, first: float, second: float, code: int) -> int:
    """Metropolised Gibbs (Liu 1996): propose a different state s ∝ w_s, accept with (1 − p_present)/(1 − p_s).

    With the present state weighing 1 that moves to s with probability w_s / max(w_1 + w_2, 1 + w_1 + w_2 − w_s), which
    is at most w_s. So a first coin with the larger probability min{1, w_1 + w_2} settles most cases before the search
    for cycles; if it falls for moving, impossible states are left out and a second coin corrects for the first.
    """
    w1, w2 = odds(first), odds(second) if second > -math.inf else 0.0
    bound = min(1.0, w1 + w2)
    if not happens(dag.rng, bound):
        return STAY
    w1 = w1 if first_possible(dag, code) else 0.0
    w2 = w2 if w2 > 0.0 and second_possible(dag, code) else 0.0
    others = w1 + w2
    if others == 0.0:
        return STAY
    to_first, to_second = w1 / max(others, 1.0 + w2), w2 / max(others, 1.0 + w1)
    return pick(dag.rng, to_first / bound, to_second / bound)


@kernel
def printed_choice(dag: Dag, run: Parni, first: float, second: float, code: int) -> int:
    """Equation 5 with g(x) = min{1, x}: choose s ∝ g(w_s), and account for Z(r)/Z′(R − r + 1).

    The first coin has the largest probability of moving, when no state is impossible, as in `gibbs_choice`. A block
    that stays has Z = Z′.
    """
    g1, g2 = min(1.0, odds(first)), min(1.0, odds(second)) if second > -math.inf else 0.0
    bound = (g1 + g2) / (1.0 + g1 + g2)
    if not happens(dag.rng, bound):
        return STAY
    if not first_possible(dag, code):
        first, g1 = -math.inf, 0.0
    if g2 == 0.0 or not second_possible(dag, code):
        second, g2 = -math.inf, 0.0
    z = 1.0 + g1 + g2
    choice = pick(dag.rng, g1 / z / bound, g2 / z / bound)
    if choice != STAY:
        run.log_ratio += math.log(z / reverse_normaliser(first, second, choice))
    return choice


@kernel
def reverse_normaliser(first: float, second: float, choice: int) -> float:
    """Z′: the sum of g over the same states of the block, seen from the state that was chosen."""
    chosen = first if choice == FIRST else second
    return odds(min(0.0, -chosen)) + odds(min(0.0, first - chosen)) + odds(min(0.0, second - chosen))


@kernel
def first_possible(dag: Dag, code: int) -> bool:
    """Does flipping (i, j) leave a DAG?"""
    i, j = parent_of(code), child_of(code)
    return present(dag, i, j) or not is_ancestor(dag, j, i)


@kernel
def second_possible(dag: Dag, code: int) -> bool:
    """Does the edge j → i, in place of whatever is between i and j, leave a DAG?"""
    i, j = parent_of(code), child_of(code)
    if present(dag, i, j):
        return not has_detour(dag, i, j)
    return not is_ancestor(dag, i, j)


@kernel
def make_move(dag: Dag, code: int, choice: int, flipped: float, turned: float) -> None:
    """Carry out a choice; `flipped` and `turned` are the new local scores of j and i."""
    i, j = parent_of(code), child_of(code)
    here = present(dag, i, j)
    if here:
        remove_edge(dag, i, j, flipped)
    elif choice == FIRST:
        add_edge(dag, i, j, flipped)
    if choice == SECOND:
        add_edge(dag, j, i, turned)


@kernel
def note_undo(dag: Dag, run: Parni, code: int, choice: int, here: bool) -> None:
    i, j = parent_of(code), child_of(code)
    run.undo_codes[run.undos] = code
    run.undo_moves[run.undos] = choice + UNDO_HERE if here else choice
    run.undo_scores[2 * run.undos] = dag.local[j]
    run.undo_scores[2 * run.undos + 1] = dag.local[i]
    run.undos += ONE


@kernel
def undo_all(dag: Dag, run: Parni) -> None:
    for k in range(run.undos - ONE, -1, -1):
        code, move = int64(run.undo_codes[k]), run.undo_moves[k]
        i, j = parent_of(code), child_of(code)
        here = move >= UNDO_HERE
        choice = move - UNDO_HERE if here else move
        if choice == SECOND:
            remove_edge(dag, j, i, run.undo_scores[2 * k + 1])
        elif not here:
            remove_edge(dag, i, j, run.undo_scores[2 * k])
        if here:
            add_edge(dag, i, j, run.undo_scores[2 * k])
