"""Files that are no results, or damaged ones: each is refused in one line, and none ends the process."""

import os
import subprocess
import sys
import textwrap

import h5py
import numpy as np
import pytest
import xarray as xr
from made_results import made_record

from parnidag import ParnidagError, load
from parnidag.cli import main
from parnidag.results.netcdf import save_record


@pytest.fixture
def path(tmp_path):
    starts = {"start_offsets": np.array([0, 1, 2, 2]), "start_edges": np.array([1, 2], np.int32)}
    record = made_record(["a", "b", "c", "d"], chains=3, draws=20, **starts)
    return save_record(record, tmp_path / "result.nc")


def refusal(path):
    with pytest.raises(ParnidagError) as caught:
        load(path)
    said = str(caught.value)
    assert said.startswith("path: ")
    assert said.isprintable()
    assert len(said) < 1000
    return said


HDF = b"\x89HDF\r\n\x1a\n"


@pytest.mark.parametrize(
    "content", [b"", b"parent,child\n", HDF, bytes(5000), HDF + b"\xff" * 5000, b"CDF\x01" + bytes(64)]
)
def test_other_files(path, content):
    path.write_bytes(content)
    assert "cannot be read as a parnidag result" in refusal(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_files_that_are_cut_short(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert "damaged, cut short" in refusal(path)


def test_netcdf_of_others(path):
    xr.Dataset({"temperature": ("x", [1.0, 2.0])}).to_netcdf(path, engine="h5netcdf")
    assert "not one that parnidag wrote" in refusal(path)


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.nc")
    assert "no regular file" in refusal(tmp_path / "pipe.nc")
    assert "is a folder" in refusal(tmp_path)
    for name in ("missing.nc", "a\0b.nc", "x" * 300):
        with pytest.raises(ParnidagError, match="there is no file"):
            load(tmp_path / name)


@pytest.mark.parametrize("name", ["edge_codes", "log_posterior", "node", "settings"])
def test_a_variable_is_missing(path, name):
    with h5py.File(path, "a") as file:
        del file[name]
    assert f"it has no {name}" in refusal(path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("log_posterior", np.zeros(60), "log_posterior must have 2 dimensions"),
        ("batch_counts", np.zeros((3, 10, 1), np.int64), "batch_counts must be"),
        ("graph_index", np.full((3, 20), 99), "point at stored graphs"),
        ("graph_index", np.zeros((3, 20)), "holds float64, not int64"),
        ("best_edges", np.array([99], np.int32), "edge codes must be"),  # compiled code indexes with them
        ("settings", "[", "cannot be read"),
        ("settings", "3", "cannot be read"),
    ],
)
def test_contents_that_do_not_fit(path, name, content, said):
    with h5py.File(path, "a") as file:
        del file[name]
        file[name] = content
    assert said in refusal(path)


FLIPS = """
    import sys, warnings
    from pathlib import Path
    import numpy as np
    from parnidag import ParnidagError, load
    path, rng = Path(sys.argv[1]), np.random.default_rng(1)
    content, refused = np.fromfile(path, np.uint8), 0
    warnings.simplefilter("ignore")
    heap = content.tobytes().index(b"GCOL")  # of texts; there HDF5 itself can go round in circles for ever
    for _ in range(300):
        damaged = content.copy()
        places = rng.integers(len(content), size=rng.integers(1, 5))
        places = places[(places < heap) | (places >= heap + 4096)]
        damaged[places] ^= rng.integers(1, 256, size=len(places), dtype=np.uint8)
        path.write_bytes(damaged)
        try:
            posterior = load(path)
            posterior.top_classes(), posterior.cpdag_probabilities, posterior.path_probabilities
        except ParnidagError:
            refused += 1
    print(refused)
"""


def test_flipped_bytes(path):
    """In a process of its own, which must come to its end."""
    command = [sys.executable, "-c", textwrap.dedent(FLIPS), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 15


@pytest.mark.parametrize("command", [["report"], ["compare", "{}"]])
def test_the_command_line_says_it_in_one_line(path, capsys, command):
    path.write_bytes(b"no result")
    with pytest.raises(SystemExit) as end:
        main([part.format(path) for part in command] + [str(path)])
    assert end.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_mapped_array_must_lie_in_the_file(path, monkeypatch):
    """Looking at pages beyond the end of a file would end the process."""
    monkeypatch.setattr("parnidag.results.netcdf.MAPPED_FROM_BYTES", 1)
    assert load(path).record.deferred is not None
    real = h5py.h5d.DatasetID.get_offset
    monkeypatch.setattr("parnidag.results.netcdf._place", lambda variable: real(variable.id) + path.stat().st_size)
    assert "beyond the end of the file" in refusal(path)
