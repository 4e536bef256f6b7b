"""The service's tools, called directly or as jobs.

tools       the catalog, the input of one tool, a call      fields    the fields of an input, read from its schema
cell_input  an input as the body of a cell, and back      follower  a job from its submission to its result
history     list, watch, show, cancel                   output     jobs and answers as static outputs
servers     MCP servers of the embedded service
"""
