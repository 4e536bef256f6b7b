"""The client's blocking I/O and asyncio I/O, which use the HTTP library httpx."""
