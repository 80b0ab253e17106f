"""What all plots have in common: where they draw, what they leave alone, and words that fit and stay words."""

import io
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import rgb_to_hsv, to_rgb
from matplotlib.text import Text
from plotting import HOSTILE, clipped_texts, exact, four_chains, sampled, upper

from parnidag import plots
from parnidag.errors import ParnidagError
from parnidag.plots._axes import PALETTE, PROBABILITY_MAP, colour_of, line_of, marker_of, short

OF_TIME = ("impulse", "lags", "rolled", "slices")  # tests/test_panel_results.py
OF_FEW = ("learned", "effects", "effect_matrix", "dose_response", *OF_TIME)  # test_learned.py, test_effects_shown.py
NAMES = tuple(name for name in plots.__all__ if name not in OF_FEW)


@pytest.fixture(scope="module")
def results():
    shares = {2: 1.0, 5: 0.6, 20: 0.2, 100: 0.03}
    return {n: sampled(four_chains(upper(n, share=share))) for n, share in shares.items()}


def drawn(name, posterior, **options):
    """Call a plot with what it needs beside the result."""
    n = len(posterior.nodes)
    if name in ("calibration", "roc", "shd_threshold"):
        truth = np.zeros((n, n), bool)
        truth[0, n - 1] = True
        return getattr(plots, name)(posterior, truth, **options)
    if name == "compare":
        return plots.compare(posterior, posterior, **options)
    return getattr(plots, name)(posterior, **options)


@pytest.mark.parametrize("n", [2, 5, 20, 100])
@pytest.mark.parametrize("name", NAMES)
def test_each_plot_makes_one_figure_in_which_all_words_fit(results, name, n):
    before = dict(mpl.rcParams)
    ax = drawn(name, results[n])
    assert isinstance(ax, Axes)
    assert len(plt.get_fignums()) == 1
    assert ax.get_title()
    if name != "graph":
        assert ax.get_xlabel()
        assert ax.get_ylabel()
    assert clipped_texts(ax.figure) == []
    assert max(ax.figure.get_size_inches()) <= 26
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", NAMES)
def test_each_plot_draws_on_given_axes_and_nowhere_else(results, name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a plot was shown"))
    figure, (left, right) = plt.subplots(1, 2)
    numbers = plt.get_fignums()
    assert drawn(name, results[5], ax=right) is right
    assert plt.get_fignums() == numbers
    assert not left.has_data()
    assert right.figure is figure
    figure.canvas.draw()


ONE_CHAIN = {"agreement": "one only"}
NEED_DRAWS = ("edge_count",)
NEED_CHAINS = ("trace", "rank", "running", "agreement")
EXACT = dict.fromkeys(NEED_DRAWS, "stored draws") | {
    name: rf"plots\.{name} .* an exact result has none" for name in NEED_CHAINS
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("result_of", "refusals"), [(exact, EXACT), (lambda matrix: sampled(matrix[None]), ONE_CHAIN)])
def test_exact_results_and_single_chains_are_drawn_unless_more_is_needed(name, result_of, refusals):
    posterior = result_of(upper(4, share=0.8))
    if name in refusals:
        with pytest.raises(ParnidagError, match=rf"^posterior: .*{refusals[name]}"):
            drawn(name, posterior)
    else:
        drawn(name, posterior).figure.canvas.draw()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_result_and_no_axes_is_refused(results, name):
    argument = "a" if name == "compare" else "posterior"
    arguments = ([[0.5]], [[0.5]]) if name in ("calibration", "compare", "roc", "shd_threshold") else ([[0.5]],)
    with pytest.raises(ParnidagError, match=rf"^{argument}: must be a Posterior"):
        getattr(plots, name)(*arguments)
    with pytest.raises(ParnidagError, match=r"^ax: must be a matplotlib Axes"):
        drawn(name, results[5], ax=plt.figure())


@pytest.mark.parametrize(
    ("name", "option", "values", "message"),
    [
        ("rank", "bins", [1, 2.5, True, "20"], "bins must be a whole number, 2 or more"),
        ("running", "edges", ["best"], "edges must be one of 'worst', 'uncertain', got 'best'"),
        ("running", "edges", [[]], "edges: must be a list"),
        ("running", "edges", [[("V1", "V9")]], "edges: there is no node 'V9'"),
        ("running", "edges", [[("V1",)], ["V1"]], "edges: each must be a .parent, child. pair"),
        ("running", "edges", [[("V1", "V1")]], "edges: an edge joins two nodes"),
        ("running", "count", [0], "count must be a whole number, 1 or more"),
        ("heatmap", "order", ["random"], "order must be one of 'causal', 'given', 'cluster', got 'random'"),
        ("prior_posterior", "min_probability", [2], "min_probability must be a number from 0 to 1"),
        ("prior_posterior", "edges", [[("V1", "V7")]], "edges: there is no node 'V7'"),
        ("compare", "names", ["ab", ("a",), (1, 2)], "names: must be two texts"),
        ("graph", "threshold", [0, -0.1, 1.5, "0.5", True, None], "threshold must be a number above 0 and at most 1"),
        ("roc", "kind", ["pr"], "kind must be one of 'roc', 'precision_recall', got 'pr'"),
        ("shd_threshold", "reversal", [2], "reversal must be one of 'once', 'twice', got 2"),
    ],
)
def test_wrong_options_are_refused(results, name, option, values, message):
    for value in values:
        with pytest.raises(ParnidagError, match=f"^{message}"):
            drawn(name, results[5], **{option: value})


@pytest.mark.parametrize("name", NAMES)
def test_names_are_never_read_as_formulae(name):
    chains = four_chains(upper(7, share=0.8))
    chains[0, 0, 1:3] = 0.9, 0.8
    chains[1, 0, 1:3] = 0.1, 0.1
    posterior = sampled(chains, nodes=HOSTILE)
    ax = plots.running(posterior, [("_hidden_", "$x$")]) if name == "running" else drawn(name, posterior)
    ax.figure.canvas.draw()
    with_names = [text for text in ax.figure.findobj(Text) if any(short(name) in text.get_text() for name in HOSTILE)]
    assert all(not text.get_parse_math() and not text.get_usetex() for text in with_names)
    if name == "running":  # a legend leaves out what begins with an underscore
        assert ax.get_legend().get_texts()[0].get_text().strip() == "_hidden_ → $x$"
    if name in ("agreement", "evidence", "graph", "heatmap", "prior_posterior", "running"):
        assert any("$x$" in text.get_text() for text in with_names)
    assert clipped_texts(ax.figure) == []


def test_formulae_are_off_even_where_latex_is_on(results):
    with mpl.rc_context({"text.usetex": True}):
        ax = plots.heatmap(results[5])
        assert not any(text.get_usetex() for text in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.title))


def test_the_package_and_its_results_do_not_bring_in_matplotlib():
    code = "import sys, parnidag; parnidag.Posterior; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["agreement", "compare", "evidence"])
def test_many_points_do_not_make_large_files(name):
    ax = drawn(name, sampled(np.tile(np.triu(np.full((60, 60), 0.4), 1), (2, 1, 1)), draws=5))
    file = io.BytesIO()
    ax.figure.savefig(file, format="svg")
    assert len(file.getvalue()) < 300_000


def test_names_are_words_in_files(results):
    file = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        plots.graph(results[20]).figure.savefig(file, format="svg")
    assert all(f">V{k}<" in file.getvalue().decode() for k in range(1, 21))


# ── colours ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def lightness(colours):
    """CIE L* of sRGB colours."""
    values = np.atleast_2d(colours)[:, :3]
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    return 116 * np.cbrt(luminance) - 16


def test_probabilities_darken_evenly_so_that_grey_prints_keep_their_order():
    steps = np.diff(lightness(PROBABILITY_MAP(np.linspace(0, 1, 41))[1:]))
    assert (steps < 0).all()
    assert steps.min() / steps.max() < 2.2
    # the twin: a rainbow goes up and down
    rainbow = np.diff(lightness(mpl.colormaps["jet"](np.linspace(0, 1, 41))[1:]))
    assert not (rainbow < 0).all()


def test_the_first_chains_differ_in_colour_and_in_style():
    assert len(set(PALETTE)) == 7
    hues = [rgb_to_hsv(to_rgb(colour))[0] for colour in PALETTE[:4]]
    assert min(abs(a - b) for k, a in enumerate(hues) for b in hues[:k]) > 0.05
    assert len({(colour_of(k), str(line_of(k))) for k in range(28)}) == 28
    assert len({(colour_of(k), marker_of(k)) for k in range(56)}) == 56
