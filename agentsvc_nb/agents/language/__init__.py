"""The agent with a language model: pydantic-ai's loop, all of whose effects go through `agents.port.RunContext`.

No module outside this folder imports pydantic-ai. The service imports this folder for the first run that needs it
(`agents.choose`).
"""
