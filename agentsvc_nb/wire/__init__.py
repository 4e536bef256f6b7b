"""The API's models, tables and limits, which client and service share. Needs only pydantic and the standard library."""
