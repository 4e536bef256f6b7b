"""Tool jobs in a notebook: one in its cell, jobs in the background, and the list of all jobs."""
