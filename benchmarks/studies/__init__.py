"""Every study by its name."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.study import Study
from benchmarks.studies.agreement import AGREEMENT
from benchmarks.studies.calibrated import CALIBRATED
from benchmarks.studies.discrete import DISCRETE, LARGER
from benchmarks.studies.fifty import FIFTY
from benchmarks.studies.laws import LAWS
from benchmarks.studies.others import OTHERS
from benchmarks.studies.priors import PRIORS
from benchmarks.studies.scaling import SCALING
from benchmarks.studies.skeletons import SKELETONS
from benchmarks.studies.speed import SPEED
from benchmarks.studies.table1 import TABLE1
from benchmarks.studies.table2 import TABLE2
from benchmarks.studies.table3 import TABLE3
from benchmarks.studies.verdicts import VERDICTS

STUDIES: dict[str, Study[Any]] = {
    study.name: study
    for study in (
        TABLE1,
        TABLE2,
        TABLE3,
        PRIORS,
        LAWS,
        SKELETONS,
        FIFTY,
        SCALING,
        SPEED,
        VERDICTS,
        AGREEMENT,
        CALIBRATED,
        OTHERS,
        DISCRETE,
        LARGER,
    )
}
