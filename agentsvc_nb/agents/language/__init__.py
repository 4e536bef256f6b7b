"""The agent with a language model: pydantic-ai's loop, with its effects made through `agents.port.RunContext`.

Nothing outside this folder imports that library, and nothing here is imported before a run needs it
(`agents.choose`).
"""
