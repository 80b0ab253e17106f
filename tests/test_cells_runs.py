"""Runs on tables with cells that are not known: from the default call, with the same bits everywhere."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd
import pytest
from judging import assert_same_run

import parnidag
from parnidag import EdgePrior, api, samplers, scores
from parnidag.cells.gaussian import GaussianCells
from parnidag.data import Data
from parnidag.errors import DataError, ParnidagError
from parnidag.results import diagnostics, verdict
from parnidag.results.modes import ModeGroup
from parnidag.run import memory
from parnidag.target import Target

begin = GaussianCells.begin

SHORT = {"draws": 40, "tune": 300, "thin": 20, "chains": 2, "seed": 3, "progress": False}


def patients(rows=120, seed=1, share=0.1):
    """Numbers, ordered classes, yes or no and classes without order, with empty cells."""
    rng = np.random.default_rng(seed)
    age, severity = rng.normal(size=(2, rows))
    severity += age
    dose = severity + rng.normal(size=rows)
    site = np.array(["north", "south", "west"])[np.digitize(dose + rng.normal(size=rows), [-0.8, 0.8])]
    table = pd.DataFrame(
        {
            "age": age,
            "stage": pd.Categorical(
                np.array(["i", "ii", "iii"])[np.digitize(severity, [-0.7, 0.7])], ["i", "ii", "iii"], ordered=True
            ),
            "ill": severity + rng.normal(size=rows) > 0,
            "site": site,
            "dose": dose,
        }
    )
    return table.mask(rng.random(table.shape) < share)


def short(**options):
    return parnidag.sample(patients(), **SHORT, **options)


@pytest.fixture(scope="module")
def usual():
    return short()


def test_a_mixed_table_with_gaps_needs_no_options(usual):
    settings = usual.record.settings
    assert settings["score"]["name"] == "Copula"
    assert 0.3 < settings["cells"]["share"] < 0.7
    probabilities = np.asarray(usual.edge_probabilities)
    assert (probabilities + probabilities.T)[0, 1] > 0.5


def test_draws_are_the_same_on_other_processes(usual):
    with ProcessPoolExecutor(1) as pool:
        other = short(executor=pool)
    np.testing.assert_array_equal(usual.record.log_posterior, other.record.log_posterior)
    np.testing.assert_array_equal(usual.record.batch_counts, other.record.batch_counts)


def test_a_run_goes_on_from_a_checkpoint(usual, tmp_path):
    kept = tmp_path / "run.ckpt"
    first = parnidag.sample(patients(), **{**SHORT, "draws": 15}, checkpoint=kept)
    np.testing.assert_array_equal(first.record.log_posterior, usual.record.log_posterior[:, :15])
    longer = short(checkpoint=kept)
    np.testing.assert_array_equal(longer.record.log_posterior, usual.record.log_posterior)


@pytest.mark.parametrize("sampler", [samplers.MC3(), samplers.ADR()])
def test_other_samplers_that_walk_without_tables(sampler):
    assert np.isfinite(short(sampler=sampler).record.log_posterior).all()


@pytest.mark.parametrize(
    "sampler",
    [samplers.PartitionMCMC(), samplers.OrderMCMC(), samplers.REV(), samplers.Tempered(), samplers.PARNI(rungs=3)],
)
def test_samplers_on_tables_of_parent_sets_are_refused(sampler):
    with pytest.raises(ParnidagError, match="tables of parent sets"):
        parnidag.sample(patients(), sampler=sampler, draws=10, progress=False)


def test_what_cannot_take_such_tables_says_what_can():
    with pytest.raises(DataError, match=r"BGe takes numbers.*scores\.Copula"):
        parnidag.sample(patients(), score="bge")
    with pytest.raises(DataError, match=r"missing='drop'"):
        parnidag.sample(patients(), score="gaussian")
    with pytest.raises(DataError, match="without empty cells"):
        parnidag.exact(patients())
    with pytest.raises(DataError, match=r"parnidag\.sample draws them"):
        parnidag.exact(patients(share=0.0))


def test_classes_that_are_rather_names_are_refused_before_they_fill_the_memory():
    table = patients(rows=3000).assign(gene=[f"g{k % 1200}" for k in range(3000)])
    with pytest.raises(DataError, match=r"together, most of them gene \(1,200\), site \(3\).*drop=\['gene'\]"):
        parnidag.sample(table, draws=1)


def test_completed_tables_count_among_the_memory_of_a_run(monkeypatch):
    target = Target.build(Data(patients()), scores.Copula(), EdgePrior())
    alone = memory.memory_need(5, chains=2, score_bytes=0.0, searched=False, tuned=False).a_chain
    need = memory.need_of(target, samplers.MC3(), 2)
    assert need.a_chain > alone + 2 * 8 * 120 * target.cells.columns
    monkeypatch.setattr(memory, "free_bytes", lambda: 1e4)
    with pytest.raises(ParnidagError, match="of memory"):
        parnidag.sample(patients(), draws=1)


def test_a_copula_of_numbers_does_not_see_monotone_transforms():
    table = parnidag.simulate(nodes=4, edges=4, rows=80, seed=2).values
    one = parnidag.exact(table, score="copula")
    other = parnidag.exact(np.column_stack([np.exp(table[:, 0]), table[:, 1] ** 3, table[:, 2:]]), score="copula")
    np.testing.assert_allclose(one.edge_probabilities, other.edge_probabilities)
    assert "cells" not in one.record.settings


def test_hardly_any_empty_cell_hardly_changes_the_posterior():
    table = parnidag.simulate(nodes=4, edges=4, rows=300, seed=2).values
    whole = parnidag.exact(table, score=scores.BGe(alpha_w=8.0), prior=EdgePrior(h=0.3)).edge_probabilities
    table[0, 0] = np.nan
    options = {"score": scores.BGe(alpha_w=8.0), "prior": EdgePrior(h=0.3), "seed": 1, "progress": False}
    drawn = parnidag.sample(table, draws=400, thin=100, **options)
    assert np.abs(np.asarray(drawn.edge_probabilities) - np.asarray(whole)).max() < 0.04


# --- chains that disagree ---------------------------------------------------------------------------------------------


def brief(**options):
    return parnidag.sample(patients(), **{"draws": 8, "seed": 3, "progress": False, **options})


def test_chains_of_a_default_run_that_disagree_go_on_from_where_they_stand(tmp_path):
    alone, posterior = brief(sampler=samplers.Redraw()), brief()
    assert alone.diagnostics().converged is False
    assert posterior.settings["longer_after"] == alone.diagnostics().verdict
    assert posterior.settings["thin"] == api.LONGER * alone.settings["thin"]
    assert posterior.graphs.shape == alone.graphs.shape
    starts = np.split(posterior.record.start_edges, posterior.record.start_offsets[1:-1])
    last = [np.flatnonzero(alone.graph_at(chain, 7)) for chain in range(4)]
    assert all(np.array_equal(start, end) for start, end in zip(starts, last, strict=True))
    call = posterior.report(tmp_path / "report.html").read_text().split("parnidag.sample(")[1][:300]
    assert "thin=" not in call
    assert "sampler=" not in call


def test_completed_tables_go_on_too_and_a_checkpoint_changes_nothing(tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr(GaussianCells, "begin", lambda *given: begun.append(0) or begin(*given))
    posterior = brief()
    assert len(begun) == 5  # one for each chain of the first run, one that all share
    kept = tmp_path / "run.ckpt"
    with monkeypatch.context() as stopped:
        stopped.setattr(api, "_further", lambda run: None)
        brief(checkpoint=kept)
    assert_same_run(brief(checkpoint=kept), posterior)
    assert_same_run(brief(output=tmp_path / "posterior.nc"), posterior)


def test_chains_that_are_too_short_to_say_go_on(monkeypatch):
    monkeypatch.setattr(verdict, "DISAGREEMENT_LIMIT", 1.0)
    monkeypatch.setattr(verdict, "RHAT_LIMIT", 99.0)
    monkeypatch.setattr(verdict, "CELLS_RHAT_LIMIT", 99.0)
    assert brief().settings["longer_after"].startswith("too short to say")


def test_chains_in_separated_modes_do_not_go_on(monkeypatch):
    apart = ModeGroup(("age", "dose"), [], "separated", ((0, 1), (2, 3)), None, None, None)
    monkeypatch.setattr(diagnostics, "find_modes", lambda *given: [apart])
    assert "longer_after" not in brief().settings


def test_a_run_that_would_take_many_minutes_more_does_not_go_on(monkeypatch):
    monkeypatch.setattr(api, "MOST_LONGER_SECONDS", 0.001)
    assert "longer_after" not in brief().settings
