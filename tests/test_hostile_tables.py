"""Files that are no tables, or not such as they claim to be: one clear line, no network, no code, bounded memory."""

import gzip
import os
import pickle
import socket
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import NODES, one_line_error, table  # noqa: F401
from hostile import parquet_bytes, small_parquets, table_for
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_results import made_result
from tables import refusal
from test_reading import sound

from parnidag import cli
from parnidag.data import Data, files
from parnidag.errors import ParnidagError
from parnidag.graphs.graph import as_graph

TEXT = "a,b,c\n" + "".join(f"{x:.3f},{y:.3f},{z:.3f}\n" for x, y, z in table_for("abc", rows=12))
NUMBERS = pa.table(dict(zip("abc", table_for("abc").T, strict=True)))
GRAPH = '"parent","=a","b"\n"\'=a",0,1\n"b",0,0\n'


class Bomb:
    """An object that leaves a trace when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def contents(folder):
    """What a file may hold instead of what its name says."""
    objects = np.empty(1, dtype=object)
    objects[0] = Bomb(folder / "unpickled")
    np.save(folder / "objects.npy", objects, allow_pickle=True)
    return {
        "a Parquet file": parquet_bytes(NUMBERS),
        "packed": gzip.compress(TEXT.encode()),
        "packed bomb": gzip.compress(bytes(10**7)),
        "UTF-16": TEXT.encode("utf-16"),
        "UTF-16 without a mark": TEXT.encode("utf-16-le"),
        "UTF-32": TEXT.encode("utf-32"),
        "Latin-1": TEXT.replace("a", "é", 1).encode("latin-1"),
        "zero bytes": TEXT.encode().replace(b"b", b"b\0", 1),
        "a pickle": pickle.dumps(Bomb(folder / "unpickled")),
        "an array of objects": (folder / "objects.npy").read_bytes(),
        "a lone quote": TEXT.replace("b", '"b', 1).encode(),
        "a lone quote below": TEXT.replace("\n", '\n"', 1).encode(),
        "a long line": b"1" * 10**6,
        "too many fields": TEXT.encode() + b"1,2,3,4\n",
        "wide": b",".join(b"c%d" % k for k in range(60_000)) + b"\n" + b",".join([b"1"] * 60_000),
        "nothing": b"",
    }


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".parquet"])
def test_files_that_are_something_else(tmp_path, suffix):
    for what, content in contents(tmp_path).items():
        path = tmp_path / f"table{suffix}"
        path.write_bytes(content)
        if what == "a Parquet file" and suffix == ".parquet":
            assert Data(path).names == ("a", "b", "c")
            continue
        began = time.process_time()
        assert len(refusal(path)) < 600, what
        assert time.process_time() - began < 2.0, what
        with pytest.raises(ParnidagError) as caught:
            as_graph(path)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "unpickled").exists()
    pickle.loads(pickle.dumps(Bomb(tmp_path / "unpickled")))
    assert (tmp_path / "unpickled").exists()  # the trap would have shown


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("command", ["sample", "exact", "space", "truth"])
def test_the_command_line_answers_in_one_line(tmp_path, capsys, command):
    path = tmp_path / "hostile.csv"
    made_result(NODES).save("known.nc")
    words = {
        "sample": ["sample", "hostile.csv"],
        "exact": ["exact", "hostile.csv"],
        "space": ["sample", "data.csv", "--space", "hostile.csv"],
        "truth": ["compare", "known.nc", "--truth", "hostile.csv"],
    }[command]
    for what, content in (contents(tmp_path) | {"a name that steers": b"\x1b[2J,\x1b[2J\n1,2\n3,4\n"}).items():
        path.write_bytes(content)
        assert cli.run(words) == 2, what
        assert one_line_error(capsys.readouterr())[:-1].isprintable(), what
    path.unlink()
    os.mkfifo(path)
    for words_for in (words, [word.replace("hostile.csv", "https://example.org/x.csv") for word in words]):
        assert cli.run(words_for) == 2
        one_line_error(capsys.readouterr())


# ── what is no regular file ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices have other names elsewhere")
def test_pipes_devices_folders_and_loops_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for name, target in (("zero.csv", "/dev/zero"), ("zero.parquet", "/dev/zero"), ("loop.csv", "loop.csv")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "folder.parquet" / "part.parquet").write_bytes(parquet_bytes(NUMBERS))
    for name, words in {
        "pipe.csv": "pipe or a device",
        "zero.csv": "pipe or a device",
        "zero.parquet": "pipe or a device",
        "loop.csv": "cannot be opened",
        "folder.parquet": "this is a folder",
        "x" * 300 + ".csv": "cannot be opened",
        "zero\0.csv": "file not found",
        "missing.csv/table.csv": "file not found",
    }.items():
        assert words in refusal(tmp_path / name)
        if name.endswith(".csv"):
            with pytest.raises(ParnidagError, match=words):
                as_graph(tmp_path / name)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TEXT)
    path.chmod(0)
    assert "not readable: [Errno 13]" in refusal(path)


@pytest.mark.parametrize("scheme", ["http", "https", "ftp", "s3", "gs", "file", "memory"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_addresses_are_not_fetched(tmp_path, monkeypatch, scheme, suffix):
    def called(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", called)
    monkeypatch.setattr(socket.socket, "connect", called)
    monkeypatch.chdir(tmp_path)
    assert "is an address, and only files on this computer are read" in refusal(f"{scheme}://localhost/x{suffix}")
    # a folder of that name is a folder, though pandas would take its path for an address
    folder = tmp_path / f"{scheme}:" / "localhost"
    folder.mkdir(parents=True)
    (folder / f"x{suffix}").write_bytes(TEXT.encode() if suffix == ".csv" else parquet_bytes(NUMBERS))
    assert Data(f"{scheme}://localhost/x{suffix}").names == ("a", "b", "c")


def test_folders_and_stars_mean_nothing_in_the_path_of_a_parquet_file(tmp_path):
    (tmp_path / "year=2020").mkdir()
    one, star = tmp_path / "year=2020" / "ab.parquet", tmp_path / "year=2020" / "a*.parquet"
    one.write_bytes(parquet_bytes(NUMBERS))
    star.write_bytes(parquet_bytes(NUMBERS.slice(0, 10)))
    assert Data(one).names == ("a", "b", "c")
    assert Data(star).n_rows == 10


# ── more than there is room for ───────────────────────────────────────────────────────────────────────────────────────


def test_parquet_files_larger_than_the_memory_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    path.write_bytes(parquet_bytes(NUMBERS))
    needed = pq.read_metadata(path).row_group(0).total_byte_size
    assert needed > 8 * 40 * 3  # numbers that do not repeat are longer when unpacked
    monkeypatch.setattr(files, "_memory", lambda: needed)
    assert Data(path).n_rows == 40
    monkeypatch.setattr(files, "_memory", lambda: needed - 1)
    assert "the file says that it holds 40 rows of 3 columns" in refusal(path)
    path.write_bytes(parquet_bytes(pa.table({"a": np.zeros(10**6), "b": np.zeros(10**6)})))
    monkeypatch.setattr(files, "_memory", lambda: 8 * 10**6)
    assert "1000000 rows of 2 columns (0.016 GB)" in refusal(path)


def test_broken_words_and_pages_are_found(tmp_path):
    """Codes of words that there are not would crash whoever looks them up."""
    path = tmp_path / "table.parquet"
    whole = parquet_bytes(pa.table({"a": ["x", "y", "z"] * 4, "b": ["u", "v"] * 6}), compression="none")
    for place in range(0, len(whole), 5):
        for byte in (0, 255):
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            refusal_or_data(path)


MEASURED = """
import sys
from pathlib import Path
import pyarrow.parquet
from parnidag.data import Data
from parnidag.errors import DataError

def most():
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

for path in map(Path, sys.argv[1:]):
    Data("warm.csv")
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = most()
    try:
        Data(path)
    except DataError:
        pass
    print(path.name, (most() - before) / path.stat().st_size)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for the memory used")
def test_memory_is_a_few_times_the_size_of_the_file(tmp_path):
    rows = 4 * 10**5
    files = {
        "warm.csv": TEXT,
        "line.csv": "1" * (8 * rows),
        "cell.csv": "a,b\n" + "1" * (8 * rows) + ",2\n",
        "commas.csv": "a,b\n" + "," * (8 * rows) + "\n",
        "header.csv": "," * (8 * rows),
        "numbers.csv": "a,b\n" + "1.25,2.5\n0.75,1.5\n" * (rows // 2),
        "text.csv": "a,b\n" + "low,sick\nhigh,well\n" * (rows // 2),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-c", MEASURED, *list(files)[1:]]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=100)
    for line in ran.stdout.splitlines():
        name, times = line.split()
        # Numbers of a few digits take 8 bytes in the reader's columns, and 8 in ours; lists of empty texts 8 a comma.
        assert float(times) < 20.0, name
    assert len(ran.stdout.splitlines()) == len(files) - 1


# ── anything at all ───────────────────────────────────────────────────────────────────────────────────────────────────

quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
TOKENS = (b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"nan", b"1e999", b"=", b"'", b"\xff\xff\xff\x7f")
TEXTS = (TEXT, TEXT.replace(",", "\t"), "sex,ill\n" + "m,True\nf,\n" * 4, '"a, b","ü"\n1,2\n3,5\n4,4\n')
edits = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "swap", "insert", "repeat", "end"]),
        st.floats(0.0, 1.0, exclude_max=True),
        st.floats(0.0, 1.0, exclude_max=True),
        st.integers(0, 255),
    ),
    min_size=1,
    max_size=6,
)


def mutated(content, changes):
    """A valid file with bytes flipped, cut out, exchanged, put in, repeated, or cut off at the end."""
    content = bytearray(content)
    for change, first, second, byte in changes:
        i, j = int(first * len(content)), int(second * len(content))
        if change == "flip" and content:
            content[i] ^= byte
        elif change == "cut":
            del content[i : i + byte % 9]
        elif change == "swap":
            content[i : i + 4], content[j : j + 4] = content[j : j + 4], content[i : i + 4]
        elif change == "insert":
            content[i:i] = TOKENS[byte % len(TOKENS)]
        elif change == "repeat":
            content[i:i] = content[i : i + byte]
        elif change == "end":
            del content[max(i, len(content) // 2) :]
    return bytes(content)


@quick
@given(st.sampled_from(TEXTS), edits)
def test_changed_text_files_give_data_or_a_data_error(tmp_path_factory, text, changes):
    path = tmp_path_factory.getbasetemp() / f"changed{'.tsv' if chr(9) in text else '.csv'}"
    path.write_bytes(mutated(text.encode(), changes))
    data = refusal_or_data(path)
    assert isinstance(data, str) or sound(data)


@quick
@given(st.sampled_from(small_parquets()), edits)
def test_changed_parquet_files_give_data_or_a_data_error(tmp_path_factory, content, changes):
    path = tmp_path_factory.getbasetemp() / "changed.parquet"
    path.write_bytes(mutated(content, changes))
    data = refusal_or_data(path)
    assert isinstance(data, str) or sound(data)


@quick
@given(edits)
def test_changed_graphs_give_a_graph_or_an_error(tmp_path_factory, changes):
    path = tmp_path_factory.getbasetemp() / "changed-graph.csv"
    path.write_bytes(mutated(GRAPH.encode(), changes))
    graph = refusal_or_data(path, as_graph)
    assert isinstance(graph, str) or len(graph.nodes) == len(graph.adjacency)


def refusal_or_data(path, read=Data):
    try:
        return read(path)
    except ParnidagError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 2000
    return message


def test_changes_leave_some_files_readable_and_break_others(tmp_path):
    """Else the tests above would show nothing."""
    path, found = tmp_path / "changed.parquet", {True: 0, False: 0}
    rng = np.random.default_rng(1)
    for _ in range(100):
        path.write_bytes(mutated(parquet_bytes(NUMBERS, compression="none"), [("flip", rng.random(), 0.0, 1)]))
        found[isinstance(refusal_or_data(path), Data)] += 1
    assert min(found.values()) > 10


@pytest.mark.parametrize("library", [np.asarray, pl.DataFrame])
def test_tables_that_are_too_wide(library):
    assert "60000 columns" in refusal(library(np.zeros((3, 60_000))))
