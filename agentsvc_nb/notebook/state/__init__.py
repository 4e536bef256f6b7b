"""What the cells of a notebook share and remember: connection, chat, runs, jobs, names for Tab."""
