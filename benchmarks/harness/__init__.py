"""What every study stands on: tasks, processes that run them, a store of what they found, and tables of it."""
