"""Tables in DuckDB: load, describe and name tables, and compute with them. Only a child process loads the engine."""
