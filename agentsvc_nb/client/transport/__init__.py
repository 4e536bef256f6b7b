"""The verbs of I/O, blocking and on asyncio, over the HTTP library; crews for what is done many at once."""
