"""From graphs to answers: causal effects, interventions and doses, averaged over graphs and parameters."""
