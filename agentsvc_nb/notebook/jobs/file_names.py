"""Values of an input that are just the name of a file: in a field that takes text they are not the file's text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.jobs.fields import Field, field
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.text import label

_NAME_CHARS: Final = 255


def note_file_names(session: Session, tool: str, given: Mapping[str, Any]) -> None:
    """Add a line to the next output for each text that names a file of the notebook's folder. The tool is looked up
    only if there may be one."""
    if not any(map(_names_file, _texts(given))):
        return
    try:
        schema = session.client().tools.describe(tool).input_schema
    except StefanBrainError:  # the call that follows says why
        return
    for name in dict.fromkeys(taken_as_text(field(schema, schema), given)):
        shown = label(name, 80)
        session.note(
            f"`{shown}` is taken as text; to give what is in the file: `from pathlib import Path; "
            f"text = Path({shown!r}).read_text()` in a cell, and `{{{{text}}}}` here."
        )


def taken_as_text(of: Field, value: object) -> Iterator[str]:
    """The names of files among the values of an input's text fields.

    >>> schema = {"properties": {"brief": {"type": "string"}, "logo": {"type": "string", "format": "workspace-path"}}}
    >>> [*taken_as_text(field(schema, schema), {"brief": __file__, "logo": __file__})] == [__file__]
    True
    """
    kinds = [one.kind for one in of.variants()] if of.kind == "variants" else [of.kind]
    if isinstance(value, str) and "text" in kinds and "file" not in kinds and _names_file(value):
        yield value
    elif isinstance(value, Mapping):
        for one in of.properties():
            yield from taken_as_text(one, value.get(one.name))
    elif isinstance(value, list) and of.kind == "array":
        for each in value:
            yield from taken_as_text(of.item(), each)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def _names_file(text: str) -> bool:
    try:
        return len(text) <= _NAME_CHARS and bool(Path(text).suffix) and Path(text).is_file()
    except (OSError, ValueError):
        return False
