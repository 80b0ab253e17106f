"""What ArviZ and plain xarray make of a result; for ArviZ 0.23 and 1.x, whichever is installed."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest
import xarray as xr
from test_posterior import CHAINS, DRAWS, simulated

from parnidag.results.convergence import bulk_ess, rank_rhat
from parnidag.results.posterior import Posterior

pytestmark = pytest.mark.filterwarnings("ignore")  # 0.23 announces 1.0


@pytest.fixture(scope="module")
def arviz():
    return pytest.importorskip("arviz")


@pytest.fixture(scope="module")
def posterior():
    return Posterior(simulated()[0])


def test_arviz_finds_our_figures(arviz, posterior):
    """The draws as ArviZ sees them: its R-hat and ESS of the log posterior are ours."""
    draws = posterior.to_datatree()["sample_stats"]["lp"]
    assert draws.shape == (CHAINS, DRAWS)
    rhat = float(np.asarray(arviz.rhat(draws.to_dataset(name="lp"))["lp"]))
    ess = float(np.asarray(arviz.ess(draws.to_dataset(name="lp"))["lp"]))
    assert rhat == pytest.approx(rank_rhat(posterior.log_posterior), rel=1e-6)
    assert ess == pytest.approx(bulk_ess(posterior.log_posterior), rel=0.02)  # its sums end a lag earlier or later


def test_arviz_summarises_the_edges(arviz, posterior):
    data = posterior.to_datatree()
    table = arviz.summary(data, var_names=["edge_count"], round_to=None if arviz.__version__ < "1" else "none")
    sizes = np.diff(posterior.record.graph_offsets)[posterior.record.graph_index]
    assert float(table["mean"].iloc[0]) == pytest.approx(sizes.mean(), abs=0.01)


def test_arviz_reads_the_draws_as_they_are(arviz, posterior):
    """The one line that README shows, with whichever ArviZ is installed."""
    table = arviz.summary(posterior.to_datatree(), round_to="none")
    assert {"present[A → B]", "edge_count"} <= set(table.index)
    share = posterior.graphs[:, :, 0, 1].mean()
    assert float(table["mean"]["present[A → B]"]) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(("version", "is_tree"), [("0.23.4", False), ("1.0.0", True), (None, True)])
def test_the_form_follows_the_installed_arviz(arviz, posterior, version, is_tree, monkeypatch):
    """A tree where ArviZ is new or absent; a group of either form has the same draws."""

    def installed(name):
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    if not hasattr(arviz, "InferenceData") and not is_tree:
        pytest.skip("the installed ArviZ has no InferenceData")
    monkeypatch.setattr(importlib.metadata, "version", installed)
    given = posterior.to_datatree()
    assert isinstance(given, xr.DataTree) == is_tree
    assert (
        given["posterior"]["edge_count"].values == np.diff(posterior.record.graph_offsets)[posterior.record.graph_index]
    ).all()
    assert given.attrs["inference_library"] == "parnidag"


def test_saved_files_open_with_plain_xarray(posterior, tmp_path):
    path = posterior.save(tmp_path / "result.nc")
    with xr.open_dataset(path) as dataset:
        assert dataset["log_posterior"].dims == ("chain", "draw")
        assert (dataset["log_posterior"].values == posterior.log_posterior).all()
        assert list(dataset["node"].values) == posterior.nodes
