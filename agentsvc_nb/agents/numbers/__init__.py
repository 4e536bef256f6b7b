"""Find the source of each number in an answer: a tool's result, a text that the agent read, or the user's message.

`check.check` is a pure function that calls no model. `sources` prepares the tools' results for the check.
"""
