"""Each operation of the service, written once as `async def` on the core: a module a resource."""
