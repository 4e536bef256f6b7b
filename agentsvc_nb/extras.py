"""The extras of the distribution (`pyproject.toml` lists their packages)."""

from __future__ import annotations


def pip_install(extra: str) -> str:
    """Return the command that installs an extra, for messages about a missing package."""
    return f"pip install 'agentsvc-nb[{extra}]'"
