"""Provide code that several tools share, or that is long: fetching, reading pages, measuring texts, cancellation."""
