"""The agent with a language model: the loop of pydantic-ai on the verbs of a turn.

Nothing outside this folder imports that library, and nothing here is imported before a run needs it
(`agents.choose`).
"""
