"""State shared by the cells of a notebook: connection, chat, journal of runs and jobs, keys, names for completion."""
