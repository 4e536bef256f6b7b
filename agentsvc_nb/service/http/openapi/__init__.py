"""The description of this API: for programs (OpenAPI 3.1) and for people. Imported at its first request."""
