"""The tools, which `catalog` discovers. They use the service only through `port`.

Each module here except `catalog` and the ports is a tool. The folders contain code that tools share; the folder
`workspace` contains the tools for a chat's files.
"""
