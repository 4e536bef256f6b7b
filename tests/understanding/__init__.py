"""Questions about tables, understood as plans."""
