"""Define the use cases of runs, their routes, and their rows in the database.

A run is one turn of an agent in a chat. A worker, a process that executes runs, executes it in one or more attempts: if
an attempt is interrupted, the next attempt takes over the run at its last checkpoint.
"""
