"""A valid value of each setting, by what its type advises: a new setting of a known type needs none of its own."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.settings import Settings

BY_ADVICE: Final = {
    "32 characters": "s" * 32,
    "a name": "n",
    "a number": "7",
    "a whole number": "7",
    "addresses without a path": "https://other.example.com",
    "an address": "http://127.0.0.1:8000",
    "an e-mail address": "a@b.example",
    "cents": "7",
    "e-mail addresses": "@b.example,c@d.example",
    "hosts": "host.example,127.0.0.1:8123",
    "keys of servers": "tickets=secret",
    "models": "scripted,offline",
    "names": "tickets",
    "offline": "scripted",
    "postgresql://": "postgresql:///agents",
    "prices": "ollama:qwen3=20/60",
    "s3://": "s3://files/ours",
    "searxng": "brave",
    "servers": "tickets=https://tickets.example/mcp",
    "smtp://": "smtp://mail.example:25",
    "text or json": "json",
    "the key": "7",
    "the path": "/srv/other",
    "yes or no": "yes",
}


def example(name: str) -> str:
    """Return a valid text for the setting, which is not its default."""
    schema = Settings.model_json_schema()["properties"][name]
    advice: str = schema["advice"] if "advice" in schema else schema["anyOf"][0]["advice"]
    return next(text for start, text in BY_ADVICE.items() if advice.startswith(start))
