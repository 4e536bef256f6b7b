"""This API, described: for programs (OpenAPI 3.1) and for people. Imported when it is first asked for."""
