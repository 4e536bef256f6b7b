"""The agent in the user's kernel: what it may look at and have run there, and who says yes (docs/decisions/17).

access    the shell: its variables, running a cell, whether it is idle, whether buttons are heard
running   code run on the main thread, and what came of it
variables  what a variable is, in a few lines, and the rules for what goes out
pages     the pages of the notebook that have our extension: asked for its cells, and to change one
edits     the cells that are told, and a change of one: what it becomes, as a diff, and as a call of the agent
calls     a call of the agent, from asked to answered, and how it is shown
databases  connections that the agent may ask, by database_port: duckdb_database and sqlalchemy_databases (SQLite,
           PostgreSQL), whose engines judge what a query reads (docs/decisions/17)
desk      the calls of one run: taken in by the thread that reads, done on the main thread
"""
