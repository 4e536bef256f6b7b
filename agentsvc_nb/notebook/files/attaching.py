"""Variables as files of a question: a DataFrame as CSV, a figure or a picture as an image."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.client.request import contents
from agentsvc_nb.notebook.display.amounts import size
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.files.attachments import Attachment, attachments
from agentsvc_nb.safe.text import label

COLUMNS_TOLD: Final = 8
_PICTURES: Final = (".png", ".jpg", ".gif", ".webp")


def held(name: str, data: bytes) -> Attachment:
    """Bytes that go along under a name."""
    return Attachment(Path(name), hashlib.sha256(data).hexdigest(), data)


def table(name: str, variables: Mapping[str, Any]) -> tuple[Attachment, str]:
    """The DataFrame `name` as `name.csv`, and a line that says what goes along. Raises `AskError`.

    Its index is a column of the file, unless it only counts the rows.
    """
    value = _variable("--df", name, variables)
    content = contents.drawn(value)
    if content is None or content.name != "table.csv":
        raise AskError(
            f"--df {name}: that is a {type(value).__name__}, not a DataFrame; nothing was sent.",
            "Make a pandas DataFrame of it, or save it to a file and use --file.",
        )
    return (made := held(f"{name}.csv", content.data)), f"{made.path}: {_summary(value)}, {size(len(content.data))}"


def picture(name: str, variables: Mapping[str, Any]) -> Attachment:
    """A picture: a figure, a PIL picture or bytes in the variable `name`, or else the file of that path.

    Raises `AskError` when it is neither.
    """
    if name not in variables and not name.isidentifier():
        return _picture_file(name)
    value = _variable("--image", name, variables)
    content = contents.drawn(value) or contents.drawn(getattr(value, "figure", None))  # axes have a figure
    if content is None and isinstance(data := getattr(value, "data", value), bytes):  # IPython's Image has data
        content = contents.named(data)
    if content is None or Path(content.name).suffix not in _PICTURES:
        raise AskError(
            f"--image {name}: that is a {type(value).__name__}, not a picture; nothing was sent.",
            "Give a figure, a PIL picture, the bytes of a PNG, JPEG, GIF or WebP, or the path of one.",
        )
    return held(f"{name}{Path(content.name).suffix}", content.data)


def _picture_file(path: str) -> Attachment:
    found = attachments([path])
    if len(found) != 1:
        raise AskError(f"--image {path}: these are {len(found)} files; nothing was sent.", "Name one, or use --file.")
    with found[0].path.open("rb") as file:
        kind = Path(contents.named(file.read(64)).name).suffix
    if kind not in _PICTURES:
        raise AskError(f"{path} is no PNG, JPEG, GIF or WebP; nothing was sent.", "Attach it with --file.")
    return found[0]


def _variable(option: str, name: str, variables: Mapping[str, Any]) -> Any:
    if name not in variables:
        raise AskError(f"{option} {name}: there is no variable `{label(name, 80)}`; nothing was sent.", "Define it.")
    return variables[name]


def _summary(frame: Any) -> str:
    """How large it is and what its columns hold, of a DataFrame or a Series."""
    whole = frame.to_frame() if not hasattr(frame, "columns") else frame
    named = [f"{label(name, 40)} {kind}" for name, kind in list(whole.dtypes.items())[:COLUMNS_TOLD]]
    more = [f"{len(whole.columns) - COLUMNS_TOLD} more"] if len(whole.columns) > COLUMNS_TOLD else []
    empty = int(whole.isna().sum().sum())
    gaps = f", {empty:,} values missing" if empty else ""
    columns = f"{len(whole.columns)} column{'s' * (len(whole.columns) != 1)}"
    return f"{len(whole):,} rows, {columns} ({', '.join(named + more)}){gaps}"
