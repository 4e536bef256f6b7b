"""Runs in a notebook: follow one in its cell or in the background, list, review, and approve its tool calls."""
