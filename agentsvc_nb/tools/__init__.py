"""The tools: one module each, discovered by `catalog`. They see the service through `port` alone.

Besides `catalog` and `port`, every module here is a tool; what tools are made with stands in the folders.
"""
