"""Runs: their start, events, tool calls and end."""
