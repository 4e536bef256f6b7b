"""Calculations on tables: the one that a question means, done exactly, and the words that were not understood."""
