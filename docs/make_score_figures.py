"""Draw the figures of docs/which-score.md: two columns of data, and what each score makes of them.

python docs/make_score_figures.py        (needs matplotlib)
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import parnidag
from parnidag import Data, scores

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#999999"
ANSWERS = ("x → y", "y → x", "no edge")
plt.rcParams |= {
    "svg.hashsalt": "parnidag",
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def answers(data: object, score: object) -> tuple[float, float, float]:
    """Return the posterior of the three graphs on two nodes."""
    found = parnidag.exact(data, score=score).edge_probabilities.to_numpy()
    return found[0, 1], found[1, 0], 1.0 - found.sum()


def draw(name: str, title: str, cases: dict[str, tuple[float, float, float]], scatter: object) -> None:
    """Write one figure: the data on the left, the answers on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.9), width_ratios=(1, 1.5), layout="constrained")
    scatter(left)
    left.set(xlabel="x", ylabel="y", title=title)
    height = 0.8 / len(cases)
    for k, ((label, values), colour) in enumerate(zip(cases.items(), (BLUE, ORANGE, GREY), strict=False)):
        place = np.arange(3) + (k - (len(cases) - 1) / 2) * height
        bars = right.barh(place, values, height * 0.9, color=colour, label=label)
        right.bar_label(bars, [f"{value:.2f}" for value in values], padding=3)
    right.set(xlim=(0, 1.15), yticks=range(3), yticklabels=ANSWERS, xlabel="posterior probability")
    right.invert_yaxis()
    figure.legend(loc="outside lower right", ncols=len(cases), frameon=False)
    figure.savefig(Path(__file__).parent / f"which-score-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def points(values: np.ndarray, colour: str = BLUE, **options: object) -> object:
    """Return what draws a scatter."""
    return lambda axes: axes.scatter(*values.T, s=8, color=colour, alpha=0.6, linewidths=0, **options)


def linear() -> None:
    """Linear relations, where observation cannot tell the direction."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    values = np.column_stack([x, 0.7 * x + rng.normal(size=200)])
    cases = {"Gaussian()": scores.Gaussian(), "BGe(standardise=True)": scores.BGe(standardise=True)}
    draw("linear", "y = 0.7 x + noise", {name: answers(values, one) for name, one in cases.items()}, points(values))


def curved() -> None:
    """A curve that correlation does not see."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=200)
    values = np.column_stack([x, x**2 + 0.5 * rng.normal(size=200)])
    cases = {"Gaussian()": scores.Gaussian(), "Spline()": scores.Spline()}
    draw("curved", "y = x² + noise", {name: answers(values, one) for name, one in cases.items()}, points(values))


def discrete() -> None:
    """Classes: three levels each, the middle one of x makes the last of y likely."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 3, 300)
    chances = np.array([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.5, 0.3, 0.2]])
    y = np.array([rng.choice(3, p=chances[level]) for level in x])
    values = np.column_stack([x, y])
    numbers = Data(values.astype(float), kind="continuous")
    cases = {"Gaussian()": answers(numbers, scores.Gaussian()), "BDeu()": answers(Data(values), scores.BDeu())}

    def counts(axes: object) -> None:
        table = np.zeros((3, 3))
        np.add.at(table, (y, x), 1)
        axes.imshow(table, cmap="Blues", origin="lower")
        for (row, column), count in np.ndenumerate(table):
            axes.text(column, row, int(count), ha="center", va="center", color="white" if count > 45 else "black")
        axes.set(xticks=range(3), yticks=range(3))

    draw("discrete", "counts of two factors", cases, counts)


def interventions() -> None:
    """The linear data again, but x was set in half of the rows."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(size=100), rng.uniform(-3, 3, 100)])
    values = np.column_stack([x, 0.7 * x + rng.normal(size=200)])
    mask = np.zeros(values.shape, bool)
    mask[100:, 0] = True
    score = scores.BGe()
    cases = {
        "100 rows, observed": answers(values[:100], score),
        "and 100 rows with x set": answers(Data(values, interventions=mask), score),
    }

    def both(axes: object) -> None:
        points(values[:100])(axes)
        points(values[100:], ORANGE, marker="^")(axes)

    draw("interventions", "x set where orange", cases, both)


if __name__ == "__main__":
    for figure in (linear, curved, discrete, interventions):
        figure()
