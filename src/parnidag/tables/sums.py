"""Sums over the parent sets that an order, a partition or a graph permits, and draws from them.

All of them are asked in one way. Every node has a level, and the parents of node j must lie below a bound: earlier in
an order, in an earlier part of a partition, not among the descendants in a graph. Some questions also require that at
least one parent is at the level just below the bound, `bound − 1`: the neighbouring part of a partition, or the other
end of an edge to be reversed. Such sets are those inside S less those inside S without the candidates at that level.
Where the difference would lose digits, or a ratio is out of range, the scores are summed one by one instead.
"""

from __future__ import annotations

import math

from parnidag.kernels.dag import ONE, ZERO
from parnidag.kernels.jit import kernel, leaf
from parnidag.kernels.random import RandomState, choose, happens
from parnidag.kernels.types import Codes, Integers, int64
from parnidag.tables.arrays import NEVER, SUBSET, Tables, row_of

HUGE = 1e290
"""Sums of ratios beyond this may have lost terms to overflow."""
KEPT_DIGITS = 1e-3
"""A difference smaller than this share of its terms is computed another way, since it would lose digits."""
CANCELLED = 1e-14
"""What is left of a difference below this share of its terms is rounding: no set may be there at all."""
NO_EXTRA = int64(0)
"""Column of the sets without a parent from outside."""
ANY = int64(-1)
"""Nothing is asked of a subset of the candidates."""


@kernel
def subset_below(tables: Tables, j: int, level: Integers, bound: int) -> int:
    """Return the candidates of j whose level is below the bound, as a bit set."""
    subset = ZERO
    for k in range(tables.candidate_count[j]):
        subset |= int64(level[tables.candidates[j, k]] < bound) << k
    return subset


@kernel
def required_below(tables: Tables, j: int, level: Integers, bound: int) -> bool:
    below = True
    for k in range(tables.required_count[j]):
        below &= level[tables.required[j, k]] < bound
    return below


@kernel
def required_hits(tables: Tables, j: int, level: Integers, bound: int) -> bool:
    """Is a required parent of j at the level just below the bound?"""
    hits = False
    for k in range(tables.required_count[j]):
        hits |= level[tables.required[j, k]] == bound - ONE
    return hits


@leaf
def next_subset(subset: int, within: int) -> int:
    """Return the subset of `within` that follows in increasing order; the last, `within` itself, gives 0."""
    return (subset - within) & within


# ---------------------------------------------------------------------------------------------------------------------
# Sums


@kernel
def log_sum(tables: Tables, j: int, level: Integers, bound: int) -> float:
    """Log of the summed weights of j's parent sets below the bound."""
    if not required_below(tables, j, level, bound):
        return -math.inf
    subset = subset_below(tables, j, level, bound)
    total = 1.0 + sum_of_ratios(tables, j, subset, level, bound)
    if total < HUGE:
        return tables.log_alone[tables.first_row[j] + subset] + math.log(total)
    return careful_log_sum(tables, j, subset, ANY, level, bound)


@kernel
def log_sum_hitting(tables: Tables, j: int, level: Integers, bound: int) -> float:
    """Log of the summed weights of j's parent sets below the bound, with at least one parent at level bound − 1."""
    if required_hits(tables, j, level, bound):
        return log_sum(tables, j, level, bound)
    if not required_below(tables, j, level, bound):
        return -math.inf
    subset = subset_below(tables, j, level, bound)
    lower = subset_below(tables, j, level, bound - ONE)
    at_level = sum_of_ratios_at(tables, j, subset, level, bound - ONE)
    if lower == subset:
        if 1.0 / HUGE < at_level < HUGE:
            return tables.log_alone[tables.first_row[j] + subset] + math.log(at_level)
        return careful_log_sum(tables, j, subset, ZERO, level, bound)
    whole = 1.0 + sum_of_ratios(tables, j, subset, level, bound - ONE)
    total = (
        at_level
        + whole
        - share_of(tables, j, subset, lower) * (1.0 + sum_of_ratios(tables, j, lower, level, bound - ONE))
    )
    if KEPT_DIGITS * whole < total < HUGE:
        return tables.log_alone[tables.first_row[j] + subset] + math.log(total)
    return careful_log_sum(tables, j, subset, subset ^ lower, level, bound)


@leaf
def share_of(tables: Tables, j: int, subset: int, lower: int) -> float:
    """Return what the sets inside `lower` weigh, relative to those inside `subset`; both without extras."""
    first = tables.first_row[j]
    return math.exp(tables.log_alone[first + lower] - tables.log_alone[first + subset])


@kernel
def sum_of_ratios(tables: Tables, j: int, subset: int, level: Integers, bound: int) -> float:
    """Sum the ratios of the extras below the bound; four sums side by side, since additions wait for one another."""
    start = row_of(tables, j, subset) + ONE
    count = tables.extra_count[j]
    extras, ratios = tables.extras[j], tables.ratios
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e = ZERO
    while e + 4 <= count:
        a += counted(ratios[start + e], level[extras[e]], bound)
        b += counted(ratios[start + e + 1], level[extras[e + 1]], bound)
        c += counted(ratios[start + e + 2], level[extras[e + 2]], bound)
        d += counted(ratios[start + e + 3], level[extras[e + 3]], bound)
        e += int64(4)
    while e < count:
        a += counted(ratios[start + e], level[extras[e]], bound)
        e += ONE
    return (a + b) + (c + d)


@kernel
def counted(ratio: float, height: int, bound: int) -> float:
    """Return the ratio if its level is below the bound; the ratio is read in any case, which saves a jump."""
    return ratio if height < bound else 0.0


@kernel
def sum_of_ratios_at(tables: Tables, j: int, subset: int, level: Integers, wanted: int) -> float:
    start = row_of(tables, j, subset) + ONE
    extras, ratios = tables.extras[j], tables.ratios
    total = 0.0
    for e in range(tables.extra_count[j]):
        ratio = ratios[start + e]
        total += ratio if level[extras[e]] == wanted else 0.0
    return total


@kernel
def careful_log_sum(tables: Tables, j: int, subset: int, hit: int, level: Integers, bound: int) -> float:
    """Sum the scores one by one, whatever their range; `hit` says what is asked of the sets, see `demand`."""
    top, total = -math.inf, 0.0
    for column in range(ONE + tables.extra_count[j]):
        asked = demand(tables, j, column, hit, level, bound)
        inside = log_sum_of_column(tables, j, subset, asked, column)
        if inside > top:
            total = 1.0 + (total * math.exp(top - inside) if total > 0.0 else 0.0)
            top = inside
        elif inside > -math.inf:
            total += math.exp(inside - top)
    return top + math.log(total) if total > 0.0 else -math.inf


@kernel
def demand(tables: Tables, j: int, column: int, hit: int, level: Integers, bound: int) -> int:
    """Return the candidates of which a set must have at least one, given its extra: ANY for no such demand, 0 for none.

    `hit` is ANY when no parent at level bound − 1 is asked for, else the candidates at that level.
    """
    if column == NO_EXTRA:
        return hit
    height = level[tables.extras[j, column - ONE]]
    if height >= bound:
        return ZERO
    return ANY if height == bound - ONE else hit


@kernel
def log_sum_of_column(tables: Tables, j: int, subset: int, asked: int, column: int) -> float:
    """Log of the summed weights of the sets inside `subset` that meet the demand, with the extra of the column."""
    if asked == ZERO:
        return -math.inf
    top = best_of_column(tables, j, subset, asked, column)
    if top == -math.inf:
        return top
    total, inside = 0.0, ZERO
    while True:
        if asked == ANY or inside & asked:
            total += math.exp(tables.scores[row_of(tables, j, inside) + column] - top)
        inside = next_subset(inside, subset)
        if inside == ZERO:
            return top + math.log(total)


@kernel
def best_of_column(tables: Tables, j: int, subset: int, asked: int, column: int) -> float:
    """Largest score of the sets inside `subset` that meet the demand, with the extra of the column."""
    top, inside = -math.inf, ZERO
    while True:
        if asked == ANY or inside & asked:
            top = max(top, tables.scores[row_of(tables, j, inside) + column])
        inside = next_subset(inside, subset)
        if inside == ZERO:
            return top


@kernel
def peak(tables: Tables, j: int, level: Integers, bound: int) -> float:
    """Best score of j's parent sets below the bound; needs `peaks`."""
    if not required_below(tables, j, level, bound):
        return -math.inf
    start = row_of(tables, j, subset_below(tables, j, level, bound))
    extras, peaks = tables.extras[j], tables.peaks
    best = peaks[start]
    for e in range(tables.extra_count[j]):
        candidate = peaks[start + e + ONE]
        best = max(best, candidate if level[extras[e]] < bound else -math.inf)
    return best


# ---------------------------------------------------------------------------------------------------------------------
# Draws


@kernel
def draw_parents(tables: Tables, rng: RandomState, j: int, level: Integers, bound: int, hitting: bool) -> float:
    """Draw a parent set of j below the bound in proportion to its weight and return its score.

    With `hitting` at least one parent is at level bound − 1; there must be such a set. The set itself is noted in
    `drawn_subset` and `drawn_column`.
    """
    subset = subset_below(tables, j, level, bound)
    if tables.ranked.size and not hitting and mostly_permitted(tables, j, subset):
        return draw_ranked(tables, rng, j, subset)
    hit = ANY
    if hitting and not required_hits(tables, j, level, bound):
        hit = subset ^ subset_below(tables, j, level, bound - ONE)
    weigh_columns(tables, j, subset, hit, level, bound)
    column = choose(rng, tables.weights, ONE + tables.extra_count[j])
    asked = demand(tables, j, column, hit, level, bound)
    count = weigh_subsets(tables, j, subset, asked, column)
    tables.drawn_subset = tables.chosen[choose(rng, tables.weights, count)]
    tables.drawn_column = column
    return tables.scores[row_of(tables, j, tables.drawn_subset) + column]


@leaf
def mostly_permitted(tables: Tables, j: int, subset: int) -> bool:
    """Are more than half of j's candidates permitted? Else few ranked sets are, and weighing those is faster."""
    count, left = ZERO, subset
    while left:
        left &= left - ONE
        count += ONE
    return count + count > tables.candidate_count[j]


@kernel
def draw_ranked(tables: Tables, rng: RandomState, j: int, subset: int) -> float:
    """Draw a parent set inside `subset` by going through all from the best on: the first few nearly always do.

    Each is taken with its share of what those before it left. Rounding may leave a crumb at the end: it is the best's.
    """
    first = tables.first_row[j]
    log_total, left = tables.log_alone[first + subset], 1.0
    best = int64(-1)
    for place in range(first, first + (ONE << tables.candidate_count[j])):
        inside = int64(tables.ranked[place])
        if inside & ~subset == ZERO:
            if best < 0:
                best = inside
            score = tables.scores[row_of(tables, j, inside)]
            chance = math.exp(score - log_total)
            if happens(rng, min(1.0, chance / left)):
                best = inside
                break
            left -= chance
            if left <= 0.0 or chance == 0.0:
                break
    tables.drawn_subset, tables.drawn_column = best, NO_EXTRA
    return tables.scores[row_of(tables, j, best)]


@kernel
def weigh_columns(tables: Tables, j: int, subset: int, hit: int, level: Integers, bound: int) -> None:
    """Write to `weights` what the sets that meet the demand weigh together, with each extra and without one."""
    weights = tables.weights
    start = row_of(tables, j, subset)
    lower = subset if hit == ANY else subset ^ hit
    share, lower_start = share_of(tables, j, subset, lower), row_of(tables, j, lower)
    total, whole = 0.0, 0.0
    for column in range(ONE + tables.extra_count[j]):
        asked = demand(tables, j, column, hit, level, bound)
        weights[column] = 0.0
        if asked == ANY:
            weights[column] = tables.ratios[start + column]
        elif asked != ZERO:
            ratio = tables.ratios[start + column]
            left = ratio - share * tables.ratios[lower_start + column]
            weights[column] = 0.0 if left <= CANCELLED * ratio else left  # undefined if a ratio is out of range
            whole += ratio
        total += weights[column]
    if not KEPT_DIGITS * whole < total < HUGE:
        weigh_columns_carefully(tables, j, subset, hit, level, bound)


@kernel
def weigh_columns_carefully(tables: Tables, j: int, subset: int, hit: int, level: Integers, bound: int) -> None:
    """Do the same by summing scores one by one."""
    weights, columns = tables.weights, ONE + tables.extra_count[j]
    top = -math.inf
    for column in range(columns):
        asked = demand(tables, j, column, hit, level, bound)
        weights[column] = log_sum_of_column(tables, j, subset, asked, column)
        top = max(top, weights[column])
    for column in range(columns):
        weights[column] = math.exp(weights[column] - top)


@kernel
def weigh_subsets(tables: Tables, j: int, subset: int, asked: int, column: int) -> int:
    """List the subsets that meet the demand in `chosen`, their weights in `weights`, and return their number."""
    top = best_of_column(tables, j, subset, asked, column)
    count, inside = ZERO, ZERO
    while True:
        if asked == ANY or inside & asked:
            tables.chosen[count] = inside
            tables.weights[count] = math.exp(tables.scores[row_of(tables, j, inside) + column] - top)
            count += ONE
        inside = next_subset(inside, subset)
        if inside == ZERO:
            return count


@kernel
def write_parents(tables: Tables, j: int, subset: int, column: int, family: Codes) -> int:
    """Write the parents in a subset with the extra of a column to `family`, sorted; return how many there are."""
    count = ZERO
    for k in range(tables.required_count[j]):
        count = insert_sorted(family, count, int64(tables.required[j, k]))
    for k in range(tables.candidate_count[j]):
        if subset >> k & ONE:
            count = insert_sorted(family, count, int64(tables.candidates[j, k]))
    if column != NO_EXTRA:
        count = insert_sorted(family, count, int64(tables.extras[j, column - ONE]))
    return count


@leaf
def insert_sorted(family: Codes, count: int, node: int) -> int:
    """Insert a node into the sorted list of the first `count` and return the new count."""
    place = count
    while place > 0 and family[place - 1] > node:
        family[place] = family[place - 1]
        place -= ONE
    family[place] = node
    return count + ONE


@kernel
def find_parents(tables: Tables, j: int, parents: Codes, degree: int) -> bool:
    """Note in `drawn_subset` and `drawn_column` where a parent set stands; False if the tables do not hold it."""
    tables.drawn_subset, tables.drawn_column = ZERO, NO_EXTRA
    for k in range(degree):
        parent = int64(parents[k])
        bit = place_in(tables.candidates[j], tables.candidate_count[j], parent)
        if bit >= 0:
            tables.drawn_subset |= ONE << bit
        elif tables.column[j, parent] != SUBSET:
            if tables.column[j, parent] == NEVER or tables.drawn_column != NO_EXTRA:
                return False
            tables.drawn_column = int64(tables.column[j, parent])
    return True


@kernel
def place_in(nodes: Codes, count: int, node: int) -> int:
    """Return the place of a node in a list, −1 if it is not there."""
    for k in range(count):
        if nodes[k] == node:
            return int64(k)
    return int64(-1)
