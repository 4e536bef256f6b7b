"""Tools over HTTP, and the jobs of asynchronous tools."""
