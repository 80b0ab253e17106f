"""Results on disk: netCDF files, written in one step and checked when read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import h5netcdf
import numpy as np
import xarray as xr

from parnidag._util.files import PatientFile, replacing
from parnidag._util.text import one_line
from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.results.netcdf_reader import MAPPED_FROM_BYTES, StoredFile
from parnidag.results.posterior import Posterior
from parnidag.results.record import Deferred, RunRecord, settings_json
from parnidag.results.soundness import refuse_unsound_settings

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
    with (
        replacing(path, example="posterior.nc") as temporary,
        PatientFile(temporary) as content,
        # Aligned, so that arrays that are mapped lie where processors like them.
        h5netcdf.File(content, "w", alignment_threshold=MAPPED_FROM_BYTES, alignment_interval=64) as file,
    ):
        dataset.dump_to_store(xr.backends.H5NetCDFStore(file), encoding=_encoding(dataset))
        if record.deferred is not None:
            _append_edges(file, record.deferred)
    return Path(path)


def _append_edges(file: h5netcdf.File, edges: Deferred) -> None:
    """Write the edges of graphs that are too many for memory, piece by piece."""
    (dimension,) = _DIMENSIONS["graph_edges"]
    file.dimensions[dimension] = edges.size
    variable = file.create_variable("graph_edges", (dimension,), _TYPES["graph_edges"])
    start = 0
    for piece in edges.pieces():
        variable[start : start + len(piece)] = piece
        start += len(piece)


def load(path: str | os.PathLike[str]) -> Posterior:
    """Read a result that `Posterior.save` wrote; large arrays are not read but mapped, and looked at when needed.

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
    _refuse_non_files(source)
    try:
        with StoredFile(source) as file:
            _check_format(file, source)
            return Posterior(_from_file(file))
    except ParnidagError as error:
        raise error if str(error).startswith("path: ") else _unreadable(source, error) from error
    except Exception as error:  # what h5py raises for a damaged file depends on where the damage is
        raise _unreadable(source, error) from error


def _refuse_non_files(source: Path) -> None:
    """Refuse folders, and pipes and devices, which would be waited for without end."""
    try:
        missing, folder, file = not source.exists(), source.is_dir(), source.is_file()
    except (OSError, ValueError) as error:  # a name too long, or with a NUL in it
        raise ParnidagError(f"path: there is no file {str(source)!r} ({error})") from error
    if missing:
        raise ParnidagError(f"path: there is no file {source}")
    if folder or not file:
        raise ParnidagError(f"path: {source} is {'a folder' if folder else 'no regular file'}")


def _unreadable(source: Path, error: Exception) -> ParnidagError:
    # Names from the file may be part of the reason, and could hold what a terminal takes for commands.
    reason = "".join(character if character.isprintable() else "?" for character in one_line(error))
    return ParnidagError(
        f"path: {source} cannot be read as a parnidag result; it is damaged, cut short or something else ({reason})"
    )


def _check_names(nodes: tuple[str, ...]) -> None:
    for name in nodes:
        # HDF5 ends a string at NUL, and lone surrogates are no text at all.
        if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            raise ParnidagError(f"nodes: the name {name!r} cannot be stored as text; rename the column")


def _to_dataset(record: RunRecord) -> xr.Dataset:
    names = [name for name in _DIMENSIONS if name != "graph_edges" or record.deferred is None]
    variables: dict[str, Any] = {name: (_DIMENSIONS[name], getattr(record, name)) for name in names}
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
    # Bytes, since a text of fixed length can be read without the heap that other texts are in.
    version = np.bytes_(__version__.encode("ascii"))
    about = {"title": "parnidag posterior", "parnidag_format": FORMAT_VERSION, "parnidag_version": version}
    return xr.Dataset(variables, attrs=about)


def _encoding(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Compress what is neither small nor so large that it is to be mapped; no fill values: floats stay as they are."""
    encoding: dict[str, dict[str, Any]] = {}
    for name, variable in dataset.variables.items():
        chosen: dict[str, Any] = {}
        if variable.dtype.kind == "f":
            chosen["_FillValue"] = None
        if variable.dtype.kind in "fi" and _COMPRESS_FROM_BYTES <= variable.nbytes < MAPPED_FROM_BYTES:
            chosen |= {"zlib": True, "complevel": 4, "shuffle": True}
        encoding[str(name)] = chosen
    return encoding


def _check_format(file: StoredFile, source: Path) -> None:
    found = file.number_attribute("parnidag_format")
    if found is None:
        raise ParnidagError(f"path: {source} is a netCDF file, but not one that parnidag wrote")
    if found > FORMAT_VERSION:
        writer = one_line(file.text_attribute("parnidag_version") or "unknown")
        raise ParnidagError(
            f"path: {source} was written by a newer parnidag ({writer}, file format {found}); "
            f"this is {__version__}, which reads up to format {FORMAT_VERSION}: upgrade parnidag"
        )


def _from_file(file: StoredFile) -> RunRecord:
    starts = [name for name in _STARTS if name in file]
    arrays: dict[str, Any] = {name: file.array(name, _TYPES.get(name, np.int64)) for name in [*_DIMENSIONS, *starts]}
    edges = arrays["graph_edges"]
    if isinstance(edges.base, np.memmap):  # to be checked when they are needed: that takes a look at all of them
        arrays["graph_edges"] = Deferred(edges.size, lambda: iter([edges]), lambda: edges)
    statistics = {
        unquote(name.removeprefix(_STATISTIC), errors="strict"): file.array(name) for name in file.names(_STATISTIC)
    }
    matrices: dict[str, Any] = {name: file.array(name, np.float64) for name in _MATRICES if name in file}
    (text,) = file.texts("settings")
    settings, nodes = json.loads(text), tuple(file.texts("node"))
    refuse_unsound_settings(settings, len(nodes))
    return RunRecord(
        nodes=nodes,
        best_log_posterior=file.number("best_log_posterior"),
        statistics=statistics,
        settings=settings,
        log_evidence=file.number("log_evidence") if "log_evidence" in file else None,
        **arrays,
        **matrices,
    )
