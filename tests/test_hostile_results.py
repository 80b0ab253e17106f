"""Files of results that were damaged or made to do harm: each is refused in one line, or every method is safe."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap
import warnings

import h5py
import numpy as np
import pytest
from hostile import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_results import made_record

from parnidag import ParnidagError, load
from parnidag.cli import main
from parnidag.results.netcdf import save_record
from parnidag.results.netcdf_reader import StoredFile

SPACE = {"edges": [1, 2], "best": [1], "log_posterior": -1.0, "rounds": [[1, 2.0, 3.0]], "seconds": 1.0}
SETTINGS = {
    "caveats": ["only some graphs"],
    "space": SPACE,
    "sampler": {"name": "OrderMCMC"},
    "score": {"name": "Gaussian", "g": 10.0},
    "timings": {"sampling": 1.0},
    "prior": {"h": 0.1, "required_edges": 0, "forbidden": [["a", "b"]], "tiers": None},
    "data": {"rows": 3, "kind": "continuous", "columns": [{"name": "a", "mean": 0.5}]},
}
lenient = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    starts = {"start_offsets": np.array([0, 1, 2, 2]), "start_edges": np.array([1, 2], np.int32)}
    record = made_record(["a", "b", "c", "d"], chains=3, draws=20, settings=SETTINGS, **starts)
    return save_record(record, tmp_path_factory.mktemp("good") / "good.nc").read_bytes()


@pytest.fixture
def path(good, tmp_path):
    (tmp_path / "result.nc").write_bytes(good)
    return tmp_path / "result.nc"


def opened(path):
    """The result of a file, or None if that was refused in one line."""
    try:
        return load(path)
    except ParnidagError as error:
        said = str(error)
    assert said.startswith("path: ")
    assert said.isprintable()
    assert len(said) < 1000
    return None


def use(posterior, folder):
    """Call everything that a result offers: each works, or says what is wrong."""
    n = len(posterior.nodes)
    for call in (
        lambda: repr(posterior),
        posterior._repr_html_,
        lambda: posterior.summary(0.0),
        lambda: repr(posterior.diagnostics()),
        lambda: posterior.graphs,
        lambda: posterior.graph_at(0, 0),
        posterior.top_graphs,
        posterior.top_classes,
        lambda: posterior.best,
        lambda: posterior.cpdag_probabilities,
        lambda: posterior.path_probabilities,
        lambda: posterior.blanket_probabilities,
        posterior.median_graph,
        posterior.consensus_graph,
        lambda: posterior.graph(0.3),
        lambda: posterior.chain_probabilities,
        lambda: posterior.prior_probabilities,
        lambda: repr(posterior.space),
        lambda: posterior.settings,
        posterior.to_datatree,
        lambda: posterior.expected_shd(np.zeros((n, n), int)),
        lambda: posterior.save(folder / "again.nc"),
        lambda: posterior.report(folder / "report.html"),
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of numbers that are none
                call()
        except ParnidagError:
            pass


# ── bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@lenient
@given(st.data())
def test_damaged_bytes(good, path, data):
    path.write_bytes(damaged(good, data))
    posterior = opened(path)
    if posterior is not None:
        use(posterior, path.parent)


def test_a_heap_of_texts_that_goes_round_in_circles(good, path):
    """The HDF5 library itself never comes back from these."""
    heap = good.index(b"GCOL")
    for place in range(heap, heap + 64, 2):
        content = bytearray(good)
        content[place : place + 2] = b"\xff\xff"
        path.write_bytes(content)
        opened(path)


@pytest.mark.parametrize(
    "content", [b"", b"\x89HDF\r\n\x1a\n", bytes(5000), b"\x89HDF\r\n\x1a\n" + b"\xff" * 5000, b"CDF\x01" + bytes(64)]
)
def test_other_files(path, content):
    path.write_bytes(content)
    assert opened(path) is None


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.nc")
    for name, said in (
        ("pipe.nc", "no regular file"),
        ("a\0b.nc", "there is no file"),
        ("x" * 300, "there is no file"),
    ):
        with pytest.raises(ParnidagError, match=said):
            load(tmp_path / name)
    if os.path.exists("/dev/zero"):  # noqa: PTH110
        with pytest.raises(ParnidagError, match="no regular file"):
            load("/dev/zero")


@pytest.mark.parametrize("command", [["report"], ["compare", "{}"]])
def test_the_command_line_says_it_in_one_line(path, capsys, command):
    path.write_bytes(b"no result")
    with pytest.raises(SystemExit) as end:
        main([part.format(path) for part in command] + [str(path)])
    assert end.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


# ── numbers, texts and shapes ─────────────────────────────────────────────────────────────────────────────────────────

NUMBERS = [0, 1, -1, 2, 3, 5, 15, 16, 255, 2**31 - 1, -(2**31), 2**62, -(2**63)]
REALS = [0.0, 1.0, -1.0, 2.0, 0.5, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 1e99]
VALUES = [
    None,
    0,
    -1,
    True,
    1e308,
    float("nan"),
    "",
    "</script>",
    [],
    {},
    [1],
    ["a"],
    {"a": 1},
    {"name": 5},
    [[]],
    [{}],
]
VALUES += [10**30, {"edges": [5]}, {"edges": "x"}, {"edges": [10**9]}, {"edges": [1.5]}, {"edges": [-1]}]
ALWAYS = ("draws", "tune", "thin", "chains", "seed", "start", "interrupted", "n_rows", "versions", "interventions")


def spoil_numbers(file, rng):
    name = rng.choice([each for each in file if file[each].dtype.kind in "if" and file[each].id.get_storage_size()])
    values = np.atleast_1d(file[name][()]).copy().ravel()
    for _ in range(rng.choice([1, 1, 3])):
        chosen = rng.choice(REALS if values.dtype.kind == "f" else NUMBERS)
        limits = np.iinfo(values.dtype) if values.dtype.kind == "i" else None
        values[rng.randrange(values.size)] = chosen if limits is None else max(min(chosen, limits.max), limits.min)
    file[name][...] = values.reshape(file[name].shape)


def spoil_settings(file, rng):
    found = json.loads(file["settings"].asstr()[()])
    owner, name = found, rng.choice([*found, *ALWAYS])
    if isinstance(found.get(name), dict) and found[name] and rng.random() < 0.5:
        owner, name = found[name], rng.choice([*found[name], "best", "rounds", "h", "tiers", "columns"])
    owner[name] = rng.choice(VALUES)
    file["settings"][()] = json.dumps(found)


def spoil_shape(file, rng):
    name = rng.choice([each for each in file if file[each].id.get_storage_size()])
    del file[name]
    shape = rng.choice([(), (0,), (1,), (4,), (3, 20), (4, 4), (2, 3, 4), (1,) * 8, (3, 0)])
    if rng.random() < 0.7:
        file.create_dataset(name, data=np.zeros(shape, rng.choice(["i1", "i8", "f8", "f2", "c16", "S3", ">i8", "?"])))


@lenient
@given(st.integers(0, 2**32))
def test_whatever_is_accepted_is_safe_to_use(good, path, seed):
    rng = random.Random(seed)
    for _ in range(rng.choice([1, 1, 2])):
        path.write_bytes(good)
        with h5py.File(path, "a") as file:
            rng.choice([spoil_numbers, spoil_settings, spoil_shape])(file, rng)
    posterior = opened(path)
    if posterior is not None:
        use(posterior, path.parent)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("graph_edges", lambda a: a + 16),  # codes go into compiled code that does not ask
        ("graph_edges", lambda a: a * 0 + 5),  # a node's edge to itself
        ("graph_edges", lambda a: a[::-1]),
        ("best_edges", lambda a: a * 0 - 1),
        ("edge_codes", lambda a: a * 0 + 1),
        ("graph_offsets", lambda a: a * 0 + a[-1]),
        ("graph_offsets", lambda a: np.r_[0, 2**62, a[2:]]),
        ("graph_index", lambda a: a - 1),
        ("batch_counts", lambda a: a + 100),
        ("batch_iterations", lambda a: -a),
        ("prior_probabilities", lambda a: a + 1),
        ("log_posterior", lambda a: a * 1e305),
    ],
)
def test_contradictions_are_refused(path, name, spoil):
    with h5py.File(path, "a") as file:
        file[name][...] = spoil(file[name][()])
    assert opened(path) is None


@pytest.mark.parametrize(
    "text", ["", "[", "null", "[]", "3", "[" * 100_000, '{"a":' * 900 + "1" + "}" * 900, '{"seed": ' + "9" * 5000 + "}"]
)
def test_settings_that_are_none(path, text):
    with h5py.File(path, "a") as file:
        file["settings"][()] = text
    assert opened(path) is None


def test_nothing_outside_the_file_is_read(path, tmp_path):
    secret = tmp_path / "secret.nc"
    secret.write_bytes(path.read_bytes())
    layout = h5py.VirtualLayout((3, 20), "f8")
    layout[:] = h5py.VirtualSource(secret, "log_posterior", (3, 20))
    makers = [
        lambda file: file.__setitem__("log_posterior", h5py.ExternalLink(secret, "log_posterior")),
        lambda file: file.__setitem__("log_posterior", h5py.SoftLink("/batch_iterations")),
        lambda file: file.create_virtual_dataset("log_posterior", layout),
        lambda file: file.create_dataset("log_posterior", (3, 20), "f8", external=[(secret, 0, 480)]),
        lambda file: file.create_dataset("log_posterior", (3, 20), h5py.ref_dtype),
        lambda file: file.create_group("log_posterior"),
    ]
    content = path.read_bytes()
    for make in makers:
        path.write_bytes(content)
        with h5py.File(path, "a") as file:
            del file["log_posterior"]
            make(file)
        assert opened(path) is None


BOMBS = """
    import resource, sys
    from pathlib import Path
    import h5py, numpy as np
    from parnidag import ParnidagError, load
    path = Path(sys.argv[1])
    content = path.read_bytes()

    def repeated(file):
        kind = h5py.string_dtype()
        file.create_dataset("node", (3_000_000,), kind, fillvalue="x" * 60_000, fill_time="alloc")

    makers = {
        "log_posterior": lambda file: file.create_dataset("log_posterior", (10**6, 10**6), "f8", chunks=(1000, 1000)),
        "graph_index": lambda file: file.create_dataset("graph_index", (2**31, 2**31), "i8", chunks=(1, 1)),
        "batch_counts": lambda file: file.create_dataset(
            "batch_counts", data=np.zeros((1, 1, 3 * 10**7)), compression=9, chunks=(1, 1, 3 * 10**7)),
        "graph_offsets": lambda file: file.create_dataset("graph_offsets", (10**9,), "i1", chunks=(1,)),
        "edge_codes": lambda file: file.create_dataset("edge_codes", (5,), "i4", chunks=(2**29,), maxshape=(None,)),
        "node": repeated,
    }
    files = {}
    for name, make in makers.items():
        path.write_bytes(content)
        with h5py.File(path, "a") as file:
            del file[name]
            make(file)
        files[name] = path.read_bytes() if path.stat().st_size < 2**27 else content[:100]
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**28,) * 2)
    for name, bomb in files.items():
        path.write_bytes(bomb)
        try:
            load(path)
        except ParnidagError as error:
            assert "memory" not in str(error).lower() and "allocate" not in str(error).lower(), (name, error)
            print(name)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")  # noqa: PTH110
def test_a_few_bytes_that_claim_to_be_gigabytes_take_no_memory(path):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOMBS), str(path)], capture_output=True, text=True, check=False
    )
    wanted = ["log_posterior", "graph_index", "batch_counts", "graph_offsets", "edge_codes", "node"]
    assert done.stdout.split() == wanted, done.stderr


def test_a_mapped_array_must_lie_in_the_file(path, monkeypatch):
    """Looking at pages beyond the end of a file would end the process."""
    monkeypatch.setattr("parnidag.results.netcdf_reader.MAPPED_FROM_BYTES", 1)
    with h5py.File(path, "a") as file:
        file["raw"] = np.arange(1000.0)
    with StoredFile(path) as stored:
        assert stored.array("raw", np.float64)[-1] == 999.0
        stored._size = 100
        with pytest.raises(ValueError, match="beyond the end of the file"):
            stored.array("raw", np.float64)
