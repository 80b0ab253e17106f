"""Scores that users bring, compiled or not: what they are asked, what they may answer, and where they can go."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numba
import numpy as np
import pytest
from judging import assert_same_run

import parnidag
from parnidag import EdgePrior, ParnidagError, samplers, scores
from parnidag.data import Data
from parnidag.kernels.by_address import call_score
from parnidag.kernels.jit import entry
from parnidag.samplers.base import Asked
from parnidag.target import Target

VALUES = np.random.default_rng(1).normal(size=(30, 5)) @ np.triu(np.ones((5, 5)))
GRAM = np.corrcoef(VALUES.T)


def straight(node, parents, content):
    """How much of a node's variance its parents leave, less a price."""
    count = len(parents)
    if count == 0:
        return 0.0
    inside = np.empty((count, count))
    across = np.empty(count)
    for a in range(count):
        across[a] = content[node, parents[a]]
        for b in range(count):
            inside[a, b] = content[parents[a], parents[b]]
    left = 1.0 - np.dot(across, np.linalg.solve(inside, across))
    return -15.0 * np.log(max(left, 1e-9)) - 2.0 * count


def by_hand(node, parents):
    return straight(node, np.array(parents, np.int64), GRAM)


PYTHON = scores.PythonScore(by_hand)
COMPILED = scores.Compiled(straight, GRAM)


@entry
def ask(table, node):
    return call_score(table.function, node, np.zeros(1, np.int64), 0, table.content)


def all_sets(node):
    others = [other for other in range(5) if other != node]
    return [[other for k, other in enumerate(others) if bits >> k & 1] for bits in range(16)]


@pytest.mark.parametrize("score", [PYTHON, COMPILED])
def test_every_set_is_scored_by_the_function(score):
    target = Target.build(Data(VALUES), score, EdgePrior(h=0.5))
    for node in range(5):
        for parents in all_sets(node):
            assert target.local(node, parents) == pytest.approx(by_hand(node, tuple(parents)), abs=1e-9)


def test_all_ways_lead_to_the_same_posterior():
    one, other = (parnidag.exact(VALUES, score=score) for score in (PYTHON, COMPILED))
    assert one.edge_probabilities.values == pytest.approx(other.edge_probabilities.values, abs=1e-9)
    for score in (PYTHON, COMPILED):
        for sampler in (samplers.PARNI(), samplers.PartitionMCMC()):
            found = parnidag.sample(VALUES, score=score, sampler=sampler, draws=400, seed=1, progress=False)
            assert found.edge_probabilities.values == pytest.approx(one.edge_probabilities.values, abs=0.03)


def test_beyond_twelve_nodes_a_space_is_found_by_the_score():
    """V-shaped relations that correlation does not see."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(200, 14))
    values[:, 1] = np.abs(values[:, 0]) + 0.1 * rng.normal(size=200)
    sizes = np.corrcoef(np.abs(values).T)
    score = scores.Compiled(straight, sizes)
    found = parnidag.sample(values, score=score, draws=100, seed=1, progress=False).edge_probabilities
    assert found.iloc[0, 1] + found.iloc[1, 0] > 0.9


def test_nodes_and_parents_are_plain_and_sorted():
    seen = []

    def watch(node, parents):
        seen.append((node, parents))
        return 0.0

    parnidag.sample(VALUES, score=scores.PythonScore(watch), draws=20, seed=1, progress=False)
    assert all(type(node) is int and type(parents) is tuple for node, parents in seen)
    assert all(list(parents) == sorted(parents) and node not in parents for node, parents in seen)


def test_each_set_is_asked_for_once_by_a_chain():
    asked = []

    def count(node, parents):
        asked.append((threading.get_ident(), node, parents))
        return -float(len(parents))

    target = Target.build(Data(VALUES), scores.PythonScore(count), EdgePrior(h="paper"))
    chain = samplers.base.new_chain(target, np.zeros((5, 5), bool), 1, 0)
    samplers.ADR().begin(target, samplers.ADR().prepare(target, Asked()), chain, 0)
    asked.clear()
    samplers.ADR().advance(target, chain, 20_000)
    assert len(asked) <= 5 * 16


def test_impossible_parents_never_occur():
    def at_most_one(node, parents):
        return -math.inf if len(parents) > 1 else 0.0

    found = parnidag.sample(VALUES, score=scores.PythonScore(at_most_one), draws=100, seed=1, progress=False)
    assert found.graphs.sum(axis=2).max() == 1


class OutOfPatienceError(Exception):
    pass


def sample_some(*arguments, **settings):
    return parnidag.sample(*arguments, draws=50, progress=False, **settings)


@pytest.mark.parametrize("run", [parnidag.exact, sample_some])
def test_what_the_function_raises_reaches_the_caller(run):
    def impatient(node, parents):
        if len(parents) == 2:
            raise OutOfPatienceError("enough")
        return 0.0

    score = scores.PythonScore(impatient)
    for _ in range(2):  # the second call must not remember the first
        with pytest.raises(
            ParnidagError, match=r"impatient raised OutOfPatienceError: enough for node \d given"
        ) as found:
            run(VALUES, score=score, seed=1)
        assert isinstance(found.value.__cause__, OutOfPatienceError)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("run", [parnidag.exact, sample_some])
def test_whatever_ends_the_process_is_raised_as_it_is(kind, run):
    def ended(node, parents):
        if len(parents) == 2:
            raise kind
        return 0.0

    with pytest.raises(kind):
        run(VALUES, score=scores.PythonScore(ended), seed=1)


def test_ctrl_c_comes_before_other_errors_wherever_it_hits():
    """Outside the user's function, too; an exception that leaves a callback is lost, and its score would be 0."""
    score = scores.PythonScore(lambda node, parents: 1 / 0)
    table = score.table(Data(VALUES))

    class Interrupted(dict):
        def get(self, *_):
            raise KeyboardInterrupt

    assert ask(table, 1) == -math.inf
    score._known = Interrupted()
    assert ask(table, 2) == -math.inf
    with pytest.raises(KeyboardInterrupt):
        score.check(table.content)
    score.check(table.content)


@pytest.mark.parametrize("run", [parnidag.exact, sample_some])
@pytest.mark.parametrize(
    ("trouble", "message", "cause"),
    [(0.0, "raised ValueError: enough", ValueError), (1.0, "gave NaN", type(None)), (2.0, "gave NaN", type(None))],
)
def test_trouble_in_compiled_scores_reaches_the_caller(run, trouble, message, cause):
    def troubled(node, parents, content):
        if len(parents) == 2 and node == 3:
            if content[0, 0] == 0.0:
                raise ValueError("enough")
            return np.nan if content[0, 0] == 1.0 else np.inf
        return 0.0

    with pytest.raises(ParnidagError, match=rf"troubled {message}.* for node 3 given \[\d, \d\]") as found:
        run(VALUES, score=scores.Compiled(troubled, np.full((1, 1), trouble)), seed=1)
    assert isinstance(found.value.__cause__, cause)


def test_what_numba_cannot_compile_is_named():
    def unknown(node, parents, content):
        return node.unheard_of

    with pytest.raises(ParnidagError, match="Numba cannot compile the score unknown") as found:
        parnidag.exact(VALUES, score=scores.Compiled(unknown, GRAM))
    assert isinstance(found.value.__cause__, numba.core.errors.NumbaError)


@pytest.mark.parametrize(
    ("sampler", "message"), [(None, "no graph is possible"), (samplers.PARNI(), "that chain 0 starts from is -inf")]
)
def test_a_score_that_rules_everything_out_is_refused(sampler, message):
    nothing = scores.PythonScore(lambda node, parents: -math.inf)
    with pytest.raises(ParnidagError, match=message):
        parnidag.sample(VALUES, score=nothing, sampler=sampler, draws=20, progress=False)


def test_search_spaces_raise_what_the_function_raised():
    def boom(node, parents):
        raise OutOfPatienceError("enough")

    with pytest.raises(ParnidagError, match="boom raised OutOfPatienceError"):
        parnidag.space.iterative(np.random.default_rng(1).normal(size=(30, 14)), score=scores.PythonScore(boom))


@pytest.mark.parametrize("score", [PYTHON, COMPILED])
def test_interventions_are_refused_rather_than_ignored(score):
    with pytest.raises(ParnidagError, match="not told of interventions"):
        parnidag.exact(Data(VALUES, interventions={0: "X1"}), score=score)


@pytest.mark.parametrize("answer", [math.nan, math.inf, "many", None])
def test_answers_that_are_no_score_are_refused(answer):
    with pytest.raises(ParnidagError, match="it must return a number, or −inf"):
        parnidag.exact(VALUES, score=scores.PythonScore(lambda node, parents: answer))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scores.PythonScore(3), "function must be callable"),
        (lambda: scores.Compiled("f", GRAM), "function must be callable"),
        (lambda: scores.Compiled(straight, GRAM[0]), "content must be a 2-D array"),
        (lambda: scores.Compiled(straight, "abc"), "content must be a 2-D array"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ParnidagError, match=message):
        make()


@pytest.mark.parametrize("score", [PYTHON, COMPILED], ids=["python", "compiled"])
def test_other_processes_find_their_own_address(score):
    settings = {"score": score, "draws": 50, "chains": 2, "seed": 3, "progress": False}
    here = parnidag.sample(VALUES, **settings)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = parnidag.sample(VALUES, executor=pool, **settings)
    assert_same_run(here, there)
    assert here.settings["score"]["function"] == score.name


def test_both_work_without_a_compiler():
    done = subprocess.run(
        [sys.executable, "-c", PLAIN],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


PLAIN = """
import test_custom_scores as here
from parnidag import EdgePrior
from parnidag.data import Data
from parnidag.target import Target
for score in (here.PYTHON, here.COMPILED):
    target = Target.build(Data(here.VALUES), score, EdgePrior(h=0.5))
    assert abs(target.local(2, [0, 4]) - here.by_hand(2, (0, 4))) < 1e-9
"""
