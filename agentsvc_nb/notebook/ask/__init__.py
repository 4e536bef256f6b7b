"""What a cell asks, and how: once, in variants, of each row; anew, or shown again."""
