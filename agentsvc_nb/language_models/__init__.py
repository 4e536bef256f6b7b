"""Which model answers here: those that could (`catalog`), what they cost (`prices`), the keys that the user typed for
them (`keys`), a question that shows whether one answers (`trial`), and the embedded service's `switch` to one.

The notebook and the terminal show this. The service and its agents import none of it: they get the model by name in
`Settings`, and its key from their environment.
"""
