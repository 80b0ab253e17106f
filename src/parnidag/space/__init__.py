"""Which parents are considered before sampling starts."""
