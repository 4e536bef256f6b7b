"""The tools, one module each, which `catalog` discovers. They use the service only through `port`.

Every module here except `catalog` and `port` is a tool. The folders hold shared code of tools.
"""
