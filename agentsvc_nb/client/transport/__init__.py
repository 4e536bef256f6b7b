"""The verbs of I/O, blocking and on asyncio, over the HTTP library; worker pools for concurrent work."""
