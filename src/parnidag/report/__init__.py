"""The report: one HTML file with the graph to explore, the edges, the diagnostics and how to reproduce it all."""
