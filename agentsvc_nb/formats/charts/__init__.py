"""Charts of results: what is drawn and how it is labelled (pure), and the drawing, in the process of tables alone."""
