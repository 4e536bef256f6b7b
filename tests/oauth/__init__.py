"""Connectors that sign in by OAuth: hosts of their own with TLS, and a service that knows where those are."""
