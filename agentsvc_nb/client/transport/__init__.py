"""The verbs of I/O, blocking and on asyncio, over the HTTP library; server-sent events, retries, crews."""
