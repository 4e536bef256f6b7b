"""The service's tools, called at once or as jobs.

catalog     the tools, and what one of them takes           fields      the fields of an input, read from its schema
calling     a cell as the input of a call, and its answer   foreground  one job in its cell
background  jobs while other cells go on                    history     list, watch, show, cancel; download files
"""
