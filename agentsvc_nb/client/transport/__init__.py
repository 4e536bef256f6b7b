"""The client's I/O over the HTTP library, blocking and on asyncio, and worker pools for concurrent work."""
