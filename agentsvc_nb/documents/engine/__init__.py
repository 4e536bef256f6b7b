"""Load tables into DuckDB ("the engine"), describe them and query them. Only a child process imports DuckDB."""
