"""Static ads drawn with Pillow."""
