"""Analysis of what a store holds: reports on DuckDB, polars or Spark, exact about money."""
