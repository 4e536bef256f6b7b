"""The API as client and service share it: the models of requests and responses, the tables of routes and error codes,
and the limits. This package needs only pydantic and the standard library.
"""
