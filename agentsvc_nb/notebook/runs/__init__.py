"""A run: read, watched to its one output, waited for in the background, looked at again."""
