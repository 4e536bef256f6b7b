"""The agent with a language model. It uses pydantic-ai's loop of model calls and tool calls. The loop calls tools,
streams text and reads files only through `agents.port.RunContext`.

No module outside this folder imports pydantic-ai. The service imports the modules that need it when the first run needs
them.
"""
