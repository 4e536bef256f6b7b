"""Tables in DuckDB: loaded as they were read, described, named, computed with. Only a child process has the engine."""
