"""Published networks: the same from a folder as from a package's file, and a clear word where there is neither."""

from __future__ import annotations

import importlib.machinery
import json

import numpy as np
import pytest

from benchmarks import networks
from benchmarks.networks import MissingData, known_network, protein

NODES = ("7", "12", "NA")
"""Names as in arth150, which look like numbers, and one that tables read as a missing value."""
WEIGHTS = np.array([[0, 0, 0.5], [2.0, 0, -3.0], [0, 0, 0]])
INTERCEPTS, DEVIATIONS = np.array([1.0, 10.0, -4.0]), np.array([0.5, 2.0, 3.0])
SACHS = ("praf", "pmek", "plcg", "PIP2", "PIP3", "p44/42", "pakts473", "PKA", "PKC", "P38", "pjnk")


@pytest.fixture
def folder(tmp_path):
    """The network as CSV files."""
    lines = [f"{node},{a},{s}" for node, a, s in zip(NODES, INTERCEPTS, DEVIATIONS, strict=True)]
    (tmp_path / "magic_niab_nodes.csv").write_text("\n".join(["node,intercept,sd", *lines]))
    (tmp_path / "magic_niab_edges.csv").write_text("from,to,coef\n7,NA,0.5\n12,7,2.0\n12,NA,-3.0\n")
    return tmp_path


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Packages that are files in a folder: to import one would fail, since there is no code in them."""
    root = tmp_path / "site-packages"

    def find(name):
        if not (root / name).exists():
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(root / name)]
        return spec

    monkeypatch.setattr(networks, "find_spec", find)
    return root


def put_pgmpy(packages):
    local = {
        node: {
            "coefficients": {"(Intercept)": [INTERCEPTS[j]]}
            | {NODES[i]: [w] for i, w in enumerate(WEIGHTS[:, j]) if w},
            "variance": [DEVIATIONS[j] ** 2],
            "parents": [NODES[i] for i in np.flatnonzero(WEIGHTS[:, j])],
        }
        for j, node in enumerate(NODES)
    }
    models = packages / "pgmpy" / networks.MODELS
    models.mkdir(parents=True)
    (models / "magic-niab.json").write_text(json.dumps({"nodes": NODES, "arcs": [], "cpds": local}))


def put_cdt(packages):
    file = packages / "cdt" / networks.PROTEIN
    file.parent.mkdir(parents=True)
    values = np.random.default_rng(1).uniform(1, 9, (networks.PROTEIN_ROWS + 5, len(SACHS))).round(3)
    file.write_text("\n".join([",".join(SACHS), *(",".join(map(str, row)) for row in values)]))
    return values


def check(network):
    assert (network.name, network.nodes) == ("magic-niab", NODES)
    assert np.array_equal(network.weights, WEIGHTS)
    assert np.array_equal(network.adjacency, WEIGHTS != 0)
    assert np.array_equal(network.intercepts, INTERCEPTS)
    assert np.allclose(network.deviations, DEVIATIONS, rtol=1e-15)


def test_from_a_folder_and_from_pgmpy(folder, packages):
    check(known_network("magic-niab", folder))
    put_pgmpy(packages)
    check(known_network("magic-niab"))
    check(known_network("magic-niab", packages))  # a folder without it is no reason to give up


def test_draws_follow_the_equations(folder):
    """Moments of 10⁵ rows against those of the equations, within 5 standard errors; seeds make the rows."""
    network, rows = known_network("magic-niab", folder), 100_000
    values = network.draw(rows, seed=3)
    spread = np.linalg.inv(np.eye(3) - WEIGHTS)
    mean, covariance = INTERCEPTS @ spread, spread.T @ np.diag(DEVIATIONS**2) @ spread
    variances = np.diag(covariance)
    assert (abs(values.mean(axis=0) - mean) < 5 * np.sqrt(variances / rows)).all()
    errors = np.sqrt((np.outer(variances, variances) + covariance**2) / rows)  # of a Gaussian sample's covariances
    assert (abs(np.cov(values.T) - covariance) < 5 * errors).all()
    transposed = np.linalg.inv(np.eye(3) - WEIGHTS.T)  # the twin that reads child × parent
    assert (abs(np.cov(values.T) - transposed.T @ np.diag(DEVIATIONS**2) @ transposed) > 5 * errors).any()
    assert np.array_equal(values[:5], network.draw(rows, seed=3)[:5])


def test_protein_data_from_a_folder_and_from_cdt(tmp_path, packages):
    values = put_cdt(packages)
    assert protein().names == SACHS
    assert np.array_equal(protein().values, values[: networks.PROTEIN_ROWS])
    rows = "\n".join(",".join(map(str, row)) for row in values[:7])
    (tmp_path / "sachs.csv").write_text(f"{','.join(SACHS)}\n{rows}\n")
    assert np.array_equal(protein(tmp_path).values, values[:7])


def test_what_is_missing_is_said(tmp_path, packages):
    with pytest.raises(MissingData, match=r"pip install pgmpy.* or give --data a folder with magic_niab_nodes"):
        known_network("magic-niab", tmp_path)
    with pytest.raises(MissingData, match=r"pip install --no-deps cdt.* or give --data a folder with sachs\.csv"):
        protein()
    put_pgmpy(packages)
    with pytest.raises(MissingData, match="the installed pgmpy has no"):
        known_network("ecoli70")
    (tmp_path / "arth150_nodes.csv").write_text("node,intercept,sd\na,0,1\n")
    with pytest.raises(MissingData, match=r"has arth150_nodes\.csv but no arth150_edges\.csv"):
        known_network("arth150", tmp_path)


@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [("ecoli70", 46, 70), ("magic-niab", 44, 66), ("magic-irri", 64, 102), ("arth150", 107, 150)],
)
def test_the_networks_themselves(name, nodes, edges):
    try:
        network = known_network(name)
    except MissingData as missing:
        pytest.skip(str(missing))
    assert (len(network.nodes), network.adjacency.sum()) == (nodes, edges)
    assert np.isfinite(network.draw(10, seed=1)).all()
