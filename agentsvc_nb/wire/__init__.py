"""What crosses the wire: the one thing that client and service share. pydantic and the standard library only."""
