"""Results on disk: netCDF files, written in one step.

Large arrays lie in the file as they do in memory and are mapped, not read: the operating system brings in what is
looked at, so that a result of many gigabytes opens at once.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import h5netcdf
import h5py
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from parnidag._util.files import PatientFile, replacing
from parnidag._util.text import one_line
from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.results.packing import Deferred
from parnidag.results.posterior import Posterior
from parnidag.results.record import OPTIONAL, VARIABLES, RunRecord, settings_json

FORMAT_VERSION = 1
"""Raised whenever an older parnidag could no longer read the file correctly."""

MAPPED_FROM_BYTES = 1 << 26
"""Arrays from this size on (64 MB) are written as they are, without compression, and mapped when read."""
_COMPRESS_FROM_BYTES = 1 << 14
_STATISTIC = "statistic_"
_BARE_DIMENSION = b"This is a netCDF dimension but not a netCDF variable"


def save_record(record: RunRecord, path: str | os.PathLike[str]) -> Path:
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
    dimensions, dtype = VARIABLES["graph_edges"]
    file.dimensions[dimensions[0]] = edges.size
    variable = file.create_variable("graph_edges", dimensions, dtype)
    start = 0
    for piece in edges.pieces():
        variable[start : start + len(piece)] = piece
        start += len(piece)


def load(path: str | os.PathLike[str]) -> Posterior:
    """Read a result that `Posterior.save` wrote; large arrays are not read but mapped, and looked at when needed.

    Raises a `ParnidagError` if there is no such file, or it is not a result of parnidag, damaged, or written by a newer
    version.

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
        with h5py.File(source, "r") as file:
            _check_format(file, source)
            return Posterior(_from_file(file))
    except ParnidagError as error:
        raise error if str(error).startswith("path: ") else _unreadable(source, error) from error
    except Exception as error:  # what h5py raises for a damaged file depends on where the damage is
        raise _unreadable(source, error) from error


def _refuse_non_files(source: Path) -> None:
    """Refuse folders, and pipes and devices, which would be waited for without end."""
    try:
        mode = source.stat().st_mode
    except FileNotFoundError:
        raise ParnidagError(f"path: there is no file {source}") from None
    except (OSError, ValueError) as error:  # a name too long, or with a NUL in it
        raise ParnidagError(f"path: there is no file {str(source)!r} ({error})") from error
    if not stat.S_ISREG(mode):
        raise ParnidagError(f"path: {source} is {'a folder' if stat.S_ISDIR(mode) else 'no regular file'}")


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
    variables: dict[str, Any] = {}
    for name, (dimensions, _) in (VARIABLES | OPTIONAL).items():
        by_pieces = name == "graph_edges" and record.deferred is not None
        if not by_pieces and getattr(record, name) is not None:
            variables[name] = (dimensions, getattr(record, name))
    variables["node"] = (("node",), np.array(record.nodes, dtype=object))
    variables["best_log_posterior"] = ((), float(record.best_log_posterior))
    # Variables, not attributes: HDF5 limits an attribute to 64 kB.
    variables["settings"] = ((), settings_json(record))
    for name, values in record.statistics.items():
        stored = _STATISTIC + quote(name, safe="")
        variables[stored] = ((f"{stored}_0",), np.asarray(values))
    if record.log_evidence is not None:
        variables["log_evidence"] = ((), float(record.log_evidence))
    version = np.bytes_(__version__.encode("ascii"))
    about = {"title": "parnidag posterior", "parnidag_format": FORMAT_VERSION, "parnidag_version": version}
    return xr.Dataset(variables, attrs=about)


def _encoding(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Compress what is neither small nor so large that it is to be mapped; no fill values: floats stay as they are."""
    encoding: dict[str, dict[str, Any]] = {}
    for name, variable in dataset.variables.items():
        kind, compress = variable.dtype.kind, _COMPRESS_FROM_BYTES <= variable.nbytes < MAPPED_FROM_BYTES
        encoding[str(name)] = {"_FillValue": None} if kind == "f" else {}
        if kind in "fi" and compress:
            encoding[str(name)] |= {"zlib": True, "complevel": 4, "shuffle": True}
    return encoding


def _check_format(file: h5py.File, source: Path) -> None:
    if "parnidag_format" not in file.attrs:
        raise ParnidagError(f"path: {source} is a netCDF file, but not one that parnidag wrote")
    found = np.asarray(file.attrs["parnidag_format"]).item()
    if found > FORMAT_VERSION:
        writer = file.attrs.get("parnidag_version", b"unknown")
        writer = one_line(writer.decode("utf-8", "replace") if isinstance(writer, bytes) else str(writer))
        raise ParnidagError(
            f"path: {source} was written by a newer parnidag ({writer}, file format {found}); "
            f"this is {__version__}, which reads up to format {FORMAT_VERSION}: upgrade parnidag"
        )


def _from_file(file: h5py.File) -> RunRecord:
    missing = [name for name in (*VARIABLES, "node", "best_log_posterior", "settings") if name not in file]
    if missing:
        raise ParnidagError(f"it has no {', '.join(missing)}")
    known = {name: dtype for name, (_, dtype) in (VARIABLES | OPTIONAL).items() if name in file}
    arrays: dict[str, Any] = {name: _array(file[name], dtype) for name, dtype in known.items()}
    edges = arrays["graph_edges"]
    if isinstance(edges.base, np.memmap):  # to be checked when they are needed: that takes a look at all of them
        arrays["graph_edges"] = Deferred(edges.size, lambda: iter([edges]))
    # xarray stores truth values as bytes, and marks them; netCDF keeps dimensions among the variables.
    statistics = {
        unquote(name.removeprefix(_STATISTIC)): _array(values, np.bool_ if "dtype" in values.attrs else values.dtype)
        for name, values in file.items()
        if name.startswith(_STATISTIC) and not values.attrs.get("NAME", b"").startswith(_BARE_DIMENSION)
    }
    return RunRecord(
        nodes=tuple(file["node"].asstr()[()]),
        best_log_posterior=float(file["best_log_posterior"][()]),
        statistics=statistics,
        settings=dict(json.loads(file["settings"].asstr()[()])),
        log_evidence=float(file["log_evidence"][()]) if "log_evidence" in file else None,
        **arrays,
    )


def _array(variable: h5py.Dataset, dtype: Any) -> NDArray[Any]:
    """Return a variable as an array of this type, mapped if it is large and lies in the file as it does in memory."""
    wanted, place = np.dtype(dtype), _place(variable)
    if not np.can_cast(variable.dtype, wanted, "same_kind") and wanted != np.bool_:
        raise ValueError(f"{variable.name} holds {variable.dtype}, not {wanted}")
    if place is None or variable.dtype != wanted or variable.nbytes < MAPPED_FROM_BYTES:
        return np.asarray(variable[()], wanted)
    path = Path(variable.file.filename)
    if place + variable.nbytes > path.stat().st_size:  # looking beyond the end would end the process
        raise ValueError(f"{variable.name} reaches beyond the end of the file")
    return np.asarray(np.memmap(path, wanted, "r", place, variable.shape))


def _place(variable: h5py.Dataset) -> int | None:
    """Return where the array begins in the file; None if it is not there in one piece."""
    place: int | None = variable.id.get_offset()
    return place
