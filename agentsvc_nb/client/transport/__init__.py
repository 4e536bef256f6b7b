"""The client's blocking and asyncio I/O over the HTTP library."""
