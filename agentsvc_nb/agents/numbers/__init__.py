"""Where each number of an answer is from: a tool's result, a text that the agent read, or the user's message.

`check.check` is pure and asks no model; `sources` reads the results of tools for it.
"""
