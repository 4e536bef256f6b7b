"""Define the tools that agents and API clients can call. `catalog` discovers them. They use the service only through
`port`.

Each module in this folder is a tool, except `catalog`, `port` and `workspace_port`. The sub-folders contain code that
tools share, except `workspace`, which contains the tools for a chat's files.
"""
