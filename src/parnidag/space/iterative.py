"""`space.iterative`: a search space grown from a skeleton."""

from __future__ import annotations

from typing import Any, Literal

from parnidag._util.checks import number, seed_or_new
from parnidag.data.table import as_data
from parnidag.errors import ParnidagError
from parnidag.priors.edge_prior import EdgePrior, chosen_prior
from parnidag.scores.base import Score
from parnidag.scores.by_name import choose_score
from parnidag.space.default import ALPHA, MAX_CONDITIONING, neighbours, pc_fits
from parnidag.space.expansion import check_expansion, expand
from parnidag.space.read import as_space
from parnidag.space.search_space import SearchSpace
from parnidag.tables.build import DEFAULT_MEMORY
from parnidag.target import Target


def iterative(
    data: Any,
    *,
    score: Score | str | None = None,
    prior: EdgePrior | None = None,
    skeleton: Any = None,
    alpha: float | None = None,
    max_conditioning: int | None = MAX_CONDITIONING,
    by: Literal["best", "sampled"] = "best",
    threshold: float = 0.5,
    max_candidates: int | None = None,
    memory: float = DEFAULT_MEMORY,
    seed: int | None = None,
) -> SearchSpace:
    """Grow a search space by iterative expansion (Kuipers, Suter and Moffa 2022).

    From a skeleton, a search over orders of the nodes looks for good graphs in which every node may take one parent
    from outside its candidates. Edges found that way become candidates, until nothing new is found.

    Parameters
    ----------
    data, score, prior
        As for `parnidag.sample`; give it the same ones.
    skeleton
        Where to begin: anything that ``sample(..., space=...)`` takes. None: the PC skeleton of the data, or where its
        tests do not fit (curved relations, interventions, your own scores) the pairs that help each other.
    alpha
        Significance level of that PC skeleton, 0.05 by default; refused where there is none.
    max_conditioning
        Its largest conditioning sets; None for no limit. Larger ones than 3 take very long around hubs, and the
        expansion mends what they would find.
    by
        ``"best"`` adds the edges of the best graph found; ``"sampled"`` adds the edges whose probability, averaged over
        sampled orders, is at least `threshold`.
    threshold
        For ``by="sampled"``: above 0, at most 1.
    max_candidates
        The most candidate parents of a node; those that gain least and that the best graph does not use are dropped
        first. None: 12, or 6 with scores that cannot walk through sets of parents (splines, BDeu, your own).
    memory
        Bytes that the tables of scores may take.
    seed
        Seed of the search; the same seed gives the same space.

    Returns
    -------
    SearchSpace
        Candidates, the best graph found and its log posterior, and the rounds that led there.

    Examples
    --------
    >>> from parnidag.simulation import simulate
    >>> found = iterative(simulate(nodes=15, edges=20, rows=100, seed=1).values, seed=1)
    >>> found.best.shape, len(found.rounds) > 1
    ((15, 15), True)
    """
    check_expansion(by, threshold, max_candidates)
    number(memory, "memory", above=0, most=float("inf"), what="a number of bytes")
    table = as_data(data)
    target = Target.build(table, choose_score(score, table), chosen_prior(prior, score))
    if alpha is not None and (skeleton is not None or not pc_fits(table, target)):
        raise ParnidagError(f"alpha={alpha!r} is for the tests of PC, and this space begins without them: leave it out")
    if skeleton is None:
        begin = neighbours(table, target, ALPHA if alpha is None else alpha, max_conditioning)
    else:
        begin = as_space(skeleton, target.names).considered
    target.check_score()
    found = expand(
        target,
        begin,
        seed=seed_or_new(seed),
        by=by,
        threshold=float(threshold),
        most_candidates=None if max_candidates is None else int(max_candidates),
        memory=float(memory),
    )
    target.check_score()
    return found
