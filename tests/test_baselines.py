"""Other people's methods read the right way round: three nodes whose graph is known, and a transposed twin that fails.

Methods whose library is missing are skipped, with the command that installs it as the reason.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.baselines import BASELINES, Estimate, MissingLibrary, Package, dibs
from benchmarks.baselines.base import Baseline
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


def case(name):
    """Data, and the graph to find in them."""
    if "LiNGAM" in name:
        return drawn(CHAIN, np.random.default_rng(SEED).uniform(-1, 1, (ROWS, 3))), CHAIN
    return gaussian(COLLIDER), COLLIDER


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


@pytest.mark.parametrize("name", BASELINES)
def test_directions_are_read_as_parent_to_child_and_follow_the_nodes(name):
    """In another order too: an adapter that always says "the last node is the child" is found out."""
    values, truth = case(name)
    for order in ([0, 1, 2], [2, 0, 1]):
        found, wanted = found_by(small(name), values[:, order]), truth[np.ix_(order, order)]
        assert np.array_equal(found, wanted)
        assert not np.array_equal(found.T, wanted)  # what an adapter that reads columns as parents would say


@pytest.mark.parametrize("name", ["PC", "GES"])
def test_edges_without_direction_are_kept_both_ways(name):
    """A Gaussian chain has the same distribution as its reverse: both edges are undirected, none is dropped."""
    assert np.array_equal(found_by(small(name), gaussian(CHAIN)), CHAIN | CHAIN.T)


@pytest.mark.parametrize("name", ["LiNGAM", "DirectLiNGAM"])
@pytest.mark.parametrize("rows", [5, 6])
def test_too_few_rows_are_a_reason_and_no_crash(name, rows):
    estimate = small(name).fit(np.random.default_rng(SEED).standard_normal((rows, 6)), SEED, SECONDS)
    assert estimate.failed
    assert f"{rows} and 6" in estimate.note


def test_standardised_unless_the_settings_say_no():
    seen = []

    def look(values, seed, seconds, **settings):
        seen.append((values, settings))
        return Estimate()

    values = gaussian(COLLIDER) * [1, 10, 100] + 5
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
        nowhere.fit(gaussian(COLLIDER), SEED, SECONDS)


def test_nothing_is_left_behind_by_the_import_of_notears():
    """No stand-in for torch stays, and gcastle does not log to the screen of whoever runs it."""
    baseline = small("NOTEARS")
    handlers, level = list(logging.getLogger().handlers), logging.getLogger().level
    baseline.fit(gaussian(COLLIDER), SEED, SECONDS)
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
    assert np.array_equal(plain.best, one)
    assert np.array_equal(weighted.best, CHAIN)
    assert plain.note == "9 steps, 3 of 4 particles are acyclic"
    assert dibs.summarise(particles[[2]], FakeMixture(), weighted=True, done="9 steps").failed


def test_dibs_refuses_what_does_not_fit_into_memory(monkeypatch):
    """20 · 128 graphs of 50 nodes with a matrix for each node: 12 · 2560 · 50³ bytes, before any library is needed."""
    monkeypatch.setattr(dibs, "free_bytes", lambda: 3e9)
    settings = {key: value for key, value in BASELINES["DiBS"].settings.items() if key != "standardise"}
    with pytest.raises(NoMemory, match="a step needs about 4 GB of memory, 3 GB are free"):
        dibs.run_dibs(np.zeros((100, 50)), SEED, SECONDS, **settings)
