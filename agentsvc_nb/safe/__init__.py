"""Foreign text made harmless, for whoever shows it: the notebook, the terminal, the web pages."""
