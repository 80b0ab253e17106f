"""Every edge in a row: its probability, how well that is known, and what the data say beyond the prior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parnidag.results.convergence import (
    bulk_ess,
    careful_mcse,
    chain_probabilities,
    edge_ess,
    edge_mcse,
    edge_rhat,
    merge_rounding,
)
from parnidag.results.record import RunRecord, same_start

Floats = NDArray[np.float64]

RESTRICTED = ("OrderMCMC", "PartitionMCMC", "IterativeMCMC")
"""Samplers that never leave their search space, for results that do not say it themselves."""

CERTAIN = 0.05
"""Edges less probable than this, or more probable than the rest to 1, are nearly certain."""

ROUNDING_OF_SUMS = 1e-9
"""How far exact probabilities are known: logs of a million, and alternating sums, lose some of sixteen digits."""

BAYES_FACTOR_LIMIT = 10.0
"""From this Bayes factor on an edge counts as included, up to its inverse as excluded: "strong" since Jeffreys."""


def edge_table(record: RunRecord, probabilities: Floats, min_probability: float) -> pd.DataFrame:
    n = len(record.nodes)
    flat = probabilities.ravel()
    listed = np.flatnonzero((flat >= min_probability) & ~np.eye(n, dtype=bool).ravel())
    listed = listed[np.argsort(-flat[listed], kind="stable")]
    names = np.array(record.nodes, dtype=object)
    table: dict[str, Any] = {"parent": names[listed // n], "child": names[listed % n], "probability": flat[listed]}
    for name, values in edge_figures(record, flat[record.edge_codes]).items():
        everywhere = np.full(n * n, np.nan)
        everywhere[record.edge_codes] = values
        table[name] = with_gaps(everywhere[listed])
    factors, classes = edge_evidence(record, probabilities)
    table["prior"] = with_gaps(prior_of(record)[listed])
    table["bayes_factor"] = with_gaps(factors[listed])
    table["evidence"] = classes[listed]
    return pd.DataFrame(table)


def edge_evidence(record: RunRecord, probabilities: Floats) -> tuple[Floats, NDArray[np.object_]]:
    """Return the Bayes factor of every edge and the class of evidence that it is in, both by code."""
    flat, prior = probabilities.ravel(), prior_of(record)
    factors = bayes_factors(resolved(record, flat), prior)
    unasked = ~considered_edges(record).ravel() & (flat == 0) & (prior > 0)
    classes = np.where(unasked, "not considered", evidence_classes(factors, prior))
    return np.where(unasked, np.nan, factors), classes


def prior_of(record: RunRecord) -> Floats:
    """Return the prior marginal of every edge by code; NaN if the result does not know it."""
    if record.prior_probabilities is None:
        return np.full(len(record.nodes) ** 2, np.nan)
    return record.prior_probabilities.ravel()


def resolved(record: RunRecord, probabilities: Floats) -> Floats:
    """Keep probabilities away from 0 and 1 by half a visit: a run cannot tell certain from nearly so.

    Exact ones that differ from 0 or 1 by rounding alone are taken for these.
    """
    if record.exact_probabilities is not None:
        nearly = np.minimum(probabilities, 1.0 - probabilities) < ROUNDING_OF_SUMS
        return np.where(nearly, np.round(probabilities), probabilities)
    half = 0.5 / independent_visits(record)
    return np.clip(probabilities, half, 1.0 - half)


def independent_visits(record: RunRecord) -> float:
    """Return how many graphs, seen independently of one another, the whole run is worth; at least 1.

    An edge that never changes, or flickers for an instant, tells nothing of how often the run came back to the question
    whether it belongs there. Edges that are there for part of the time do: the slowest of them has so many effective
    draws, and what stood still cannot have had more. So do the log posterior and, on a ladder of temperatures, the
    walkers that came back from its end. If nothing moved there were as many visits as different starts.
    """
    counts, lengths = record.batch_counts, record.batch_iterations
    chains = chain_probabilities(counts, lengths)
    if not len(chains):
        return 1.0
    means = chains.mean(axis=0)
    open_ = (means > CERTAIN) & (means < 1.0 - CERTAIN)
    slowest = edge_ess(means[open_], careful_mcse(counts[:, :, open_], lengths), int(lengths.sum()))
    draws = merge_rounding(record.log_posterior)
    figures = [*slowest, bulk_ess(draws), float(np.sum(record.statistics.get("round_trips", np.nan)))]
    visits = np.fmin.reduce(figures, initial=np.nan)
    if np.isnan(visits):
        visits = 1 if same_start(record) is not None else len(chains)
    return float(max(min(visits, lengths.sum()), 1.0))


def considered_edges(record: RunRecord) -> NDArray[np.bool_]:
    """Say which edges the sampler could have found: those of the search space, if its law is restricted to one."""
    n = len(record.nodes)
    space = record.settings.get("space")
    name = dict(record.settings.get("sampler") or {}).get("name")
    restricted = record.settings.get("restricted", name in RESTRICTED)
    if not space or not restricted or space.get("plus_one"):
        return np.ones((n, n), bool)
    from parnidag.space.search_space import SearchSpace  # only here: it brings in the compiler

    return SearchSpace.read(record.nodes, space).considered


def edge_figures(record: RunRecord, probabilities: Floats) -> dict[str, Floats]:
    """Monte-Carlo error, ESS and R-hat of every edge seen; NaN where there is none to report."""
    if record.exact_probabilities is not None:
        return {name: np.full(len(record.edge_codes), np.nan) for name in ("mcse", "ess", "rhat")}
    counts, lengths = record.batch_counts, record.batch_iterations
    mcse = edge_mcse(counts, lengths)
    # Of an edge that only flickers batches are the more alike, the less they know.
    certain = (probabilities < CERTAIN) | (probabilities > 1.0 - CERTAIN)
    least = np.sqrt(probabilities * (1.0 - probabilities) / independent_visits(record))
    mcse = np.where(certain & ~np.isnan(mcse), np.maximum(mcse, least), mcse)
    ess = edge_ess(probabilities, mcse, int(lengths.sum()))
    return {"mcse": mcse, "ess": ess, "rhat": edge_rhat(counts, lengths)}


def bayes_factors(probabilities: Floats, prior: Floats) -> Floats:
    """Return how many times the data raise the odds of each edge above those of its prior marginal.

    Infinite for an edge in every graph, 0 for one in none. NaN where the prior is unknown, or leaves no choice.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = probabilities / (1 - probabilities) * ((1 - prior) / prior)
    return np.where((prior > 0) & (prior < 1), factors, np.nan)


def evidence_classes(factors: Floats, prior: Floats) -> NDArray[np.object_]:
    """Name what the data say of each edge; "required" and "forbidden" ones are the prior's choice, not the data's."""
    conditions = {
        "unknown": np.isnan(prior),
        "required": prior >= 1,
        "forbidden": prior <= 0,
        "included": factors >= BAYES_FACTOR_LIMIT,
        "excluded": factors <= 1 / BAYES_FACTOR_LIMIT,
    }
    return np.select(list(conditions.values()), list(conditions), "inconclusive").astype(object)


def unsure_classes(record: RunRecord, probabilities: Floats, mcse: Floats) -> int:
    """Count the edges whose class of evidence two Monte-Carlo errors up or down would change."""
    prior = prior_of(record)[record.edge_codes]
    low, high = (
        evidence_classes(bayes_factors(resolved(record, np.clip(shifted, 0.0, 1.0)), prior), prior)
        for shifted in (probabilities - 2.0 * mcse, probabilities + 2.0 * mcse)
    )
    return int(((low != high) & ~np.isnan(mcse)).sum())


def with_gaps(values: Floats) -> pd.api.extensions.ExtensionArray:
    """Return a column in which what does not exist is <NA>, not NaN."""
    column = pd.array(values, dtype="Float64")
    column[np.isnan(values)] = pd.NA
    return column
