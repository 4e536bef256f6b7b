"""The service's tools, called directly or as jobs.

tools       list tools, describe one, call one
fields      the fields of a tool's input, read from its schema
cell_input  a tool's input as the body of a cell: parse it and write it
follower    submit a job, follow it, and return its result
history     list, watch, show and cancel jobs
output      render jobs and answers of tools as static outputs
servers     add, list and remove MCP servers of the embedded service
"""
