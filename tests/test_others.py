"""Other people's settings: data as they describe them, distances as they count them, and a rule that does not peek."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from dags import all_dags

import parnidag
from benchmarks import published_svi_dag as published
from benchmarks.bif import NETWORKS, class_network, read_bif
from benchmarks.class_learners import our_best, ours
from benchmarks.harness.study import Request
from benchmarks.harness.task import Outcome
from benchmarks.networks import MissingData
from benchmarks.studies.discrete import GIVEN_UP, LARGER, in_time
from benchmarks.svi_dag import (
    CASES,
    class_members,
    coverage,
    draw_case,
    f1_score,
    of_classes,
    of_graphs,
    read_case,
    roc_area,
    suited_score,
)
from benchmarks.wide_tables import HEADINGS, dropped_edges, line_of
from parnidag import scores
from parnidag.graphs.equivalence import cpdag
from parnidag.metrics import shd_cpdag
from parnidag.target import Target

# ── the rule for the score ────────────────────────────────────────────────────────────────────────────────────────────


def test_curved_tables_are_seen():
    chosen = [suited_score(draw_case(CASES["case3"], 1000, seed)[0]) for seed in range(10)]
    assert chosen == [scores.Spline()] * 10
    assert suited_score(draw_case(CASES["case2"], 1000, 1)[0]) is None
    assert suited_score(np.random.default_rng(0).normal(size=(5, 4))) is None, "too few rows to see a bend"


# ── data ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_straight_data_have_the_weights_and_the_noise_of_the_description():
    values, graph = draw_case(CASES["case2"], 20_000, 3)
    assert graph.sum() == 40
    for j in range(25):
        parents = np.flatnonzero(graph[:, j])
        weights = np.linalg.lstsq(values[:, parents], values[:, j], rcond=None)[0]
        assert ((np.abs(weights) > 0.26) & (np.abs(weights) < 0.74)).all()
        assert np.var(values[:, j] - values[:, parents] @ weights) == pytest.approx(1, abs=0.05)


def test_a_folder_is_read_and_a_missing_file_named(tmp_path):
    values, graph = draw_case(CASES["case3"], 20, 1)
    np.savetxt(tmp_path / "case3-n20-r0.csv", values, delimiter=",")
    np.savetxt(tmp_path / "case3-n20-r0-graph.csv", graph, fmt="%d", delimiter=",")
    read, truth = read_case(str(tmp_path), "case3", 20, 0)
    np.testing.assert_allclose(read, values)
    assert (truth == graph).all()
    with pytest.raises(MissingData, match=r"case3-n20-r1\.csv"):
        read_case(str(tmp_path), "case3", 20, 1)


# ── distances ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def small():
    """The exact posterior of four nodes, with its draws."""
    made = parnidag.simulate(nodes=4, edges=3, rows=40, seed=2)
    return parnidag.exact(made.values, draws=500, seed=1), made.adjacency


def test_expected_distances_are_means_over_draws(small):
    found, truth = small
    draws = found.graphs.reshape(-1, 4, 4)
    classes, graphs = of_classes(found, truth), of_graphs(found, truth)
    assert classes["shd"] == pytest.approx(np.mean([shd_cpdag(one, truth) for one in draws]))
    assert graphs["f1"] == pytest.approx(np.mean([f1_score(one, truth) for one in draws]))
    exact = np.abs(found.edge_probabilities.to_numpy() - truth).sum()
    assert graphs["shd"] == pytest.approx(exact), "missing and superfluous edges, so a turned one counts twice"


def test_the_area_is_the_share_of_pairs_in_the_right_order():
    rng = np.random.default_rng(4)
    probabilities, true = rng.integers(0, 5, 40) / 4, rng.random(40) < 0.4
    pairs = itertools.product(probabilities[true], probabilities[~true])
    assert roc_area(probabilities, true) == pytest.approx(np.mean([(a > b) + (a == b) / 2 for a, b in pairs]))


def test_a_class_has_the_graphs_of_the_same_cpdag():
    everything = all_dags(4)
    for graph in everything[::37]:
        same = {np.asarray(one, bool).tobytes() for one in everything if (cpdag(one) == cpdag(graph)).all()}
        assert class_members(np.asarray(graph, bool)) == same


def test_coverage_is_a_share_of_the_class(small):
    found, _ = small
    likely = max(found.top_graphs(1), key=lambda one: one.probability).adjacency
    drawn = {one.tobytes() for one in found.graphs.reshape(-1, 4, 4)}
    members = class_members(likely)
    assert coverage(found, likely) == len(drawn & members) / len(members) > 0


def test_published_figures_name_the_closest_method():
    assert published.closest("case2", 1000)[0] == "SVI-DAG"
    assert published.closest("case3", 10_000)[0] == "DDS"
    assert published.closest("case2", 10) is None
    assert {len(found) for figures in published.FIGURES.values() for found in figures.values()} == {3}


# ── networks of classes ───────────────────────────────────────────────────────────────────────────────────────────────

BIF = """network unknown {
}
variable rain { type discrete [ 2 ] { yes, no }; }
variable hose {
  type discrete [ 3 ] { off, low, high };
}
variable wet { type discrete [ 2 ] { yes, no }; }
probability ( rain ) { table 0.2, 0.8; }
probability ( hose ) { table 0.5, 0.3, 0.2; }
probability ( wet | rain, hose ) {
  (yes, off) 0.9, 0.1;
  (no, off) 0.0, 1.0;
  (yes, low) 0.95, 0.05;
  (no, low) 0.5, 0.5;
  (yes, high) 1.0, 0.0;
  (no, high) 0.8, 0.2;
}
"""


def test_a_network_of_classes_is_read_and_drawn_from():
    found = read_bif("lawn", BIF)
    assert (found.nodes, found.levels, found.parents) == (("rain", "hose", "wet"), (2, 3, 2), ((), (), (0, 1)))
    np.testing.assert_allclose(found.tables[2][:, 0], [0.9, 0.95, 1.0, 0.0, 0.5, 0.8])
    values = found.draw(40_000, 1)
    for rain, hose in itertools.product(range(2), range(3)):
        case = (values[:, 0] == rain) & (values[:, 1] == hose)
        expected = found.tables[2][3 * rain + hose, 0]
        assert (values[case, 2] == 0).mean() == pytest.approx(expected, abs=4.5 * np.sqrt(0.25 / case.sum()))


def test_a_table_that_does_not_add_up_is_refused():
    with pytest.raises(ValueError, match="lawn, wet"):
        read_bif("lawn", BIF.replace("(no, low) 0.5, 0.5;\n", ""))


@pytest.mark.parametrize(("name", "nodes", "edges"), [("asia", 8, 8), ("alarm", 37, 46), ("insurance", 27, 52)])
def test_networks_of_pgmpy_have_their_known_sizes(name, nodes, edges):
    pytest.importorskip("pgmpy")
    found = class_network(name)
    assert (len(found.nodes), found.adjacency.sum()) == (nodes, edges)
    assert name in NETWORKS


def test_who_takes_longer_than_allowed_has_no_figures():
    """The time that is added for imports and compiling is not there to be used."""
    quick, slow = (Outcome(figures={"cpu_seconds": seconds}) for seconds in (29.0, 31.0))
    assert in_time(quick, 30.0) is quick
    assert in_time(slow, 30.0).status == "stopped"
    assert not in_time(slow, 30.0).figures


def test_who_has_no_hope_is_not_asked():
    """The table says what was not measured, and whose chains do not say that they have converged."""
    request, size = Request("standard", methods=("parnidag", *GIVEN_UP)), LARGER.sizes["standard"]
    asked = LARGER.tasks(request, size)
    for method, first in GIVEN_UP.items():
        tried = {(task.labels["network"], task.labels["rows"]) for task in asked if task.labels["method"] == method}
        assert tried == {*itertools.product(size.networks[: size.networks.index(first)], size.rows)}
    known = {"nodes": 3, "edges": 2, "shd": 1, "cpdag_shd": 1, "cpu_seconds": 2.0, "converged": "False"}
    found = [(task, Outcome(figures=known if task.labels["method"] == "parnidag" else {})) for task in asked]
    found = [(task, one if one.figures else Outcome("stopped")) for task, one in found]
    report = LARGER.report(request, size, found).markdown
    lines = [[cell.strip() for cell in line.split("|")[2:-1]] for line in report.splitlines() if line.startswith("| ")]
    assert "† does not say" in report
    for cells in (["no time", "no time"], ["not measured", "no time"], ["not measured", "not measured"]):
        assert ["500", "1.0 †", *cells] in lines


def test_mode_and_best_graph_agree_where_the_data_are_clear():
    rng = np.random.default_rng(2)
    values = rng.integers(0, 2, (400, 3))
    values[:, 2] = (values[:, 0] | values[:, 1]) ^ (rng.random(400) < 0.1)
    collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], bool)
    for learner in (ours, our_best):
        assert (learner(values, 1, 50)[0] == collider).all()


def test_score_drops_edges_whose_tables_are_too_wide_for_the_rows():
    """Two clear causes are kept; one of twenty levels that changes hardly anything is not."""
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.integers(0, size, 300) for size in (2, 2, 20, 2)])
    values[:, 3] = (values[:, 0] | values[:, 1]) ^ (rng.random(300) < 0.05)
    truth = np.zeros((4, 4), bool)
    truth[:3, 3] = True
    data = parnidag.Data(values, kind="discrete")
    assert dropped_edges(Target.build(data, scores.BDeu(), parnidag.EdgePrior()), truth) == 1
    line = dict(zip(HEADINGS[1:], line_of(data, truth, "1"), strict=True))
    assert (line["true edges"], line["the score drops"], line["of graphs"]) == ("3", "1", "1")
    assert float(line["truth below best"]) > 5
