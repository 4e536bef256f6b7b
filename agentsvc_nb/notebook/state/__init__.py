"""The state that a notebook's cells share: connection, chat, keys, journal of runs and jobs, names for completion."""
