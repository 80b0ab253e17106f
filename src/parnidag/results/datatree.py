"""The draws as an xarray DataTree, the form that ArviZ reads."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import warnings
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from parnidag._version import __version__
from parnidag.results.record import RunRecord, edges_of_draws, refuse_beyond_limit, settings_json


def datatree_of(record: RunRecord, probabilities: NDArray[np.float64], min_probability: float) -> xr.DataTree:
    chains, draws = record.graph_index.shape
    coordinates = {"chain": np.arange(chains), "draw": np.arange(draws)}
    present, labels = _present_edges(record, probabilities, min_probability)
    edge_count = np.diff(record.graph_offsets)[record.graph_index]
    posterior = xr.Dataset(
        {"present": (("chain", "draw", "edge"), present), "edge_count": (("chain", "draw"), edge_count)},
        coords=coordinates | {"edge": labels},
    )
    stats = xr.Dataset({"lp": (("chain", "draw"), record.log_posterior.copy())}, coords=coordinates)
    names = {dimension: list(record.nodes) for dimension in ("parent", "child")}
    edges = xr.Dataset({"probability": (("parent", "child"), probabilities.copy())}, coords=names)
    about = {"inference_library": "parnidag", "inference_library_version": __version__}
    for dataset in (posterior, stats):
        dataset.attrs.update(about)
    tree = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats, "edges": edges})
    statistics = {name: values.tolist() for name, values in record.statistics.items()}
    tree.attrs.update(about | {"settings": settings_json(record), "statistics": json.dumps(statistics)})
    return tree


def as_arviz_reads_it(tree: xr.DataTree) -> xr.DataTree | Any:
    """Return the tree; where ArviZ is older than 1, which knows no trees, the same groups as its `InferenceData`."""
    try:
        version = importlib.metadata.version("arviz")
    except importlib.metadata.PackageNotFoundError:
        return tree
    if not version.startswith("0."):
        return tree
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it announces 1.0, and `edges` is a group of ours
        arviz: Any = importlib.import_module("arviz")
        groups = {name: child.to_dataset() for name, child in tree.children.items()}
        return arviz.InferenceData(attrs=dict(tree.attrs), **groups)


def _present_edges(
    record: RunRecord, probabilities: NDArray[np.float64], min_probability: float
) -> tuple[NDArray[np.int8], list[str]]:
    n = len(record.nodes)
    stored = np.unique(record.graph_edges)
    stored = stored[probabilities.ravel()[stored] >= min_probability]
    shape = (*record.graph_index.shape, len(stored))
    refuse_beyond_limit(
        shape, "posterior.to_datatree()", "leave out rare edges, as in to_datatree(min_probability=0.01)"
    )
    column = np.full(n * n, -1)
    column[stored] = np.arange(len(stored))
    present = np.zeros((record.graph_index.size, len(stored)), dtype=np.int8)  # ArviZ subtracts, bools cannot
    for start, rows, codes in edges_of_draws(record):
        columns = column[codes]
        wanted = columns >= 0
        present[start + rows[wanted], columns[wanted]] = 1
    labels = [f"{record.nodes[code // n]} → {record.nodes[code % n]}" for code in stored.tolist()]
    return present.reshape(shape), labels
