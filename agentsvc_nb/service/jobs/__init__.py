"""Tools and their jobs."""
