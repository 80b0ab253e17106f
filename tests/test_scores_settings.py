"""Scores by name and word, their settings, and what is refused."""

from __future__ import annotations

import math
import pickle

import pytest
from test_scores import GAUSSIAN, ROWS, example, target_of

import parnidag
from parnidag import ParnidagError, scores
from parnidag.data import Data
from parnidag.scores.by_name import choose_score, named_score


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scores.GPrior(g=0), "g must be a positive number"),
        (lambda: scores.BGe(alpha_mu=-1), "alpha_mu must be a positive number"),
        (lambda: scores.BGe(alpha_w="7"), "alpha_w must be a positive number"),
        (lambda: scores.BGe(mean=["a"]), "mean must be"),
        (lambda: scores.BGe(standardise=1), "standardise must be"),
        (lambda: scores.Spline(df=1), "df must be a whole number from 2 to 20"),
        (lambda: scores.Spline(df=2.5), "df must be a whole number"),
        (lambda: scores.Spline(df=math.inf), "df must be a whole number"),
        (lambda: scores.BGe(mean=math.nan), "mean must be"),
        (lambda: scores.BGe(alpha_mu=1e300), "alpha_mu must be a positive number"),
        (lambda: scores.Spline(g_curve=math.nan), "g_curve must be a positive number"),
        (lambda: target_of(ROWS, scores.BGe(alpha_w=4)), "alpha_w must be more than n . 1 = 4"),
        (lambda: target_of(ROWS, scores.BGe(mean=[1.0, 2.0])), "mean must be one number or 3 of them"),
        (lambda: named_score("bayes"), "score must be"),
        (lambda: named_score("bge", {"g": "3"}), "has no option 'g'; its options: alpha_mu, alpha_w, mean"),
        (lambda: named_score("bic", {"g": "3"}), "its options: none"),
        (lambda: named_score("bge", {"alpha_w": "much"}), "'much' is neither a number"),
        (lambda: parnidag.sample(ROWS, score="nothing"), "score must be"),
        (lambda: parnidag.exact(ROWS, score=scores.BGe), "call it: BGe"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ParnidagError, match=message):
        make()


def test_names_and_words():
    data = Data(ROWS)
    assert choose_score(None, data) == choose_score("auto", data) == scores.Gaussian()
    assert choose_score("Spline", data) == scores.Spline()
    assert named_score("bge", {"mean": "1,2,3", "alpha_w": "none"}) == scores.BGe(mean=(1.0, 2.0, 3.0))
    assert named_score("spline", {"df": "5"}) == scores.Spline(df=5)


@pytest.mark.parametrize("score", [*GAUSSIAN.values()])
def test_settings_are_kept_and_travel(score):
    described = score.describe()
    assert described["name"] == type(score).__name__
    assert pickle.loads(pickle.dumps(score)) == score
    posterior = parnidag.exact(ROWS, score=score)
    assert posterior.settings["score"] == described


def test_spaces_without_tests_refuse_their_level():
    values = example(n=14)
    with pytest.raises(ParnidagError, match=r"alpha=0\.1 is for the tests of PC"):
        parnidag.space.iterative(values, score="spline", alpha=0.1)
    with pytest.raises(ParnidagError, match="know nothing of interventions"):
        parnidag.space.pc(Data(values, interventions={0: "X1"}))
