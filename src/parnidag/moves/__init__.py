"""The moves: steps on a DAG that each leave the posterior invariant, one to a file, with their ratio written out.

A sampler is a mixture of them. They share one state, the `Dag`, and its cache of scores, and know nothing of settings,
draws or chains. PARNI's own blocks stay with PARNI, since they come with its tuning.
"""
