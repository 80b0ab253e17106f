"""The layered graph: arrows from parents to children, as wide and dark as they are probable, names in their boxes."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from plotting import boxes_of, exact, names_of, sampled, texts_of, upper

import parnidag
from parnidag import plots


def nodes_and_arrows(ax, nodes):
    """Where each named box is, and each arrow with the names of the boxes at its two ends."""
    places = {text.get_text(): np.array(text.get_position()) for text in ax.texts if text.get_text() in nodes}
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == len(places) == len(nodes)
    sizes = {}
    for box in boxes:
        middle = np.array([box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2])
        name = min(places, key=lambda one: np.hypot(*(places[one] - middle)))
        sizes[name] = np.array([box.get_width(), box.get_height()])

    def at(point):
        """The one box that a point touches."""
        (name,) = [name for name, size in sizes.items() if (np.abs(point - places[name]) <= size / 2 + 0.03).all()]
        return name

    arrows = {}
    for patch in ax.patches:
        if isinstance(patch, FancyArrowPatch):
            way = patch._path_original.vertices
            arrows[at(way[0]), at(way[-1])] = patch
    return places, arrows


@pytest.mark.parametrize("threshold", [0.1, 0.5])
def test_arrows_go_from_parents_to_children_above_the_threshold(threshold):
    matrix = upper(12, share=0.35)
    ax = plots.graph(exact(matrix), threshold=threshold)
    places, arrows = nodes_and_arrows(ax, names_of(12))
    assert set(arrows) == {(f"V{i + 1}", f"V{j + 1}") for i, j in np.argwhere(matrix >= threshold)}
    assert all(patch.get_arrowstyle().fillend and not patch.get_arrowstyle().fillbegin for patch in arrows.values())
    # without cycles all edges point down, and down is where y grows
    assert all(places[parent][1] < places[child][1] for parent, child in arrows)
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert ax.get_title() == f"{len(arrows)} edges, probability ≥ {threshold:g}"


def test_width_and_darkness_grow_with_probability():
    matrix = np.zeros((6, 6))
    matrix[0, 1:] = 0.15, 0.3, 0.5, 0.8, 1.0
    _, arrows = nodes_and_arrows(plots.graph(exact(matrix)), names_of(6))
    ordered = [arrows["V1", f"V{k}"] for k in range(2, 7)]
    widths = [patch.get_linewidth() for patch in ordered]
    assert all(a < b for a, b in pairwise(widths))
    light = [np.dot(patch.get_edgecolor()[:3], [0.21, 0.72, 0.07]) for patch in ordered]
    assert all(a > b for a, b in pairwise(light))
    assert light[0] < 0.85  # the least probable still shows on white


def test_pairs_of_open_direction_have_the_colour_of_the_report():
    style = (Path(parnidag.__file__).parent / "report" / "style.css").read_text(encoding="utf-8")
    purple = re.search(r"--unsettled: (#\w+)", style)[1]
    matrix = np.array([[0, 0.55, 0.3], [0.45, 0, 0.85], [0.3, 0, 0]])
    ax = plots.graph(exact(matrix))
    _, arrows = nodes_and_arrows(ax, names_of(3))
    assert {edge for edge, patch in arrows.items() if to_hex(patch.get_edgecolor()) == purple} == {
        ("V1", "V2"),
        ("V2", "V1"),
    }
    assert "direction open" in ax.get_title()


def test_open_edges_carry_their_probability_and_sure_ones_do_not():
    matrix = np.zeros((4, 4))
    matrix[0, 1:] = 0.25, 0.89, 0.95
    assert sorted(set(texts_of(plots.graph(exact(matrix)))) - set(names_of(4))) == ["0.25", "0.89"]
    many = np.triu(np.full((12, 12), 0.5), 1)
    assert set(texts_of(plots.graph(exact(many)))) == set(names_of(12))


def test_both_directions_are_two_arrows_side_by_side():
    matrix = np.array([[0, 0.55, 0], [0.45, 0, 1], [0, 0, 0]])
    _, arrows = nodes_and_arrows(plots.graph(exact(matrix)), names_of(3))
    assert set(arrows) == {("V1", "V2"), ("V2", "V1"), ("V2", "V3")}
    there, back = (arrows[edge]._path_original.vertices for edge in (("V1", "V2"), ("V2", "V1")))
    middles = [way[len(way) // 2] for way in (there, back)]
    assert np.hypot(*(middles[0] - middles[1])) > 0.15


def test_a_cycle_is_drawn_with_every_arrow_the_right_way():
    matrix = np.zeros((3, 3))
    matrix[0, 1], matrix[1, 2], matrix[2, 0] = 0.9, 0.8, 0.3
    places, arrows = nodes_and_arrows(plots.graph(exact(matrix)), names_of(3))
    assert set(arrows) == {("V1", "V2"), ("V2", "V3"), ("V3", "V1")}
    assert places["V1"][1] < places["V2"][1] < places["V3"][1]  # the least probable runs upwards


def test_long_edges_bend_around_what_is_between():
    matrix = np.zeros((4, 4))
    matrix[0, 1] = matrix[1, 2] = matrix[2, 3] = matrix[0, 3] = 1.0
    places, arrows = nodes_and_arrows(plots.graph(exact(matrix)), names_of(4))
    way = arrows["V1", "V4"].get_path().interpolated(30).vertices
    for name in ("V2", "V3"):
        assert np.abs(arrows["V1", "V4"]._path_original.vertices - places[name]).max(axis=1).min() > 0.2
    assert len(way) > 4


@pytest.mark.parametrize("n", [2, 20, 100])
@pytest.mark.parametrize("given", [False, True])
def test_names_are_in_their_boxes_at_any_size(n, given):
    nodes = tuple(f"Wide_name_{k}" for k in range(n))
    posterior = exact(upper(n, share=3 / n), nodes)
    ax = plots.graph(posterior, ax=plt.subplots(figsize=(4, 3), dpi=300)[1] if given else None)
    words = [text for text in ax.texts if text.get_text() in nodes]
    assert len(words) == n
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    for text, word in zip(words, boxes_of(ax, words), strict=True):
        place = np.array(text.get_position())
        box = min(boxes, key=lambda one: np.hypot(one.get_x() + one.get_width() / 2 - place[0], one.get_y() - place[1]))
        frame = box.get_window_extent()
        slack = 2 * ax.figure.dpi / 72
        assert word.width <= frame.width + slack
        assert word.height <= frame.height + slack
        assert abs(word.x0 + word.x1 - frame.x0 - frame.x1) / 2 <= slack
        assert abs(word.y0 + word.y1 - frame.y0 - frame.y1) / 2 <= 2 * slack
    if not given:
        assert min(text.get_fontsize() for text in words) >= 7


def test_a_graph_without_edges_shows_its_nodes():
    ax = plots.graph(exact(np.zeros((3, 3))))
    _, arrows = nodes_and_arrows(ax, names_of(3))
    assert arrows == {}
    assert ax.get_title() == "0 edges, probability ≥ 0.1"


def test_sizes_settle_in_one_drawing():
    ax = plots.graph(sampled(upper(6, share=0.5)[None]))
    ax.figure.canvas.draw()
    ax.figure.canvas.draw()
    assert not ax.figure.stale
