"""Let the agent see and run code in the user's kernel, with the user's approval (docs/decisions/17).

access     the shell: its variables, running a cell, whether it is idle, whether it receives clicks on buttons
running    run code on the main thread and record its outcome
variables  describe a variable in a few lines, and the rules for what may leave the kernel
pages      the notebook's pages that have our extension: read its cells, change one
edits      list cells and show a proposed change of one as a diff
calls      a call of the agent from request to answer, and its display
databases  connections that the agent may query, through database_port: duckdb_database and sqlalchemy_databases
           (SQLite, PostgreSQL), whose engines judge what a query reads
desk       the calls of one run: the reading thread accepts them, the main thread serves them
"""
