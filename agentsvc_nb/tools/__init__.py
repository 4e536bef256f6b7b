"""The tools: one module each, discovered by `catalog`. They see the service through `port` alone."""
