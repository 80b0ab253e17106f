"""How many nodes the exact solver takes, and what that costs: known without the compiler."""

from __future__ import annotations

from parnidag.errors import ParnidagError

MAX_NODES = 22
"""Beyond, the tables of all parent sets take more than 2 GB."""
SECONDS_PER_TERM = 5e-9
"""CPU time measured at n = 16 to 20, divided by the number of terms: at most 3ⁿ."""


def check_size(n: int) -> None:
    """Refuse a problem that is too large, before anything is allocated."""
    if n > MAX_NODES:
        raise ParnidagError(
            f"the exact posterior is limited to {MAX_NODES} nodes, got {n}: this would take {estimate(n)[1]}",
            remedy="use parnidag.sample, which has no such limit",
        )


def bytes_of_sums(n: int) -> float:
    """The weights as given, scaled, half and fully summed over subsets; then eight numbers per set."""
    return 8.0 * (4 * n * 2.0 ** (n - 1) + 8 * 2.0**n)


def estimate(n: int) -> tuple[float, str]:
    """Return how many seconds a solution takes at most, and that with its memory in words."""
    bounded = min(n, 60)  # keeps the estimates inside the range of a float; far beyond "more than" anyway
    memory = bytes_of_sums(bounded)
    seconds = SECONDS_PER_TERM * 3.0**bounded
    words = f"{_readable(memory, _MEMORY_UNITS)} of memory and {_readable(seconds, _TIME_UNITS)} on one core"
    return seconds, words


_MEMORY_UNITS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"))
_TIME_UNITS = ((3.156e7, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def _readable(amount: float, units: tuple[tuple[float, str], ...]) -> str:
    size, name = next((unit for unit in units if amount >= 2 * unit[0]), units[-1])
    if amount < size:
        return f"less than 1 {name.removesuffix('s')}"
    if amount >= 1000 * units[0][0]:
        return f"over 1000 {name}"
    return f"about {amount / size:.2g} {name}" if amount < 100 * size else f"about {amount / size:.0f} {name}"
