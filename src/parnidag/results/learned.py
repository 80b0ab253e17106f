"""Values that were learned along with the graph: what a result keeps of them, and the table it shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parnidag.results.record import RunRecord

Floats = NDArray[np.float64]


def with_probabilities(learned: object, prior: Floats, posterior: Floats) -> dict[str, Any]:
    """Add to the values what they weigh: `prior` over levels, `posterior` by chain and level, each summing to 1."""
    return {"values": learned, "prior": prior.tolist(), "posterior": np.atleast_2d(posterior).tolist()}


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
