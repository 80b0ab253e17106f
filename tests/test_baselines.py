"""Other people's methods read the right way round: three nodes whose graph is known, and a transposed twin that fails.

Methods whose library is missing are skipped, with the command that installs it as the reason.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import published
from benchmarks.baselines import BASELINES, Estimate, MissingLibrary, Package, dibs
from benchmarks.baselines.base import Baseline
from benchmarks.baselines.causal_learn import from_marks
from benchmarks.harness.task import NoMemory

ROWS, SEED, SECONDS = 2000, 1, 60.0
COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], bool)
"""a → c ← b: the only graph of its equivalence class."""
CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
"""a → b → c: found by the shape of the noise alone."""


def drawn(graph, noise):
    """Each child is its parents' sum and noise of the same size, so later nodes also vary more."""
    values = noise.copy()
    for j in range(3):
        values[:, j] += values @ graph[:, j]
    return values


def gaussian(graph):
    """Rows whose noise is uncorrelated to rounding, so that no test rejects by chance what is true."""
    noise = np.random.default_rng(SEED).standard_normal((ROWS, 3))
    orthogonal, _ = np.linalg.qr(noise - noise.mean(axis=0))
    return drawn(graph, orthogonal * np.sqrt(ROWS))


def gaussian_collider():
    return gaussian(COLLIDER)


def uniform_chain():
    return drawn(CHAIN, np.random.default_rng(SEED).uniform(-1, 1, (ROWS, 3)))


CASES = {
    "PC": (gaussian_collider, COLLIDER),
    "GES": (gaussian_collider, COLLIDER),
    "LiNGAM": (uniform_chain, CHAIN),
    "DirectLiNGAM": (uniform_chain, CHAIN),
    "NOTEARS": (gaussian_collider, COLLIDER),
    "DiBS": (gaussian_collider, COLLIDER),
    "DiBS+": (gaussian_collider, COLLIDER),
}


def small(name):
    """The baseline itself; of DiBS fewer steps and samples, three nodes do not need more."""
    baseline = BASELINES[name]
    if baseline.version() is None:
        pytest.skip(f"{name} needs pip install '.[{baseline.package.extra}]'")
    fewer = {"steps": 300, "gradient_samples": 32} if name.startswith("DiBS") else {}
    return replace(baseline, settings=baseline.settings | fewer)


def found_by(baseline, values):
    estimate = baseline.fit(values, SEED, SECONDS)
    return estimate.graph if estimate.graph is not None else estimate.best


def agrees(found, truth):
    return np.array_equal(found, truth)


def test_every_baseline_has_a_case():
    assert set(CASES) == set(BASELINES)


@pytest.mark.parametrize("name", CASES)
def test_directions_are_read_as_parent_to_child(name):
    values, truth = CASES[name][0](), CASES[name][1]
    found = found_by(small(name), values)
    assert agrees(found, truth)
    assert not agrees(found.T, truth)  # what an adapter that reads columns as parents would say


@pytest.mark.parametrize("name", [name for name in CASES if name != "DiBS"])  # the particles of DiBS+, seen once more
def test_directions_follow_the_nodes(name):
    """The same columns in another order: an adapter that always says "the last node is the child" is found out."""
    values, truth = CASES[name][0](), CASES[name][1]
    order = [2, 0, 1]
    assert agrees(found_by(small(name), values[:, order]), truth[np.ix_(order, order)])


@pytest.mark.parametrize("name", ["PC", "GES"])
def test_edges_without_direction_are_kept_both_ways(name):
    """A Gaussian chain has the same distribution as its reverse: both edges are undirected, none is dropped."""
    assert agrees(found_by(small(name), gaussian(CHAIN)), CHAIN | CHAIN.T)


def test_marks_of_causal_learn():
    """Tail and arrow are a direction; two tails, two arrows and circles are edges of unknown direction."""
    marks = np.zeros((6, 6), int)
    marks[0, 1], marks[1, 0] = -1, 1  # 0 → 1
    marks[1, 2], marks[2, 1] = -1, -1  # 1 — 2
    marks[2, 3], marks[3, 2] = 1, 1  # 2 ↔ 3
    marks[3, 4], marks[4, 3] = 2, 1  # 3 o→ 4
    graph = from_marks(marks)
    pairs = {(int(i), int(j)) for i, j in zip(*np.nonzero(graph), strict=True)}
    assert pairs == {(0, 1), (1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3)}


@pytest.mark.parametrize("name", ["LiNGAM", "DirectLiNGAM"])
@pytest.mark.parametrize("rows", [5, 6])
def test_too_few_rows_are_a_reason_and_no_crash(name, rows):
    estimate = small(name).fit(np.random.default_rng(SEED).standard_normal((rows, 6)), SEED, SECONDS)
    assert estimate.failed
    assert f"{rows} and 6" in estimate.note


@pytest.mark.parametrize("name", ["LiNGAM", "DirectLiNGAM"])
def test_one_row_more_than_nodes_is_enough(name):
    """So the refusal above turns away nothing that would have worked."""
    assert not small(name).fit(np.random.default_rng(SEED).standard_normal((7, 6)), SEED, SECONDS).failed


def test_standardised_unless_the_settings_say_no():
    seen = []

    def look(values, seed, seconds, **settings):
        seen.append((values, settings))
        return Estimate()

    values = gaussian_collider() * [1, 10, 100] + 5
    for standardise in (True, False):
        Baseline("look", Package("numpy", "numpy", ""), look, {"standardise": standardise, "k": 1}).fit(values, 1, 1)
    (scaled, settings), (raw, _) = seen
    assert np.allclose(scaled.mean(axis=0), 0, atol=1e-12)
    assert np.allclose(scaled.std(axis=0, ddof=1), 1)
    assert raw is values
    assert settings == {"k": 1}


def test_a_missing_library_is_named():
    nowhere = replace(BASELINES["DiBS"], package=Package("no_such_module", "no-such-lib", "dibs"))
    assert nowhere.version() is None
    with pytest.raises(MissingLibrary, match=r"DiBS needs no-such-lib: pip install '\.\[dibs\]'"):
        nowhere.fit(gaussian_collider(), SEED, SECONDS)


def test_nothing_is_left_behind_by_the_import_of_notears():
    """No stand-in for torch stays, and gcastle does not log to the screen of whoever runs it."""
    baseline = small("NOTEARS")
    handlers, level = list(logging.getLogger().handlers), logging.getLogger().level
    baseline.fit(gaussian_collider(), SEED, SECONDS)
    assert (logging.getLogger().handlers, logging.getLogger().level) == (handlers, level)
    assert ("torch" in sys.modules) <= (importlib.util.find_spec("torch") is not None)


class FakeMixture:
    """Weights of particles as DiBS gives them, the log likelihood up to a constant: here the number of edges."""

    def get_mixture(self, graphs):
        self.logp = graphs.sum(axis=(1, 2)) * np.log(3.0)
        self.logp -= np.log(np.exp(self.logp).sum())
        return self


def test_particles_become_probabilities():
    """Two of one edge, one of two edges, one cycle: the cycle has no say, DiBS+ prefers the likelier, DiBS counts."""
    one, cycle = CHAIN.copy(), CHAIN | CHAIN.T
    one[1, 2] = False
    particles = np.array([one, CHAIN, cycle, one])
    plain = dibs.summarise(particles, FakeMixture(), weighted=False, done="9 steps")
    weighted = dibs.summarise(particles, FakeMixture(), weighted=True, done="9 steps")
    assert plain.probabilities[1, 2] == pytest.approx(1 / 3)
    assert weighted.probabilities[1, 2] == pytest.approx(9 / (9 + 3 + 3))
    assert plain.probabilities[0, 1] == weighted.probabilities[0, 1] == pytest.approx(1)
    assert agrees(plain.best, one)
    assert agrees(weighted.best, CHAIN)
    assert plain.note == "9 steps, 3 of 4 particles are acyclic"
    assert dibs.summarise(particles[[2]], FakeMixture(), weighted=True, done="9 steps").failed


def test_dibs_refuses_what_does_not_fit_into_memory(monkeypatch):
    """20 · 128 graphs of 50 nodes with a matrix for each node: 12 · 2560 · 50³ bytes, before any library is needed."""
    monkeypatch.setattr(dibs, "free_bytes", lambda: 3e9)
    settings = {key: value for key, value in BASELINES["DiBS"].settings.items() if key != "standardise"}
    with pytest.raises(NoMemory, match="a step needs about 4 GB of memory, 3 GB are free"):
        dibs.run_dibs(np.zeros((100, 50)), SEED, SECONDS, **settings)


def test_dibs_ends_in_time():
    """With time for far fewer steps than it was told, it ends early and says so; imports and compilation count."""
    baseline = small("DiBS")
    endless = replace(baseline, settings=baseline.settings | {"steps": 10**6})
    start = time.process_time()
    estimate = endless.fit(gaussian_collider(), SEED, 40.0)
    assert time.process_time() - start < 40.0
    assert int(estimate.note.split()[0]) < 10**6


def test_the_papers_table_is_complete():
    assert set(published.TABLE3) >= {"PC", "GES", "LiNGAM", "DiBS", "DiBS+", "PARNI-DAG"}
    assert [row["arth150"] is None for row in published.TABLE3.values()].count(True) == 4  # LiNGAM, DiBS, DiBS+, DECI
    assert all(set(row) == set(published.NETWORKS) for row in published.TABLE3.values())
