"""Twelve scenarios against a provider's real service, for somebody with a key of it."""
