"""Read tables in files of any format: their headers, the types of their columns, and the open doubts."""
