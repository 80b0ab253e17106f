"""What is made of a run: its record, convergence figures and verdict, tables and summaries."""
