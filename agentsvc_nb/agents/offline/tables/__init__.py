"""Calculations on tables: which one a question means, done exactly, and what was not understood."""
