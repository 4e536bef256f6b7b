"""Let the agent see and run code in the user's kernel, with the user's approval (docs/decisions/17).

access         the shell: whether it is idle, and whether it receives clicks on buttons while a cell runs
variables      describe variables, without values that are secret or hidden
running        run code on the main thread and record its outcome
calls          a request of the agent to run code, from the request to the answer
pages          the pages that show the notebook: read its cells and change one
edits          a request of the agent to change a cell, shown as a diff
databases      a connection that the agent may query. `database_port` is the interface; `duckdb_database` and
               `sqlalchemy_databases` (SQLite, PostgreSQL) let the database itself check what a query reads
tool_executor  executes the calls of one run: one thread receives them, the main thread executes them
"""
