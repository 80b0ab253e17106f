"""What ArviZ and plain xarray make of a result; for ArviZ 0.23 and 1.x, whichever is installed."""

from __future__ import annotations

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
    draws = posterior.to_datatree()["sample_stats"].to_dataset()["lp"]
    assert draws.shape == (CHAINS, DRAWS)
    rhat = float(np.asarray(arviz.rhat(draws.to_dataset(name="lp"))["lp"]))
    ess = float(np.asarray(arviz.ess(draws.to_dataset(name="lp"))["lp"]))
    assert rhat == pytest.approx(rank_rhat(posterior.log_posterior), rel=1e-6)
    assert ess == pytest.approx(bulk_ess(posterior.log_posterior), rel=0.02)  # its sums end a lag earlier or later


def test_arviz_summarises_the_edges(arviz, posterior):
    data = posterior.to_datatree()["posterior"].to_dataset()
    table = arviz.summary(data, var_names=["edge_count"], round_to=None if arviz.__version__ < "1" else "none")
    sizes = np.diff(posterior.record.graph_offsets)[posterior.record.graph_index]
    assert float(table["mean"].iloc[0]) == pytest.approx(sizes.mean(), abs=0.01)


def test_the_tree_goes_to_arviz_as_a_whole(arviz, posterior):
    """As the docstring of `to_datatree` says: ArviZ 1.x works on the tree itself, 0.23 after `from_datatree`."""
    tree = posterior.to_datatree()
    if arviz.__version__ >= "1":
        table = arviz.summary(tree)
    else:
        read = arviz.from_datatree(tree)
        assert {"posterior", "sample_stats", "edges"} <= set(read.groups())
        table = arviz.summary(read, round_to="none")
        with pytest.raises(TypeError):  # when this works, the docstring can be shorter
            arviz.summary(tree)
    assert {"present[A → B]", "edge_count"} <= set(table.index)
    share = posterior.graphs[:, :, 0, 1].mean()
    assert float(table["mean"]["present[A → B]"]) == pytest.approx(share, abs=0.01)


def test_saved_files_open_with_plain_xarray(posterior, tmp_path):
    path = posterior.save(tmp_path / "result.nc")
    with xr.open_dataset(path) as dataset:
        assert dataset["log_posterior"].dims == ("chain", "draw")
        assert (dataset["log_posterior"].values == posterior.log_posterior).all()
        assert list(dataset["node"].values) == posterior.nodes
