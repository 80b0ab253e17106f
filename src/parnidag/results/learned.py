"""Values that were learned along with the graph: what a result keeps of them, and the table it shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parnidag.results.record import RunRecord

MOST_VALUES, LEAST_SHARE = 3, 0.005
"""Of each parameter so many values are named, and those that are this probable at least."""
Floats = NDArray[np.float64]


def with_probabilities(learned: object, prior: Floats, posterior: Floats) -> dict[str, Any]:
    """Add to the values what they weigh: `prior` over levels, `posterior` by chain and level, each summing to 1."""
    return {"values": learned, "prior": prior.tolist(), "posterior": np.atleast_2d(posterior).tolist()}


def learned_in_words(settings: dict[str, Any]) -> str:
    """Say which values are the most probable of what was learned; an empty string if nothing was."""
    kept = settings.get("learned")
    if not kept:
        return ""
    values: dict[str, list[float]] = kept["values"]
    posterior = np.mean(kept["posterior"], axis=0).reshape(tuple(map(len, values.values())))
    said = []
    for axis, (name, given) in enumerate(values.items()):
        shares = posterior.sum(axis=tuple(k for k in range(posterior.ndim) if k != axis))
        best = [k for k in np.argsort(-shares, kind="stable")[:MOST_VALUES].tolist() if shares[k] >= LEAST_SHARE]
        said.append(f"{name} " + ", ".join(f"{given[k]:.3g} ({shares[k]:.2f})" for k in best))
    return "; ".join(said)


def learned_table(record: RunRecord) -> pd.DataFrame | None:
    """Return a line for every value that something learned may have; None if nothing was learned."""
    kept = record.settings.get("learned")
    if not kept:
        return None
    values: dict[str, list[float]] = kept["values"]
    shape = tuple(map(len, values.values()))
    prior = np.array(kept["prior"]).reshape(shape)
    posterior = np.mean(kept["posterior"], axis=0).reshape(shape)
    lines = []
    for axis, (name, given) in enumerate(values.items()):
        others = tuple(k for k in range(len(shape)) if k != axis)
        sums = prior.sum(axis=others), posterior.sum(axis=others)
        lines += [(name, *line) for line in zip(given, *map(np.ndarray.tolist, sums), strict=True)]
    return pd.DataFrame(lines, columns=["parameter", "value", "prior", "probability"])
