"""Read the tables in files of many formats: find their headers and the types of their columns, and note what is
uncertain."""
