"""Values that are learned along with the graph: the joint law, its chains, its sums, and what a result says of them."""

import numpy as np
import pytest
from dags import all_dags
from judging import SMALLEST_P, assert_same_run, chain_probabilities, smallest_p_value
from scipy.special import betaln, gammaln, logsumexp

import parnidag
from parnidag import Beta, Data, EdgePrior, plots, samplers, scores
from parnidag.errors import ParnidagError
from parnidag.exact_solver import over_levels
from parnidag.graphs.equivalence import cpdag
from parnidag.kernels.dag import ABSENT
from parnidag.results.learned import learned_in_words
from parnidag.results.prior_marginals import with_beta_odds
from parnidag.samplers import base, levels
from parnidag.samplers.base import new_chain
from parnidag.scores.base import Score
from parnidag.target import Target

VALUES = parnidag.simulate(nodes=4, edges=4, rows=30, seed=3).values
GRAPHS = all_dags(4)
G, H = (0.02, 0.3, 50.0), Beta(2.0, 7.0)
MODELS = {
    "score": (scores.Gaussian(g=(0.1, 30.0)), EdgePrior(h=0.3)),
    "odds": (scores.Gaussian(g=1.0), EdgePrior(h=H)),
    "both": (scores.Gaussian(g=G), EdgePrior(h=H)),
    "both, constrained": (scores.Gaussian(g=G), EdgePrior(h=H, required=[(0, 1)], forbidden=[(2, 0)], max_parents=2)),
}
OFTEN = 200
"""Iterations between draws of the values, in short chains."""
SAMPLERS = {
    "ADR": samplers.ADR(),
    "MC3": samplers.MC3(),
    "REV": samplers.REV(probability=0.3),
    "PARNI": samplers.PARNI(),
    "printed": samplers.PARNI(kernel="printed", moves="paper"),
    "regroup": samplers.PARNI(moves={"adr": 0.5, "regroup": 0.5}),
    "reversal": samplers.PARNI(moves={"adr": 0.5, "edge_reversal": 0.5}),
    "ladder": samplers.PARNI(rungs=3),
    "partition": samplers.PartitionMCMC(),
}


def build(name):
    score, prior = MODELS[name]
    return with_beta_odds(Target.build(Data(VALUES), score, prior))


def joint_law(name):
    """By enumeration, from plain targets and the Beta function: graphs that are possible, and their probabilities.

    With odds that are learned a graph of E free edges weighs ∫ p(h) odds^E / Z(h) dh, of the sum Z over all graphs.
    """
    score, prior = MODELS[name]
    plain = [scores.Gaussian(g=g) for g in score.g] if isinstance(score.g, tuple) else [score]
    learns_odds = isinstance(prior.h, Beta)
    without = {"required": prior.required, "forbidden": prior.forbidden, "max_parents": prior.max_parents}
    flat = EdgePrior(h=0.5 if learns_odds else prior.h, **without)
    targets = [Target.build(Data(VALUES), one, flat) for one in plain]
    status = targets[0].problem.status
    possible = [g for g in GRAPHS if (g <= (status > 0)).all() and (g >= (status == 2)).all()]
    possible = np.array([g for g in possible if g.sum(axis=0).max() <= targets[0].max_parents])
    logs = np.array([[target.log_posterior(graph) for graph in possible] for target in targets])
    if learns_odds:
        logs = logs + log_weight_of(possible, (status == 2).sum(), prior.h)
    together = logsumexp(logs, axis=0) - np.log(len(plain))
    return possible, np.exp(together - logsumexp(together)), logsumexp(together)


def log_weight_of(graphs, required, h):
    """By quadrature over odds, much finer than that of the library."""
    odds = np.linspace(-14.0, 8.0, 4001)
    density = h.a * odds - (h.a + h.b) * np.logaddexp(0.0, odds) - betaln(h.a, h.b)
    edges = graphs.sum(axis=(1, 2)) - required
    terms = odds * edges[:, None]
    return logsumexp(density + terms - logsumexp(terms, axis=0), axis=1) + np.log(odds[1] - odds[0])


def edges_of(name):
    graphs, law, _ = joint_law(name)
    return np.tensordot(law, graphs.astype(float), axes=1)


# ── sums over all graphs ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", MODELS)
def test_exact_sums_are_those_over_graphs_and_values(name):
    score, prior = MODELS[name]
    found = parnidag.exact(VALUES, score=score, prior=prior, draws=3000, seed=1)
    truth, (_, _, evidence) = edges_of(name), joint_law(name)
    # h has finitely many values, so that sums over it are quadratures; what is negligible is left out
    np.testing.assert_allclose(found.edge_probabilities, truth, atol=2e-4)
    assert found.log_evidence == pytest.approx(evidence, abs=1e-3)
    assert abs(found.graphs[0].mean(axis=0) - truth).max() < 5 * 0.5 / np.sqrt(3000)
    shares = found.learned.groupby("parameter")[["prior", "probability"]].sum().to_numpy()
    np.testing.assert_allclose(shares, 1.0, atol=1e-9)


def test_sums_over_orders_only_say_where_to_look(monkeypatch):
    score, prior = MODELS["both"]
    before = parnidag.exact(VALUES, score=score, prior=prior).edge_probabilities
    monkeypatch.setattr(over_levels, "MANY_NODES", 2)
    np.testing.assert_allclose(parnidag.exact(VALUES, score=score, prior=prior).edge_probabilities, before, atol=1e-5)


def test_odds_whose_weights_are_not_divided_by_what_all_graphs_weigh_are_noticed(monkeypatch):
    monkeypatch.setattr("parnidag.api.with_beta_odds", lambda target: target)
    score, prior = MODELS["odds"]
    found = parnidag.exact(VALUES, score=score, prior=prior).edge_probabilities
    assert abs(found.to_numpy() - edges_of("odds")).max() > 5e-3


def test_weights_of_values_that_are_forgotten_are_noticed(monkeypatch):
    honest = over_levels._mattering
    monkeypatch.setattr(over_levels, "_mattering", lambda logs, *least: honest(logs, *least)[:1])
    score, prior = MODELS["both"]
    found = parnidag.exact(VALUES, score=score, prior=prior).edge_probabilities
    assert abs(found.to_numpy() - edges_of("both")).max() > 1e-3


def test_graphs_have_their_probability_with_the_values_averaged_over():
    """Whatever level a graph was drawn at: by enumeration, and by the shares of draws."""
    score, prior = MODELS["both"]
    found = parnidag.exact(VALUES, score=score, prior=prior, draws=20_000, seed=1)
    graphs, law, _ = joint_law("both")
    truth = {graph.tobytes(): probability for graph, probability in zip(graphs, law, strict=True)}
    for graph in found.top_graphs(8):
        probability = truth[graph.adjacency.tobytes()]
        assert graph.probability == pytest.approx(probability, rel=2e-3)
        share = (found.graphs[0] == graph.adjacency).all(axis=(1, 2)).mean()
        assert abs(share - probability) < 5 * np.sqrt(probability / 20_000)
    best = max(truth, key=truth.__getitem__)
    assert found.best.adjacency.tobytes() == best
    assert found.top_graphs(1)[0].log_posterior == found.best.log_posterior


def test_scores_of_many_graphs_are_those_of_each():
    for target in (build("both, constrained"), build("both")):
        graphs = joint_law("both, constrained")[0]
        codes = [np.flatnonzero(graph) for graph in graphs]
        offsets = np.append(0, np.cumsum([code.size for code in codes]))
        expected = [target.log_posterior(graph) for graph in graphs]
        np.testing.assert_allclose(target.log_posteriors(offsets, np.concatenate(codes)), expected, rtol=1e-12)


def test_every_value_of_a_list_counts():
    values = (1, 1e-7, 3, 1e-8, 0.3)
    assert scores.Gaussian(g=values).g == tuple(sorted(values))
    learned = parnidag.exact(VALUES, score=scores.Gaussian(g=values), prior=EdgePrior(h=0.3)).learned
    plain = [parnidag.exact(VALUES, score=scores.Gaussian(g=g), prior=EdgePrior(h=0.3)) for g in sorted(values)]
    logs = np.array([one.log_evidence for one in plain])
    np.testing.assert_allclose(learned["probability"], np.exp(logs - logsumexp(logs)), atol=1e-5)


def test_values_behind_a_valley_are_found_from_a_list_alone():
    """Two good values far apart, each with the best odds at another end."""
    rows, odds = np.array([0.0, -60.0, -60.0, -200.0, -1.0]), np.arange(9)
    logs = rows[:, None] - 3.0 * np.abs(odds - np.array([1, 4, 4, 4, 8])[:, None])
    found = over_levels._explored(lambda place: logs[place], [(k, 4) for k in range(5)], logs.shape)
    assert {(0, 1), (4, 8)} <= set(over_levels._mattering(found))
    found = over_levels._explored(lambda place: logs[place], [(2, 4)], logs.shape)
    assert (4, 8) not in over_levels._mattering(found)


# ── chains ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", ["both", "both, constrained"])
def test_chains_have_the_joint_law(name, sampler, monkeypatch):
    monkeypatch.setattr(base, "FEWEST_STEPS", OFTEN)
    monkeypatch.setattr(base, "STEPS_A_NODE", 1)
    found = short_run(name, SAMPLERS[sampler])
    assert smallest_p_value(chain_probabilities(found), edges_of(name)) > SMALLEST_P


def short_run(name, sampler):
    score, prior = MODELS[name]
    options = {"draws": 200, "thin": 100, "chains": 20, "seed": 5, "progress": False}
    return parnidag.sample(VALUES, score=score, prior=prior, sampler=sampler, **options)


def swapped_score(target, chain):
    """Weigh values by their prior alone."""
    return np.zeros(target.levels.count)


def test_values_drawn_from_their_prior_are_noticed(monkeypatch):
    monkeypatch.setattr(base, "FEWEST_STEPS", OFTEN)
    monkeypatch.setattr(base, "STEPS_A_NODE", 1)
    monkeypatch.setattr(levels, "log_posterior_by_level", swapped_score)
    found = short_run("score", samplers.ADR())
    assert smallest_p_value(chain_probabilities(found), edges_of("score")) < 1e-6


@pytest.mark.parametrize("sampler", ["regroup", "reversal"])
def test_moves_that_forget_how_far_their_tables_lag_behind_are_noticed(sampler, monkeypatch):
    monkeypatch.setattr(base, "FEWEST_STEPS", OFTEN)
    monkeypatch.setattr(base, "STEPS_A_NODE", 1)
    monkeypatch.setattr(Target, "shift_between", lambda self, level, other: 0.0)
    found = short_run("odds", SAMPLERS[sampler])
    assert smallest_p_value(chain_probabilities(found), edges_of("odds")) < 1e-5


@pytest.mark.parametrize("name", MODELS)
def test_the_law_of_the_values_given_a_graph(name):
    target = build(name)
    for graph in joint_law(name)[0][::60]:
        chain = new_chain(target, graph, 1, 0)
        expected = [target.at(level).log_posterior(graph) for level in range(target.levels.count)]
        np.testing.assert_allclose(levels.log_posterior_by_level(target, chain), expected, atol=1e-9)


def test_a_chain_at_another_value_is_like_one_that_began_there():
    target = build("both")
    sampler = samplers.PARNI()
    graph = joint_law("both")[0][200]
    moved = new_chain(target, graph, 1, 0)
    level = (target.level + 17) % target.levels.count
    levels.take_level(sampler, target, moved, level)
    began = new_chain(target.at(level), graph, 1, 0)
    np.testing.assert_array_equal(moved.graph.local, began.graph.local)
    assert moved.log_posterior == began.log_posterior == pytest.approx(target.at(level).log_posterior(graph))
    assert (moved.graph.position != ABSENT).tolist() == graph.tolist()


@pytest.mark.parametrize("sampler", ["ADR", "PARNI", "ladder", "partition"])
def test_runs_go_on_from_checkpoints_and_in_processes_to_the_bit(sampler, tmp_path):
    score, prior = MODELS["both"]
    options = {"score": score, "prior": prior, "sampler": SAMPLERS[sampler], "thin": 500, "chains": 2, "seed": 3}
    options |= {"tune": 1000, "progress": False}
    whole = parnidag.sample(VALUES, draws=40, **options)
    path = tmp_path / "run.ckpt"
    parnidag.sample(VALUES, draws=15, checkpoint=path, **options)
    longer = parnidag.sample(VALUES, draws=40, checkpoint=path, **options)
    assert (longer.log_posterior == whole.log_posterior).all()
    assert (longer.graphs == whole.graphs).all()
    assert_same_run(whole, parnidag.sample(VALUES, draws=40, executor=parnidag.processes(1), **options))


# ── the default ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("n", "h"), [(2, None), (3, None), (4, None), (3, Beta(1.0, 3.0))])
def test_the_default_gives_equivalent_graphs_the_same_posterior(n, h):
    """No direction that data cannot tell: all graphs of up to four nodes, by class; learned odds change nothing."""
    assert parnidag.exact(VALUES).settings["score"]["alpha_w"] == "learn"
    assert largest_spread(n, scores.BGe(alpha_w="learn"), EdgePrior(h=h)) < 1e-8
    assert n == 2 or largest_spread(n, scores.Gaussian(), EdgePrior()) > 0.01  # which the paper's score does not do


def largest_spread(n, score, prior):
    """By how much the log posterior differs at most between graphs of a class."""
    target, classes = Target.build(Data(VALUES[:, :n]), score, prior), {}
    count = 1 if target.levels is None else target.levels.count
    for graph in all_dags(n):
        log = logsumexp([target.at(level).log_posterior(graph) for level in range(count)])
        classes.setdefault(cpdag(graph).tobytes(), []).append(log)
    return max(np.ptp(logs) for logs in classes.values())


def test_the_default_does_not_mind_units_or_the_order_of_columns():
    before = parnidag.exact(VALUES).edge_probabilities.to_numpy()
    scaled = parnidag.exact(VALUES * [1e-6, 1.0, 1e5, 3.0] + 7.0).edge_probabilities.to_numpy()
    np.testing.assert_allclose(scaled, before, atol=1e-6)
    order = [2, 0, 3, 1]
    turned = parnidag.exact(VALUES[:, order]).edge_probabilities.to_numpy()
    np.testing.assert_allclose(turned, before[np.ix_(order, order)], atol=1e-9)


def test_the_paper_is_one_word():
    found = parnidag.exact(VALUES, score="paper")
    given = parnidag.exact(VALUES, score=scores.Gaussian(g=10), prior=EdgePrior(h=0.25))
    np.testing.assert_array_equal(found.edge_probabilities, given.edge_probabilities)
    by_prior = parnidag.exact(VALUES, score="gaussian", prior="paper")
    np.testing.assert_array_equal(by_prior.edge_probabilities, given.edge_probabilities)
    kept = parnidag.exact(VALUES, score="paper", prior=EdgePrior(h=0.1))
    assert kept.settings["prior"]["h"] == 0.1
    assert found.learned is None
    assert found.edge_density is None


# ── the values ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_bge_with_a_learned_scale_has_the_documented_values():
    score = scores.BGe(alpha_w="learn")
    assert [one.alpha_w for one in score.variants(4)] == [5 + 2.0**k for k in range(-2, 7)]
    assert scores.BGe().variants(4) == [scores.BGe()]


@pytest.mark.parametrize(
    "score",
    [scores.Gaussian(g="learn"), scores.GPrior(g="learn"), scores.BGe(alpha_w="learn"), scores.BGe(alpha_w=(6, 9))],
)
def test_every_score_that_learns_agrees_with_its_plain_sums(score):
    found = parnidag.exact(VALUES, score=score, prior=EdgePrior(h=0.3))
    plain = [parnidag.exact(VALUES, score=one, prior=EdgePrior(h=0.3)) for one in score.variants(4)]
    logs = np.array([one.log_evidence for one in plain])
    weights = np.exp(logs - logsumexp(logs))
    expected = sum(w * one.edge_probabilities.to_numpy() for w, one in zip(weights, plain, strict=True))
    np.testing.assert_allclose(found.edge_probabilities, expected, atol=1e-5)
    np.testing.assert_allclose(found.learned["probability"], weights, atol=1e-5)
    assert found.log_evidence == pytest.approx(logsumexp(logs) - np.log(len(plain)), abs=1e-5)


def test_bdeu_learns_its_sample_size():
    classes = Data((VALUES > 0).astype(int), kind="discrete")
    found = parnidag.exact(classes, score=scores.BDeu(ess="learn"))
    assert found.learned["parameter"].unique().tolist() == ["ess"]
    assert found.learned["probability"].sum() == pytest.approx(1.0)


def test_the_density_is_a_posterior_beside_its_prior():
    posterior = parnidag.exact(VALUES, score="gaussian", prior=EdgePrior(h=H))
    density = posterior.edge_density
    assert list(density.columns) == ["value", "prior", "probability"]
    assert (np.diff(density["value"]) > 0).all()
    expected = np.tensordot(np.exp(log_weight_of(GRAPHS, 0, H)), GRAPHS.astype(float), axes=1)
    np.testing.assert_allclose(posterior.prior_probabilities, expected, atol=5e-3)
    np.testing.assert_allclose(density["prior"], np.exp(H.grid()[1]), atol=1e-9)  # Beta, whatever graphs there are


def test_beta_is_a_density_over_log_odds():
    h, logs = Beta(2.0, 7.0).grid()
    mean = (h * np.exp(logs)).sum()
    assert mean == pytest.approx(2 / 9, abs=1e-4)
    assert np.exp(logs).sum() == pytest.approx(1.0)
    tail = np.exp(gammaln(9.0) - gammaln(2.0) - gammaln(7.0))
    assert np.exp(logs).max() == pytest.approx(
        (tail * h**2 * (1 - h) ** 7).max() * np.diff(np.log(h / (1 - h)))[0], rel=1e-3
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: scores.Gaussian(g="guess"), 'or "learn", got .guess'),
        (lambda: scores.Gaussian(g=(1.0,)), "two values or more"),
        (lambda: scores.BDeu(ess=(1.0, 1.0)), "all different"),
        (lambda: scores.BGe(alpha_w=(6.0, -1.0)), "alpha_w must be a positive number"),
        (lambda: Beta(0.0, 1.0), "a must be"),
        (lambda: Beta(1.0, "x"), "b must be"),
        (lambda: parnidag.exact(VALUES, prior="mine"), "prior must be"),
        (
            lambda: parnidag.sample(
                np.eye(20)[:, :17], sampler=samplers.Tempered(), prior=EdgePrior(h=Beta(1, 5)), progress=False
            ),
            "Tempered learns edge odds up to 16 nodes, got 17",
        ),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(ParnidagError, match=words):
        make()


def test_scores_without_a_field_to_learn_stay_alone():
    for score in (scores.BIC(), scores.Spline()):
        assert isinstance(score, Score)
        assert score.variants(5) == [score]


def test_what_was_learned_is_drawn_and_said():
    posterior = parnidag.exact(VALUES, score=scores.Gaussian(g=G), prior=EdgePrior(h=H))
    ax = plots.learned(posterior, parameter="h")
    heights = [bar.get_height() for bar in ax.patches]
    density = posterior.edge_density
    noticed = np.flatnonzero(density[["prior", "probability"]].max(axis=1) > 1e-3)
    density = density.iloc[noticed.min() : noticed.max() + 1]
    np.testing.assert_allclose(heights, density["probability"])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), density["prior"])
    assert plots.learned(posterior).get_xlabel() == "g"
    assert learned_in_words(posterior.settings).startswith("g 0.3 (0.98), 50 (0.02); h 0.")
    with pytest.raises(ParnidagError, match="parameter must be one of 'g', 'h'"):
        plots.learned(posterior, parameter="ess")
    with pytest.raises(ParnidagError, match="nothing was learned"):
        plots.learned(parnidag.exact(VALUES, score="paper"))


def test_chains_say_what_they_learned(tmp_path):
    posterior = parnidag.sample(VALUES, sampler=samplers.ADR(), draws=60, thin=500, seed=1, progress=False)
    truth = parnidag.exact(VALUES).learned
    np.testing.assert_allclose(posterior.learned["probability"], truth["probability"], atol=0.15)
    loaded = parnidag.load(posterior.save(tmp_path / "found.nc")).learned
    np.testing.assert_array_equal(loaded["probability"], posterior.learned["probability"])
    assert "learned" in posterior.report(tmp_path / "report.html").read_text()
