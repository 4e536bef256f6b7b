"""Find the source of each number in an answer: a tool's result, a text that the agent read, or the user's message.

`check.check` is pure and asks no model. `sources` reads the tools' results for it.
"""
