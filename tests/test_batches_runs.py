"""Scores, skeletons and posteriors of tables read in batches are those of the table in memory; so are files."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batch_cases import TOLERANCE, assert_same, both_refusals, cut, with_targets
from test_discrete_score import ask

import parnidag
from parnidag import samplers, scores, space
from parnidag.cli import main
from parnidag.data import Data, batches, files, table
from parnidag.errors import DataError, ParnidagError
from parnidag.scores.bdeu import pack
from parnidag.space import pc_discrete as discrete_tests
from parnidag.tables.all_sets import all_local_scores
from parnidag.target import Target


def numbers(rows=300, seed=1):
    simulation = parnidag.simulate(nodes=5, edges=6, rows=rows, seed=seed)
    return pd.DataFrame(simulation.values * [1, 1e3, 1e-3, 1, 10] + [0, 5e6, 0, 3, 0], columns=simulation.names)


def classes(rows=400, seed=1):
    """A chain a → b → c, d a very noisy copy of a, and e on its own."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, rows)
    b = (a + (rng.random(rows) < 0.2)) % 3
    c = (b + (rng.random(rows) < 0.15)) % 3
    return pd.DataFrame(
        {
            "a": np.where(a, "yes", "no"),
            "b": b,
            "c": c,
            "d": (a + (rng.random(rows) < 0.4)) % 2,
            "e": rng.integers(0, 4, rows),
        }
    )


def in_batches(given, seed=1, **options):
    return Data.from_batches(cut(given, np.random.default_rng(seed)), **options)


def local_scores(data, score):
    return all_local_scores(Target.build(data, score, parnidag.EdgePrior(h="paper")))


LINEAR = [scores.Gaussian(), scores.GPrior(), scores.BGe(), scores.BGe(standardise=True), scores.BIC()]


@pytest.mark.parametrize("score", [*LINEAR, scores.BDeu(ess=2)], ids=repr)
@pytest.mark.parametrize("targets", [False, True])
def test_local_scores(score, targets):
    given = classes() if isinstance(score, scores.BDeu) else numbers()
    options = {"interventions": "target"} if targets else {}
    given = with_targets(given) if targets else given
    whole, batched = Data(given, **options), in_batches(given, **options)
    np.testing.assert_allclose(local_scores(batched, score), local_scores(whole, score), rtol=TOLERANCE)
    if targets:  # the twin that forgets the interventions
        without = in_batches(given.drop(columns="target"))
        assert not np.allclose(local_scores(without, score), local_scores(whole, score), rtol=1e-6)


@pytest.mark.parametrize("counted", [True, False])
def test_bdeu_of_rows_that_hardly_repeat(counted):
    rng = np.random.default_rng(1)
    repeated = rng.integers(0, 2, (220, 12))[np.arange(400) % 220]  # 12 bytes a row: 8 for its number save something
    given = pd.DataFrame(repeated if counted else rng.integers(0, 6, (400, 6))).add_prefix("x")
    whole, batched = Data(given), in_batches(given)
    assert (batched.row_counts() is not None) == counted
    assert batched.discrete().codes.shape[1] > 200
    one, other = (local_scores(data, scores.BDeu()) for data in (batched, whole))
    np.testing.assert_allclose(one, other, rtol=TOLERANCE)


@pytest.mark.parametrize("share", [1, 3, 20])
def test_bdeu_counts_rows_as_often_as_they_occur(share):
    rng = np.random.default_rng(share)
    codes = rng.integers(0, 3, (4, 50)).astype(np.uint8)
    counts = rng.integers(1, 2 * share, 50)
    mask = rng.random(50) < 0.7
    arity, pattern = np.full(4, 3), np.array([0, 1, 0, 0])
    weighted = pack(codes, arity, pattern, [None, mask], 1.0, counts)
    repeated = pack(np.repeat(codes, counts, axis=1), arity, pattern, [None, np.repeat(mask, counts)], 1.0)
    once = pack(codes, arity, pattern, [None, mask], 1.0)
    values = [
        [ask(content, node, parents) for node, parents in ((0, [1]), (1, [0, 2]), (3, [0, 1, 2]), (2, []))]
        for content in (weighted, repeated, once)
    ]
    assert values[0] == pytest.approx(values[1], rel=TOLERANCE)
    if share > 1:
        assert values[0] != pytest.approx(values[2], rel=1e-3)


def test_skeletons():
    for given in (numbers(), classes(2000)):
        whole, batched = space.pc(Data(given)), space.pc(in_batches(given))
        np.testing.assert_array_equal(batched.adjacency, whole.adjacency)
        assert batched.tests == whole.tests


def test_skeletons_need_the_numbers_of_rows(monkeypatch):
    given = classes(2000)
    monkeypatch.setattr(Data, "row_counts", lambda _: None)
    assert (space.pc(in_batches(given)).adjacency != space.pc(Data(given)).adjacency).any()


def test_tables_of_counts_fit_their_memory():
    rng = np.random.default_rng(1)
    codes = np.repeat(rng.integers(0, 4, (3, 6)), 400, axis=1)
    data = in_batches(pd.DataFrame(codes.T, columns=list("abc")), kind="discrete")
    tests = discrete_tests.CountTests(data, 0.05)
    assert tests._workspace(3, 1).counts.size == tests.arity[tests.arity.argsort()[-2:]].prod() * len(data.row_counts())
    np.testing.assert_array_equal(space.pc(data).adjacency, space.pc(codes.T.astype(float)).adjacency)


@pytest.mark.parametrize("kind", ["numbers", "classes", "targets"])
def test_exact_posteriors(kind):
    given = {"numbers": numbers(60), "classes": classes(80), "targets": with_targets(numbers(60))}[kind]
    options = {"interventions": "target"} if kind == "targets" else {}
    whole, batched = (
        parnidag.exact(Data(given, **options)),
        parnidag.exact(in_batches(given, **options)),
    )
    np.testing.assert_allclose(batched.edge_probabilities, whole.edge_probabilities, rtol=0, atol=TOLERANCE)
    assert batched.log_evidence == pytest.approx(whole.log_evidence, rel=TOLERANCE)
    settings = [{**result.settings} for result in (batched, whole)]
    for key in ("n_rows", "score", "interventions"):
        assert settings[0].get(key) == settings[1].get(key)


def summed_without_rounding():
    """Whole numbers from −8 to 8, in 64 rows: every sum, mean and unit is exact, in halves of the table too."""
    rng = np.random.default_rng(1)
    given = rng.integers(-4, 5, (64, 4))
    given[:, 1:] += given[:, :-1]
    given = np.clip(given, -8, 8)
    given[0], given[1] = -8, [8, 8, -8, 8]
    given[2, 2] = 8
    return pd.DataFrame(given).add_prefix("x")


EXACT, ROUNDED, COUNTED = summed_without_rounding(), numbers(60), classes(80)


@pytest.mark.parametrize(
    ("given", "sampler"),
    [
        # Only ADR for rounded sums: equivalent graphs score the same but for rounding, and others go by such ties
        (EXACT, samplers.PARNI()),
        (COUNTED, samplers.PARNI()),
        (ROUNDED, samplers.ADR()),
        (COUNTED, samplers.ADR()),
        (COUNTED, samplers.OrderMCMC()),
    ],
)
def test_sampled_posteriors(given, sampler):
    options = {"draws": 50, "thin": 20, "chains": 2, "seed": 5, "sampler": sampler, "progress": False}
    whole = parnidag.sample(given, **options)
    batched = parnidag.sample((given[k : k + 32] for k in range(0, len(given), 32)), **options)
    np.testing.assert_allclose(batched.edge_probabilities, whole.edge_probabilities, rtol=0, atol=TOLERANCE)
    assert whole.edge_probabilities.to_numpy().std() > 0.01


def test_splines_need_rows_and_scores_of_users_do_not():
    data = in_batches(numbers())
    with pytest.raises(DataError, match=r"rows of this table were not kept.*scores\.Spline needs them"):
        parnidag.exact(data, score=scores.Spline())
    own = scores.PythonScore(lambda node, parents: -2.0 * len(parents), name="sparse")
    assert parnidag.exact(data, score=own).edge_probabilities.shape == (5, 5)
    with pytest.raises(ParnidagError, match="not told of interventions"):
        parnidag.exact(in_batches(with_targets(numbers()), interventions="target"), score=own)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(files, "BATCH_NUMBERS", 100)


def write(given, path):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pandas(given, preserve_index=False), path, row_group_size=33)
    else:
        given.to_csv(path, index=False, sep={".csv": ",", ".tsv": "\t", ".txt": " "}[path.suffix])
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".txt"])
def test_files(tmp_path, small_batches, suffix):
    for name, given in {"numbers": numbers(), "classes": classes()}.items():
        path = write(given, tmp_path / f"{name}{suffix}")
        assert_same(Data.from_batches(path), Data(path))
        assert_same(Data.from_batches(str(path)), Data(given))


def test_files_with_targets_holes_and_categories(tmp_path, small_batches):
    given = with_targets(classes())
    given["a"] = pd.Categorical(given["a"], ["no", "yes"])
    given.loc[20:30, "d"] = np.nan
    options = {"interventions": "target", "missing": "drop"}
    for suffix in (".parquet", ".csv"):
        path = write(given, tmp_path / f"table{suffix}")
        data = Data.from_batches(path, **options)
        assert data.dropped_rows == 11
        assert_same(data, Data(path, **options))


@pytest.mark.parametrize("word", ["n.d.", "True", "1e", "x"])
def test_words_late_in_a_text_file_make_a_column_text_from_its_first_row_on(tmp_path, small_batches, word):
    given = classes().astype({"b": str, "c": str})
    given.loc[given.index % 3 == 0, "b"] = "1.50"
    given.loc[250:, "b"], given.loc[320:, "c"] = word, word
    path = write(given, tmp_path / "table.csv")
    data = Data.from_batches(path)
    assert "1.50" in data.discrete().labels[1]
    assert_same(data, Data(path))


def test_truth_values_and_missing_ones_in_a_text_file(tmp_path, small_batches):
    given = classes().assign(t=np.random.default_rng(1).random(400) < 0.5).astype({"t": object})
    given.loc[100:180, "t"] = None
    path = write(given, tmp_path / "table.csv")
    assert_same(Data.from_batches(path, missing="drop"), Data(path, missing="drop"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty.csv", ""),
        ("header.csv", "a,b\n"),
        ("doubled.csv", "a,a\n1,2\n"),
        ("numbers.csv", "1.5,2.5\n1,2\n"),
        ("separator.csv", "a;b\n1;2\n"),
        ("long.csv", "a,b\n1,2\n3,4,5\n"),
        ("unknown.xyz", "a,b\n1,2\n"),
        ("words.csv", "a,b\n" + "1.5,2.5\n2.5,1.5\n" * 50 + "n.d.,3\n"),
    ],
)
def test_unusable_files_are_refused_in_the_same_words(tmp_path, small_batches, name, text):
    path = tmp_path / name
    path.write_text(text)
    whole, batched = both_refusals(path, path)
    assert batched == whole


def test_a_parquet_file_is_never_whole_in_memory(tmp_path, monkeypatch):
    path, given = tmp_path / "table.parquet", np.random.default_rng(1).normal(size=(100_000, 10))
    pq.write_table(pa.table(list(given.T), [f"x{j}" for j in range(10)]), path, row_group_size=5000)
    base, held = pa.total_allocated_bytes(), []
    summarise = batches.summarise
    monkeypatch.setattr(files, "BATCH_NUMBERS", 50_000)
    monkeypatch.setattr(
        batches, "summarise", lambda *given: held.append(pa.total_allocated_bytes() - base) or summarise(*given)
    )
    assert Data.from_batches(path).n_rows == 100_000
    assert len(held) == 20
    assert max(held) < given.nbytes / 4


def test_parquet_files_without_rows_or_sense(tmp_path):
    path = write(numbers()[:0], tmp_path / "table.parquet")
    whole, batched = both_refusals(path, path)
    assert batched == whole
    path.write_text("no such thing")
    whole, batched = both_refusals(path, path)
    assert batched.partition("not readable")[:2] == whole.partition("not readable")[:2]


def test_parquet_needs_pyarrow(tmp_path, monkeypatch):
    path = write(numbers(), tmp_path / "table.parquet")
    monkeypatch.setattr(files.importlib.util, "find_spec", lambda name: None)
    for read in (Data, Data.from_batches):
        with pytest.raises(DataError, match=r"reading Parquet needs pyarrow: pip install 'parnidag\[parquet\]'"):
            read(path)


# --- by itself --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_large_files_are_read_in_batches_by_themselves(tmp_path, monkeypatch, suffix):
    given = numbers()
    path = write(given, tmp_path / f"table{suffix}")
    in_memory = files.bytes_in_memory(path) if suffix == ".parquet" else 8 * given.size
    assert in_memory == 8 * given.size
    assert Data(path).values.shape == given.shape
    monkeypatch.setattr(files, "STREAM_ABOVE", 0.8 * in_memory)
    data = Data(path)
    assert_same(data, Data(given))
    with pytest.raises(DataError, match="rows of this table were not kept"):
        data.values  # noqa: B018
    assert Data(path, interventions={3: "V1"}).values.shape == given.shape
    posterior = parnidag.exact(path, score="paper")
    np.testing.assert_allclose(
        posterior.edge_probabilities, parnidag.exact(given, score="paper").edge_probabilities, atol=TOLERANCE
    )
    monkeypatch.setattr(files, "STREAM_ABOVE", 1.2 * in_memory)
    assert Data(path).values.shape == given.shape


def test_memory_of_a_text_file_is_estimated_within_a_fifth(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "STREAM_ABOVE", 0)
    given = numbers(3000)
    for suffix in (".csv", ".tsv", ".txt"):
        estimate = files.bytes_in_memory(write(given, tmp_path / f"table{suffix}"))
        assert estimate == pytest.approx(8 * given.size, rel=0.2)
    assert files.bytes_in_memory(tmp_path / "nowhere.csv") == 0.0


def test_the_command_line_reads_large_files_in_batches(tmp_path, monkeypatch):
    path = write(numbers(60), tmp_path / "table.csv")
    seen = []
    monkeypatch.setattr(files, "STREAM_ABOVE", 100)
    monkeypatch.setattr(table, "sum_up", lambda *given: seen.append(given) or batches.sum_up(*given))
    with pytest.raises(SystemExit, match="0"):
        main(["exact", str(path)])
    assert len(seen) == 1
