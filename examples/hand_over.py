"""What others do with a graph that was found here: scikit-learn, pgmpy and DoWhy, each as far as it is installed.

python examples/hand_over.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import parnidag
from parnidag.simulation import example_network

TARGET = "soil_moisture"
COLUMNS = ["altitude", "rain", "irrigation", "temperature", TARGET, "earthworms"]


def columns_around(posterior: parnidag.Posterior, target: str) -> list[str]:
    """Return causes, effects and other causes of effects of the likeliest graph: what predicts the target."""
    graph = posterior.consensus_graph()
    children = graph.children(target)
    around = {*graph.parents(target), *children, *(parent for child in children for parent in graph.parents(child))}
    return sorted(around - {target})


def predict(table: pd.DataFrame, folder: Path) -> None:
    """A step in a pipeline of scikit-learn that keeps the columns around the target, found from the training rows."""
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    class ColumnsAround(TransformerMixin, BaseEstimator):
        def __init__(self, seed: int = 1) -> None:
            self.seed = seed

        def fit(self, X: pd.DataFrame, y: pd.Series) -> ColumnsAround:  # noqa: N803 - as they call it
            posterior = parnidag.sample(X.assign(**{y.name: y}), draws=200, seed=self.seed, progress=False)
            self.columns_ = columns_around(posterior, y.name)
            return self

        def transform(self, X: pd.DataFrame) -> pd.DataFrame:  # noqa: N803
            return X[self.columns_]

    pipeline = make_pipeline(ColumnsAround(), LinearRegression())
    X, y = table.drop(columns=TARGET), table[TARGET]  # noqa: N806
    fit = cross_val_score(pipeline, X, y, cv=3).mean()
    kept = pipeline.fit(X, y)[0].columns_
    pd.DataFrame({"kept": kept}).to_csv(folder / "kept.csv", index=False)
    print(f"scikit-learn: {len(kept)} of {X.shape[1]} columns explain {fit:.2f} of {TARGET}: {', '.join(kept)}")


def query(table: pd.DataFrame) -> None:
    """Fit pgmpy's tables of probabilities to the likeliest graph of classes, and ask them."""
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork

    classes = pd.DataFrame({name: np.where(column > column.median(), "high", "low") for name, column in table.items()})
    posterior = parnidag.sample(classes, draws=200, seed=1, progress=False)
    network = DiscreteBayesianNetwork(posterior.consensus_graph().to_pgmpy()).fit(classes)
    answer = VariableElimination(network).query([TARGET], evidence={"rain": "high"}, show_progress=False)
    print(f"pgmpy: P({TARGET} high | rain high) = {answer.get_value(**{TARGET: 'high'}):.2f}")


def adjust(table: pd.DataFrame) -> None:
    """Let DoWhy adjust by the likeliest graph, beside our mean over all graphs."""
    import dowhy

    posterior = parnidag.sample(table, draws=500, seed=1, progress=False)
    graph = posterior.consensus_graph().to_dowhy()
    model = dowhy.CausalModel(table, treatment="rain", outcome=TARGET, graph=graph)
    estimand = model.identify_effect(proceed_when_unidentifiable=True)
    theirs = model.estimate_effect(estimand, method_name="backdoor.linear_regression").value
    ours = posterior.effects()
    mean, spread = ours.mean.loc["rain", TARGET], ours.sd.loc["rain", TARGET]
    print(f"DoWhy: one unit more of rain adds {theirs:.3f} by one graph; over all graphs {mean:.3f} ± {spread:.3f}")


def main(folder: Path) -> None:
    """Hand the garden over to whoever is there."""
    garden = example_network()
    table = pd.DataFrame(garden.values, columns=garden.names)[COLUMNS]
    for name, step in (
        ("scikit-learn", lambda: predict(table, folder)),
        ("pgmpy", lambda: query(table)),
        ("dowhy", lambda: adjust(table)),
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                step()
        except ImportError as missing:
            print(f"{name} is not installed ({missing})")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="parnidag-")))
