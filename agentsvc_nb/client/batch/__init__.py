"""`map`: asks one question about each row of a DataFrame, many rows at once."""
