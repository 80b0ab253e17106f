"""Results on disk: netCDF files, written in one step and checked when read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import xarray as xr

from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.posterior import Posterior
from parnidag.results.record import RunRecord, settings_json
from parnidag.writing import replacing

FORMAT_VERSION = 1
"""Raised whenever an older parnidag could no longer read the file correctly."""

_DIMENSIONS: dict[str, tuple[str, ...]] = {
    "log_posterior": ("chain", "draw"),
    "graph_index": ("chain", "draw"),
    "graph_offsets": ("graph_bound",),
    "graph_edges": ("graph_edge",),
    "edge_codes": ("edge",),
    "rare_codes": ("rare_edge",),
    "rare_probabilities": ("rare_edge",),
    # Exact results can have draws but no batches, so the chains of the counters are a dimension of their own.
    "batch_counts": ("counted_chain", "batch", "edge"),
    "batch_iterations": ("counted_chain", "batch"),
    "best_edges": ("best_edge",),
}
_STARTS: dict[str, tuple[str, ...]] = {"start_offsets": ("start_bound",), "start_edges": ("start_edge",)}
"""Missing when a result does not know where its chains started; the first files written never do."""
_MATRICES = ("exact_probabilities", "prior_probabilities")
"""Missing where a result does not have them."""
_TYPES = {
    "log_posterior": np.float64,
    "rare_probabilities": np.float64,
    "graph_edges": np.int32,
    "edge_codes": np.int32,
    "rare_codes": np.int32,
    "best_edges": np.int32,
    "start_edges": np.int32,
}
_COMPRESS_FROM_BYTES = 1 << 14
_STATISTIC = "statistic_"


def save_record(record: RunRecord, path: str | os.PathLike[str]) -> Path:
    """Write a record to `path`, through a temporary file in the same folder.

    Parameters
    ----------
    record : RunRecord
    path : path
        The file to write, usually ending in ``.nc``; an existing one is replaced.

    Returns
    -------
    pathlib.Path
        The file written.
    """
    _check_names(record.nodes)
    dataset = _to_dataset(record)
    with replacing(path, example="posterior.nc") as temporary:
        dataset.to_netcdf(temporary, engine="h5netcdf", encoding=_encoding(dataset))
    return Path(path)


def load(path: str | os.PathLike[str]) -> Posterior:
    """Read a result that `Posterior.save` wrote.

    Parameters
    ----------
    path : path
        The netCDF file.

    Returns
    -------
    Posterior

    Raises
    ------
    ParnidagError
        If there is no such file, or it is not a result of parnidag, damaged, or written by a newer version.

    Examples
    --------
    >>> load("no-such-file.nc")
    Traceback (most recent call last):
        ...
    parnidag.errors.ParnidagError: path: there is no file no-such-file.nc
    """
    source = Path(path)
    if not source.is_file():
        raise ParnidagError(f"path: {source} is a folder" if source.is_dir() else f"path: there is no file {source}")
    try:
        with xr.open_dataset(source, engine="h5netcdf", decode_times=False) as dataset:
            _check_format(dataset, source)
            return Posterior(_from_dataset(dataset.load()))
    except ParnidagError:
        raise
    except Exception as error:  # what h5py raises for a damaged file depends on where the damage is
        raise ParnidagError(
            f"path: {source} cannot be read as a parnidag result; it is damaged, cut short or something else ({error})"
        ) from error


def _check_names(nodes: tuple[str, ...]) -> None:
    for name in nodes:
        # HDF5 ends a string at NUL, and lone surrogates are no text at all.
        if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            raise ParnidagError(f"nodes: the name {name!r} cannot be stored as text; rename the column")


def _to_dataset(record: RunRecord) -> xr.Dataset:
    variables: dict[str, Any] = {name: (dims, getattr(record, name)) for name, dims in _DIMENSIONS.items()}
    variables["node"] = (("node",), np.array(record.nodes, dtype=object))
    variables["best_log_posterior"] = ((), float(record.best_log_posterior))
    # Variables, not attributes: HDF5 limits an attribute to 64 kB.
    variables["settings"] = ((), settings_json(record))
    for name, values in record.statistics.items():
        values = np.asarray(values)
        # Dimensions named by the variable: statistics may have any shape.
        dims = tuple(f"{_STATISTIC}{quote(name, safe='')}_{axis}" for axis in range(values.ndim))
        variables[_STATISTIC + quote(name, safe="")] = (dims, values)
    if record.start_offsets is not None:
        variables |= {name: (dims, getattr(record, name)) for name, dims in _STARTS.items()}
    for name in _MATRICES:
        matrix = getattr(record, name)
        if matrix is not None:
            variables[name] = (("parent", "child"), matrix)
    if record.log_evidence is not None:
        variables["log_evidence"] = ((), float(record.log_evidence))
    about = {"title": "parnidag posterior", "parnidag_format": FORMAT_VERSION, "parnidag_version": __version__}
    return xr.Dataset(variables, attrs=about)


def _encoding(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Compress what is large; no fill values, so that every float comes back as it was."""
    encoding: dict[str, dict[str, Any]] = {}
    for name, variable in dataset.variables.items():
        chosen: dict[str, Any] = {}
        if variable.dtype.kind == "f":
            chosen["_FillValue"] = None
        if variable.dtype.kind in "fi" and variable.nbytes >= _COMPRESS_FROM_BYTES:
            chosen |= {"zlib": True, "complevel": 4, "shuffle": True}
        encoding[str(name)] = chosen
    return encoding


def _check_format(dataset: xr.Dataset, source: Path) -> None:
    found = dataset.attrs.get("parnidag_format")
    if found is None:
        raise ParnidagError(f"path: {source} is a netCDF file, but not one that parnidag wrote")
    if int(found) > FORMAT_VERSION:
        writer = dataset.attrs.get("parnidag_version", "unknown")
        raise ParnidagError(
            f"path: {source} was written by a newer parnidag ({writer}, file format {int(found)}); "
            f"this is {__version__}, which reads up to format {FORMAT_VERSION}: upgrade parnidag"
        )


def _from_dataset(dataset: xr.Dataset) -> RunRecord:
    starts = [name for name in _STARTS if name in dataset]
    arrays: dict[str, Any] = {
        name: np.ascontiguousarray(dataset[name].values, dtype=_TYPES.get(name, np.int64))
        for name in [*_DIMENSIONS, *starts]
    }
    statistics = {
        unquote(str(name).removeprefix(_STATISTIC)): dataset[name].values
        for name in dataset.data_vars
        if str(name).startswith(_STATISTIC)
    }
    matrices: dict[str, Any] = {name: dataset[name].values.astype(np.float64) for name in _MATRICES if name in dataset}
    return RunRecord(
        nodes=tuple(str(name) for name in dataset["node"].values),
        best_log_posterior=float(dataset["best_log_posterior"]),
        statistics=statistics,
        settings=json.loads(dataset["settings"].item()),
        log_evidence=float(dataset["log_evidence"]) if "log_evidence" in dataset else None,
        **arrays,
        **matrices,
    )
