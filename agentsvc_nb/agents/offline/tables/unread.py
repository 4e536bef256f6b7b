"""Tables whose reading was given up: a question that may be about one is told so, and never that nothing was found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.writing import AnswerPart, code, without_result
from agentsvc_nb.documents.engine.messages import FileTables
from agentsvc_nb.documents.safe_text import escape

_TEXTS: Final = frozenset((".md", ".markdown", ".html", ".htm", ".docx"))
"""Endings of files whose text is searched, whatever tables are in it."""


def given_up(files: Sequence[FileTables], named: Collection[str], attached: Collection[str]) -> list[FileTables]:
    """The files whose tables took too much to read, of those that the question names, or came with; of all, where there
    are none such."""
    paths = {file.path for file in files}
    meant = next((some for some in (set(named), paths & set(attached)) if some), paths)
    ended = [file for file in files if file.too_much and file.path in meant]
    return [file for file in ended if PurePosixPath(file.path).suffix.lower() not in _TEXTS]


def why(file: FileTables) -> str:
    """In a sentence, as plain text."""
    return f"{file.path}: {file.unreadable}"


def could_not_be_read(files: Sequence[FileTables]) -> AnswerPart:
    lines = (f"{code(file.path)}: {escape(file.unreadable)}\n\n" for file in files)
    return replace(without_result("nothing", "".join(lines)), unread=True)
