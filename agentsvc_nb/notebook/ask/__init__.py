"""Asking from a cell: one question, variants of it, or one for each row; or showing an earlier run again."""
