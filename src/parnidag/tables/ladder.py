"""A ladder of walks over ordered partitions, each on a power of their weight, that exchange what they have found.

The weight of a partition Λ is R(Λ), the summed weights of the graphs that belong to it (see `partitions.py`). Rung r
walks with probability ∝ R(Λ)^β_r, from β = 1 on rung 0, which is the posterior, down to where modes are low hills that
a walk crosses. Neighbouring rungs exchange their partitions with probability min{1, exp((β_r − β_s)(V_s − V_r))}, where
V = log R: that leaves the product of all laws as it is (Geyer 1991), and carries what a hot rung has found to the cold
one.

Where values are learned along with the graph, rung 0 alone follows them: the others stay with one of these values, for
nothing is asked of their laws but to be flat and near. Rungs 0 and 1 may then have different R, each with its own sums,
and exchange by min{1, exp(V₀(Λ₁) − V₀(Λ₀) + β₁ (V₁(Λ₀) − V₁(Λ₁)))}.

A step takes one node out and puts it back at any of the 2m + 1 places among the m parts that remain, into a part or
alone before, between or behind parts, each with its own probability under the law of the rung: a Gibbs step, never
refused. With tables of all parent sets every place is weighed in O(n) look-ups altogether. Let U be the nodes before a
part and U' those before the part in front of it; a node then weighs α(U) − α(U'). As v wanders from the last place to
the first, every other node sees it in four ways only: not at all, among those of the part in front, alone in front, and
further ahead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ONE, ZERO, Dag
from parnidag.kernels.declare import keeps, opener, size_of, struct_over
from parnidag.kernels.jit import kernel, leaf, make_frame
from parnidag.kernels.random import RandomState, below, choose, happens
from parnidag.kernels.types import Bytes, Floats, Integers, int64
from parnidag.tables.all_sets import SetSums, column_of

LEAST_REJECTION = 0.02
"""What a pair of rungs that never refused an exchange counts for when the ladder is spaced anew."""


@keeps("parts", "counts", "values", "powers", "walker", "reached", "exchanges", "refusals", "moves", "trips")
class LadderArrays(NamedTuple):
    frame: Bytes
    parts: Integers
    """The parts of each rung's partition in order, as bitmasks (rungs × n)."""
    counts: Integers
    """How many parts each has."""
    values: Floats
    """Log R of each."""
    powers: Floats
    """β of each rung, from 1 down."""
    old_powers: Floats
    walker: Integers
    """Which of the partitions that the ladder began with has wandered to each rung."""
    reached: Integers
    """Per walker, 1 once it has been on the last rung since it was last on the first."""
    exchanges: Integers
    """Tries of each pair of neighbours since the ladder was spaced."""
    refusals: Floats
    """Summed probabilities with which they were refused."""
    moves: Integers
    """Steps made, and those of them that changed the partition."""
    trips: Integers
    """Walkers that came from the last rung to the first; exchanges tried and made in all."""
    closed: Integers
    """Working memory: the nodes before each part; logs for each part as v is seen in four ways; places to choose."""
    unseen: Floats
    ahead: Floats
    in_front: Floats
    alone: Floats
    places: Floats
    weights: Floats


@struct_over
class Ladder(LadderArrays):
    rungs: int = size_of("counts")
    n: int = size_of("alone")


open_ladder = opener(Ladder)


def make_ladder(level: Integers, powers: Floats) -> LadderArrays:
    """Return a ladder all of whose rungs begin at the partition with the given levels; values follow when compiled."""
    n, rungs = len(level), len(powers)
    parts = np.zeros((rungs, n), np.int64)
    for j in range(n):
        parts[:, level[j]] |= 1 << j
    return LadderArrays(
        frame=make_frame(),
        parts=parts,
        counts=np.full(rungs, level.max() + 1),
        values=np.zeros(rungs),
        powers=powers.copy(),
        old_powers=powers.copy(),
        walker=np.arange(rungs),
        reached=np.zeros(rungs, np.int64),
        exchanges=np.zeros(max(rungs - 1, 1), np.int64),
        refusals=np.zeros(max(rungs - 1, 1)),
        moves=np.zeros(2, np.int64),
        trips=np.zeros(3, np.int64),
        closed=np.zeros(n + 1, np.int64),
        unseen=np.zeros(n),
        ahead=np.zeros(n + 2),
        in_front=np.zeros(n),
        alone=np.zeros(n),
        places=np.zeros(2 * n + 1),
        weights=np.zeros(2 * n + 1),
    )


@leaf
def share_above(log_whole: float, log_part: float) -> float:
    """Return 1 − part/whole, 0 where nothing is left."""
    return -math.expm1(log_part - log_whole) if log_part < log_whole else 0.0


@leaf
def with_share(log_whole: float, share: float) -> float:
    return log_whole + math.log(share) if share > 0.0 else -math.inf


@kernel
def value_of_rung(sets: SetSums, ladder: Ladder, rung: int) -> float:
    """Log R of a partition, part by part."""
    before, closed, total = ZERO, ZERO, 0.0
    for k in range(ladder.counts[rung]):
        whole, share = 0.0, 1.0
        for j in range(ladder.n):
            if ladder.parts[rung, k] >> j & ONE:
                log_all = sets.sums[j, column_of(closed, j)]
                whole += log_all
                if k > 0:
                    share *= share_above(log_all, sets.sums[j, column_of(before, j)])
        total += with_share(whole, share)
        before, closed = closed, closed | ladder.parts[rung, k]
    return total


@kernel
def relocate(rng: RandomState, sets: SetSums, ladder: Ladder, rung: int, power: float) -> None:
    """Take a random node out of a rung's partition and put it back at a place drawn from that power of R."""
    v = below(rng, ladder.n)
    place = take_out(ladder, rung, v)
    weigh_parts(sets, ladder, rung, v)
    weigh_places(sets, ladder, rung, v)
    count, top = 2 * ladder.counts[rung] + ONE, -math.inf
    for k in range(count):
        top = max(top, ladder.places[k])
    chosen = place
    if top > -math.inf:  # else rounding has left nothing of what the partition weighs
        for k in range(count):
            ladder.weights[k] = math.exp(power * (ladder.places[k] - top))
        chosen = choose(rng, ladder.weights, count)
        ladder.values[rung] = ladder.places[chosen]
    put_in(ladder, rung, v, chosen)
    ladder.moves[0] += ONE
    ladder.moves[1] += int64(chosen != place)


@kernel
def take_out(ladder: Ladder, rung: int, v: int) -> int:
    """Remove a node and return its place: 2k + 1 inside part k of the others, 2k alone before that part."""
    parts, node = ladder.parts[rung], ONE << v
    k = ZERO
    while not parts[k] & node:
        k += ONE
    parts[k] ^= node
    if parts[k]:
        return 2 * k + ONE
    ladder.counts[rung] -= ONE
    for later in range(k, ladder.counts[rung]):
        parts[later] = parts[later + ONE]
    return 2 * k


@kernel
def put_in(ladder: Ladder, rung: int, v: int, place: int) -> None:
    parts, k = ladder.parts[rung], place >> ONE
    if place & ONE:
        parts[k] |= ONE << v
        return
    for later in range(ladder.counts[rung], k, -1):
        parts[later] = parts[later - ONE]
    parts[k] = ONE << v
    ladder.counts[rung] += ONE


@kernel
def weigh_parts(sets: SetSums, ladder: Ladder, rung: int, v: int) -> None:
    """Write what each part of the others weighs with v behind it, further ahead, in the part in front, alone there."""
    node, before, closed = ONE << v, ZERO, ZERO
    for k in range(ladder.counts[rung]):
        ladder.closed[k] = closed
        whole, whole_with = 0.0, 0.0
        unseen, ahead, in_front, alone = 1.0, 1.0, 1.0, 1.0
        for j in range(ladder.n):
            if ladder.parts[rung, k] >> j & ONE:
                log_all, log_with = sets.sums[j, column_of(closed, j)], sets.sums[j, column_of(closed | node, j)]
                whole += log_all
                whole_with += log_with
                alone *= share_above(log_with, log_all)
                if k > 0:
                    log_before = sets.sums[j, column_of(before, j)]
                    unseen *= share_above(log_all, log_before)
                    in_front *= share_above(log_with, log_before)
                    ahead *= share_above(log_with, sets.sums[j, column_of(before | node, j)])
        ladder.unseen[k], ladder.ahead[k] = with_share(whole, unseen), with_share(whole_with, ahead)
        ladder.in_front[k], ladder.alone[k] = with_share(whole_with, in_front), with_share(whole_with, alone)
        before, closed = closed, closed | ladder.parts[rung, k]
    ladder.closed[ladder.counts[rung]] = closed


@kernel
def weigh_places(sets: SetSums, ladder: Ladder, rung: int, v: int) -> None:
    """Write log R of the partition with v at each place: 2k alone before part k, 2k + 1 inside it."""
    count, places = ladder.counts[rung], ladder.places
    ladder.ahead[count], ladder.ahead[count + ONE] = 0.0, 0.0
    for k in range(count - ONE, -1, -1):  # from here on the sum over this part and all behind it
        ladder.ahead[k] += ladder.ahead[k + ONE]
    passed = 0.0
    for k in range(count + ONE):
        own, share = sets.sums[v, column_of(ladder.closed[k], v)], 1.0
        if k > 0:
            share = share_above(own, sets.sums[v, column_of(ladder.closed[k - ONE], v)])
        own = with_share(own, share)
        if k == count:
            places[2 * k] = passed + own
        else:
            places[2 * k] = passed + own + ladder.alone[k] + ladder.ahead[k + ONE]
            passed += ladder.unseen[k]
            front = ladder.in_front[k + ONE] + ladder.ahead[k + 2] if k + ONE < count else 0.0
            places[2 * k + ONE] = passed + own + front


@kernel
def take_layers(sets: SetSums, ladder: Ladder, dag: Dag) -> None:
    """Put the first rung at the partition of a graph: the nodes whose parents are all in earlier parts, and so on."""
    parents, everyone = ladder.closed, (ONE << ladder.n) - ONE
    for j in range(ladder.n):
        parents[j] = ZERO
        for k in range(dag.degree[j]):
            parents[j] |= ONE << int64(dag.parents[j, k])
    placed, count = ZERO, ZERO
    while placed != everyone:
        part = ZERO
        for j in range(ladder.n):
            if not (placed >> j) & ONE and parents[j] & ~placed == ZERO:
                part |= ONE << j
        ladder.parts[0, count] = part
        placed |= part
        count += ONE
    ladder.counts[0] = count
    ladder.values[0] = value_of_rung(sets, ladder, ZERO)


@kernel
def exchange_rungs(rng: RandomState, sets: SetSums, rest: SetSums, ladder: Ladder, first: int, apart: bool) -> None:
    """Let every second pair of neighbours, from `first` on, exchange their partitions.

    Those of the first rung are weighed by `sets`, all others by `rest`, which differ if these are `apart`.
    """
    last = ladder.rungs - ONE
    for rung in range(first, last, 2):
        lower, upper = ladder.values[rung + ONE], ladder.values[rung]  # what each rung would have after the exchange
        if apart and rung == ZERO:
            lower, upper = value_of_rung(sets, ladder, ONE), value_of_rung(rest, ladder, ZERO)
        gain = ladder.powers[rung] * (lower - ladder.values[rung])
        gain += ladder.powers[rung + ONE] * (upper - ladder.values[rung + ONE])
        chance = 1.0 if math.isnan(gain) else math.exp(min(0.0, gain))  # both may weigh nothing, by rounding
        ladder.exchanges[rung] += ONE
        ladder.refusals[rung] += 1.0 - chance
        ladder.trips[1] += ONE
        if happens(rng, chance):
            ladder.trips[2] += ONE
            trade(ladder, rung, rung + ONE)
            ladder.values[rung], ladder.values[rung + ONE] = lower, upper
    ladder.reached[ladder.walker[last]] = ONE
    ladder.trips[0] += ladder.reached[ladder.walker[0]]
    ladder.reached[ladder.walker[0]] = ZERO


@kernel
def trade(ladder: Ladder, one: int, other: int) -> None:
    for k in range(ladder.n):
        ladder.parts[one, k], ladder.parts[other, k] = ladder.parts[other, k], ladder.parts[one, k]
    ladder.counts[one], ladder.counts[other] = ladder.counts[other], ladder.counts[one]
    ladder.walker[one], ladder.walker[other] = ladder.walker[other], ladder.walker[one]


@kernel
def space_anew(ladder: Ladder) -> None:
    """Move the powers so that all pairs would have refused equally often, by straight lines between the old ones."""
    pairs, total = ladder.rungs - ONE, 0.0
    for k in range(ladder.rungs):
        ladder.old_powers[k] = ladder.powers[k]
    for k in range(pairs):
        ladder.refusals[k] = max(ladder.refusals[k] / max(ladder.exchanges[k], ONE), LEAST_REJECTION)
        total += ladder.refusals[k]
    pair, passed = ZERO, 0.0
    for k in range(ONE, pairs):
        wanted = total * k / pairs
        while passed + ladder.refusals[pair] < wanted:
            passed += ladder.refusals[pair]
            pair += ONE
        upper, lower = ladder.old_powers[pair], ladder.old_powers[pair + ONE]
        ladder.powers[k] = upper - (upper - lower) * (wanted - passed) / ladder.refusals[pair]
    for k in range(pairs):
        ladder.refusals[k], ladder.exchanges[k] = 0.0, ZERO
