"""Checks of the client that were written from the API's rules alone, against a service on plain sockets."""
