"""Tools in a notebook: the catalog, the fields of a tool's input, the cell that calls it, and the call."""
