"""Claims counted, summed and timed by their dimensions, by DuckDB or by plain Python."""
