"""`map`: one question over the rows of a DataFrame, many at once."""
