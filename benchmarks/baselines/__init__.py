"""Other people's methods, each behind one small adapter, so that studies can run them on the same data.

PC, GES and both LiNGAMs are causal-learn's, NOTEARS is gcastle's, DiBS its authors' own. The libraries are imported
only when a method runs. DECI has no adapter: its library does not install on the Pythons that this project supports.
"""

from benchmarks.baselines.base import Baseline as Baseline
from benchmarks.baselines.base import Estimate as Estimate
from benchmarks.baselines.base import MissingLibrary as MissingLibrary
from benchmarks.baselines.base import Package as Package
from benchmarks.baselines.causal_learn import DIRECT_LINGAM, GES, LINGAM, PC
from benchmarks.baselines.dibs import DIBS, DIBS_PLUS
from benchmarks.baselines.notears import NOTEARS

BASELINES: dict[str, Baseline] = {
    baseline.name: baseline for baseline in (PC, GES, LINGAM, DIRECT_LINGAM, NOTEARS, DIBS, DIBS_PLUS)
}
"""Every method by the name that tables show."""
