"""What is said of empty cells: by the law of the cells, from the same bits everywhere, in the words of the table."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reference_cells import bge_log_likelihood, dags
from test_cells_classes import ESS, exact_law, small_table
from test_cells_runs import SHORT, patients

import parnidag
from parnidag import Data, EdgePrior, samplers, scores
from parnidag.cells.filled import MOST_BLOCKS, EmptyCells, filled_of_chains, forget_draws, note_draw
from parnidag.errors import ParnidagError
from parnidag.report.words import readings
from parnidag.results.posterior import Posterior
from parnidag.target import Target


@pytest.fixture(scope="module")
def usual():
    return parnidag.sample(patients(), **SHORT)


def two_numbers():
    """Two related columns, in which one cell is empty."""
    x = np.random.default_rng(4).normal(size=12)
    table = np.column_stack([x, x + 0.5 * np.random.default_rng(5).normal(size=12)]) * [1.0, 3.0] + [0.0, 50.0]
    table[3, 1] = np.nan
    return table


def exact_moments(table, alpha_w, odds):
    """Mean and deviation of the empty cell, over all graphs and values."""
    known = ~np.isnan(table)
    means = np.array([column[here].mean() for column, here in zip(table.T, known.T, strict=True)])
    units = np.array([column[here].std(ddof=1) for column, here in zip(table.T, known.T, strict=True)])
    z, grid = (table - means) / units, np.linspace(-12, 12, 1201)
    logs = np.zeros(grid.size)
    for k, z[3, 1] in enumerate(grid):
        graphs = [bge_log_likelihood(z, graph, 1.0, alpha_w) + graph.sum() * np.log(odds) for graph in dags(2)]
        logs[k] = np.logaddexp.reduce(graphs)
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    values = means[1] + units[1] * grid
    mean = weights @ values
    return mean, np.sqrt(weights @ (values - mean) ** 2)


def test_a_number_has_the_mean_and_deviation_of_its_law():
    table = two_numbers()
    mean, deviation = exact_moments(table, 6.0, 0.5)
    options = {"score": scores.BGe(alpha_w=6.0), "prior": EdgePrior(h=1 / 3), "sampler": samplers.MC3()}
    posterior = parnidag.sample(table, **options, draws=1500, tune=1000, thin=2000, seed=1, progress=False)
    found = posterior.imputed("X1").iloc[0]
    draws = 4 * 1500 * 2
    assert found["mean"] == pytest.approx(mean, abs=5 * deviation / np.sqrt(draws))
    assert found["sd"] == pytest.approx(deviation, rel=0.05)
    # A mean filled in, or the cell drawn from its column alone, would be far off.
    assert abs(mean - np.nanmean(table[:, 1])) > 20 * deviation / np.sqrt(draws)
    assert deviation < 0.7 * np.nanstd(table[:, 1])


def test_a_class_has_the_shares_of_its_law():
    data = small_table()
    expected = exact_law(data)[1]
    posterior = parnidag.sample(
        data,
        score=scores.BDeu(ess=ESS),
        prior=EdgePrior(h=0.4),
        sampler=samplers.MC3(),
        draws=1500,
        tune=1000,
        thin=1000,
        seed=2,
        progress=False,
    )
    found = posterior.imputed("X0").loc[0].to_numpy()
    np.testing.assert_allclose(found, expected, atol=5 * np.sqrt(0.25 / (4 * 1500)))
    best = posterior.imputed().iloc[0]
    assert (best["row"], best["column"], best["value"]) == (0, "X0", ["0", "1"][found.argmax()])
    assert best["probability"] == found.max()


def test_cells_are_named_by_row_and_level(usual):
    table = patients()
    found = usual.imputed()
    empty = np.argwhere(table.isna().to_numpy())
    assert {*zip(found["row"], found["column"], strict=True)} == {(row, table.columns[j]) for row, j in empty.tolist()}
    assert list(usual.imputed("stage").columns) == ["i", "ii", "iii"]
    assert set(found[found["column"] == "ill"]["value"]) <= {"False", "True"}
    np.testing.assert_allclose(usual.imputed("site").sum(axis=1), 1.0)
    is_number = found["column"].isin(["age", "dose"])
    assert (found["sd"].notna() == is_number).all()
    assert (found["probability"].isna() == is_number).all()


def test_rows_are_those_of_the_table_as_given():
    table = pd.concat([pd.DataFrame(np.nan, [0], list("abc")), pd.DataFrame(two_numbers(), columns=list("ab"))])
    table["c"] = np.append(np.nan, np.random.default_rng(1).normal(size=12))
    posterior = parnidag.sample(table, sampler=samplers.MC3(), draws=20, thin=1000, seed=1, progress=False)
    assert posterior.imputed()["row"].tolist() == [4]


def test_cells_are_the_same_on_other_processes_and_after_a_stop(usual, tmp_path):
    with ProcessPoolExecutor(1) as pool:
        pd.testing.assert_frame_equal(parnidag.sample(patients(), **SHORT, executor=pool).imputed(), usual.imputed())
    kept, short = tmp_path / "run.ckpt", {**SHORT, "draws": 15}
    parnidag.sample(patients(), **short, checkpoint=kept)
    longer = parnidag.sample(patients(), **SHORT, checkpoint=kept, output=tmp_path / "run.nc")
    pd.testing.assert_frame_equal(longer.imputed(), usual.imputed())
    np.testing.assert_array_equal(longer.record.cells_series, usual.record.cells_series)


def test_diagnostics_speak_of_cells(usual):
    found = usual.diagnostics()
    assert found.cells_share == usual.record.settings["cells"]["share"]
    assert found.rhat_cells_max is not None
    assert "drawn cells" in repr(found)
    told = {reading.name: reading for reading in readings(found, 2)}["Largest R-hat of drawn cells"]
    assert f"{found.cells_share:.0%}" in told.meaning
    # Another sum over all graphs would be refused.
    assert not any("parnidag.exact" in line for line in found.advice)


def test_cells_that_have_not_settled_are_no_convergence(usual):
    series = usual.record.cells_series.copy()
    series[0, 2] += 10 * series[:, 2].std()
    found = Posterior(replace(usual.record, cells_series=series)).diagnostics()
    assert found.rhat_cells_max > 1.1
    assert found.converged is False
    assert any("drawn cells move slowly" in line for line in found.advice)


def test_where_no_cell_was_empty_there_is_nothing_to_say():
    complete = parnidag.exact(np.random.default_rng(1).normal(size=(30, 2)))
    assert complete.diagnostics().cells_share is None
    with pytest.raises(ParnidagError, match="no cell was empty"):
        complete.imputed()


def test_unknown_columns_are_refused(usual):
    with pytest.raises(ParnidagError, match="column must be one of age, stage"):
        usual.imputed("height")


def test_series_join_neighbours_and_chains_meet_in_the_widest():
    """Of 300 and 700 draws blocks of 4 and 8 are kept, and compared in blocks of 8."""
    empty = EmptyCells(np.array([0, 2, 5]), np.arange(5), np.array([0, 3]), np.array([10.0, 0.0]), np.array([2.0, 1.0]))
    rng, chains, told = np.random.default_rng(1), [], []
    for draws in (300, 700):
        own = empty.sums()
        note_draw(empty, own, np.zeros(5), np.zeros(0))
        forget_draws(own)
        numbers, levels = rng.normal(10, 2, (draws, 2)), rng.integers(0, 3, (draws, 3)).astype(float)
        for values in zip(numbers, levels, strict=True):
            note_draw(empty, own, np.concatenate(values), np.zeros(0))
        chains.append(own)
        told.append((numbers, levels))
    found = filled_of_chains(empty, chains)
    mean = np.mean([numbers.mean(axis=0) for numbers, _ in told], axis=0)
    np.testing.assert_allclose(found.mean[:2], mean)
    squares = np.mean([(numbers**2).mean(axis=0) for numbers, _ in told], axis=0)
    np.testing.assert_allclose(found.deviation[:2], np.sqrt(squares - mean**2))
    shares = np.mean([[(levels == k).mean(axis=0) for k in range(3)] for _, levels in told], axis=0)
    np.testing.assert_allclose(found.shares[2:], shares.T)
    assert found.series.shape == (2, 2, 300 // 8)
    assert MOST_BLOCKS >= 700 / 8
    blocks = (told[1][0].mean(axis=1)[: 8 * 37].reshape(37, 8).mean(axis=1) - 10.0) / 2.0
    np.testing.assert_allclose(found.series[1, 0], blocks)


def test_draws_of_very_many_cells_come_less_often():
    rng = np.random.default_rng(1)
    spacing = {}
    for rows in (100, 40_000):
        table = rng.integers(0, 2, (rows, 3)).astype(float)
        table[rng.random(table.shape) < 0.1] = np.nan
        target = Target.build(Data(table, kind="discrete"), scores.BDeu(), EdgePrior())
        spacing[rows] = samplers.PARNI().steps_a_sweep(target) / samplers.PARNI.fewest_steps_a_sweep
        assert samplers.MC3().steps_a_sweep(target) == 1000 * spacing[rows]
    assert spacing[100] == 1
    assert spacing[40_000] == pytest.approx(40_000 * 0.3 * 2.5e-6 / 4e-3, abs=1.0)
