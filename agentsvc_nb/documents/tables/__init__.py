"""Tables in files of any format, read one way: their headers, their columns' types, and what was not sure."""
