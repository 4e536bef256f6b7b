"""What a cell asks, what goes along with it, and how often it is asked: once, in variants, of each row."""
