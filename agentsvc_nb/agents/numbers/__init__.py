"""The number check: find the source of each number in a language model's answer. A source is a tool's result, a text
that the agent read, or the user's message. The check itself calls no model.

`sources` collects the results, texts and messages, and calls `check`, which uses the other modules:

`reading` reads numbers from a text. `tables` reads the tables in results. A column with names is a dimension, and its
cells are keys, which name the table's rows. `context` finds the words and keys near a number. `tracing`, `texts` and
`calculating` look for sources.
"""
