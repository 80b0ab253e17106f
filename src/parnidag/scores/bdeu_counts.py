"""How often each combination of levels occurs in a discrete table, in three ways.

A family is some columns; a cell is one combination of their levels. Few cells are counted with bit sets: each level
of a column is the set of rows that have it, so a cell is an intersection and its count the number of bits (64 rows an
operation). More cells are counted row by row in a table of all of them, and when that table would be much longer than
the data, the combinations that occur are numbered first.
"""

from __future__ import annotations

import numba
import numpy as np

from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.types import Integers, Words, int64, uint64

ZERO, ONE = int64(0), int64(1)
BLOCK_WORDS = 512
"""Words of bit sets worked on at a time: 4 kB, so that those of a whole family stay in the fastest memory."""
BLOCK_ROWS = 512
MOST_NUMBERS = 2.0**62
"""Combinations are numbered below this, so that numbers never wrap around."""
FREE = int64(-1)


if numba.config.DISABLE_JIT:

    def bit_count(word: int) -> int:
        """Count the bits without a compiler."""
        return int(word).bit_count()

else:

    @kernel
    def bit_count(word: int) -> int:
        """Count the bits that are set; compilers turn this into one instruction."""
        word = word - ((word >> uint64(1)) & uint64(0x5555555555555555))
        word = (word & uint64(0x3333333333333333)) + ((word >> uint64(2)) & uint64(0x3333333333333333))
        word = (word + (word >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
        return int64((word * uint64(0x0101010101010101)) >> uint64(56))


@kernel
def intersect(one: Words, other: Words, result: Words) -> None:
    for word in range(result.size):
        result[word] = one[word] & other[word]


@kernel
def shared_bits(one: Words, other: Words) -> int:
    total = int64(0)
    for word in range(one.size):
        total += bit_count(one[word] & other[word])
    return total


@kernel
def count_sets(bits: Words, used: Words, first: Integers, arity: Integers, family: Integers, counts: Integers) -> None:
    """Add the count of every cell to `counts`, the last column of the family fastest; only the rows in `used` count.

    Level k of column j is the row `first[j] + k` of `bits`. The cells are visited depth first; `sets` holds the
    rows that have the chosen levels of the first 0, 1, … columns.
    """
    last = family.size - 1
    depth = ZERO
    level = np.zeros(family.size, np.int64)
    sets = np.empty((family.size, min(used.size, BLOCK_WORDS)), np.uint64)
    for start in range(0, used.size, BLOCK_WORDS):
        size = min(BLOCK_WORDS, used.size - start)
        stop = start + size
        intersect(used[start:stop], used[start:stop], sets[0, :size])
        depth, cell = ZERO, ZERO
        while depth >= 0:
            while depth < last:
                chosen = bits[first[family[depth]] + level[depth], start:stop]
                intersect(sets[depth, :size], chosen, sets[depth + 1, :size])
                depth += ONE
            for k in range(arity[family[last]]):
                counts[cell] += shared_bits(sets[last, :size], bits[first[family[last]] + k, start:stop])
                cell += ONE
            depth = next_levels(level, arity, family, last)


@kernel
def next_levels(level: Integers, arity: Integers, family: Integers, last: int) -> int:
    """Go to the next levels of the columns before the last; return the first column that changed, −1 at the end."""
    for depth in range(last - 1, -1, -1):
        level[depth] += ONE
        if level[depth] < arity[family[depth]]:
            return int64(depth)
        level[depth] = ZERO
    return int64(-1)


@kernel
def count_rows(codes: Integers, arity: Integers, family: Integers, weights: Integers, counts: Integers) -> None:
    """Add the weights of the rows in every cell to `counts`, in the order of `count_sets`; no weights are ones."""
    cells = np.empty(BLOCK_ROWS, np.int32)
    rows = codes.shape[1]
    for start in range(0, rows, BLOCK_ROWS):
        size = min(BLOCK_ROWS, rows - start)
        cells[:size] = 0
        for column in family:
            append_level(cells[:size], arity[column], codes[column, start : start + size])
        add_weights(cells[:size], weights[start : start + size], counts)


@kernel
def add_weights(numbers: Integers, weights: Integers, counts: Integers) -> None:
    """Add the weight of every row to the count of its number; no weights are ones."""
    if weights.size == 0:
        for row in range(numbers.size):
            counts[numbers[row]] += ONE
    else:
        for row in range(numbers.size):
            counts[numbers[row]] += weights[row]


@kernel
def sum_neighbours(counts: Integers, size: int) -> Integers:
    """Return the sums of the first `size` counts, the next, …: the counts without the last column."""
    sums = np.zeros(counts.size // size, np.int32)
    for k in range(sums.size):
        for cell in range(k * size, (k + 1) * size):
            sums[k] += counts[cell]
    return sums


@kernel
def append_level(cells: Integers, arity: int, levels: Integers) -> None:
    """Number cells with one more column; apart from the counting, since compilers can do many rows at once here."""
    for k in range(cells.size):
        cells[k] = cells[k] * arity + levels[k]


@kernel
def number_combinations(codes: Integers, arity: Integers, family: Integers, places: Integers) -> tuple[Integers, int]:
    """Number the combinations of levels that occur: return the number of each row, and how many there are.

    `places` is memory for `renumber`.
    """
    numbers = np.zeros(codes.shape[1], np.int64)
    bound = 1.0
    for column in family:
        if bound * arity[column] > MOST_NUMBERS:
            bound = float(renumber(numbers, bound, places))
        append_level(numbers, arity[column], codes[column])
        bound *= arity[column]
    return numbers, renumber(numbers, bound, places)


@kernel
def count_numbers(numbers: Integers, found: int, weights: Integers) -> Integers:
    counts = np.zeros(found, np.int32)
    add_weights(numbers, weights, counts)
    return counts


@entry
def make_places(rows: int) -> Integers:
    """Return memory for `renumber`: as a hash table it is at most half full."""
    slots = int64(2)
    while slots < 2 * rows:
        slots *= 2
    return np.empty((2, slots), np.int64)


@kernel
def renumber(numbers: Integers, bound: float, places: Integers) -> int:
    """Replace different numbers by 0, 1, …, in the order in which they appear, and return how many there are.

    All are below `bound`. Numbers that are small enough are looked up in a table, others by their hash.
    """
    keys, labels = places[0], places[1]
    mask = int64(keys.size - 1)
    direct = bound <= keys.size
    for place in range(int64(bound) if direct else keys.size):
        keys[place] = FREE
    found = ZERO
    for row in range(numbers.size):
        number = numbers[row]
        place = number if direct else scatter(number) & mask
        while keys[place] != number:
            if keys[place] == FREE:
                keys[place] = number
                labels[place] = found
                found += ONE
            else:
                place = (place + ONE) & mask
        numbers[row] = labels[place]
    return found


@kernel
def scatter(number: int) -> int:
    """Mix the bits of a number, by the shifts of Marsaglia's xorshift (2003)."""
    bits = uint64(number)
    bits ^= bits << uint64(13)
    bits ^= bits >> uint64(7)
    bits ^= bits << uint64(17)
    return int64(bits >> uint64(1))
