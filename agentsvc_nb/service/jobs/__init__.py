"""The API for tools, and the jobs that execute asynchronous tools."""
