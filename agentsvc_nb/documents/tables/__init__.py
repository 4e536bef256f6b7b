"""Read the tables in files of many formats: find headers and column types, and note what is uncertain."""
