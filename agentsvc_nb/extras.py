"""Name the extras of the distribution in messages. `pyproject.toml` lists the packages of each extra."""

from __future__ import annotations


def pip_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'agentsvc-nb[{extra}]'"
