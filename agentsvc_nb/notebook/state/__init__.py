"""The state that a notebook's cells share: the connection, the chat, keys, the journal of runs and jobs, and names for
completion.
"""
