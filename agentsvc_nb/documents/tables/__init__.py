"""Read tables in files of any format: their headers, the types of their columns, and what remains uncertain."""
