"""Attach files and variables to a question."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from agentsvc_nb.client import uploads
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.state.journal import Upload
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.wire.text import label

COLUMNS_DESCRIBED: Final = 8
"""The maximum number of columns named in the description of a DataFrame."""
_PICTURES: Final = (".png", ".jpg", ".gif", ".webp")


def base_name(name: str) -> str:
    """Return the last part of a file path that a page sent. Return `file` if it is not a valid file name.

    >>> base_name("C:\\\\data\\\\a.csv"), base_name("\\\\"), base_name("..")
    ('a.csv', 'file', 'file')
    """
    last = PurePosixPath(name.replace("\\", "/")).name
    return last if last.strip(".") else "file"


def in_memory_file(name: str, data: bytes) -> AttachedFile:
    return AttachedFile(Path(name), hashlib.sha256(data).hexdigest(), data)


def dataframe_file(name: str, variables: Mapping[str, Any]) -> tuple[AttachedFile, str]:
    """Return the DataFrame in the variable `name` as the attachment `name.csv`, and a line that describes it.

    Its index becomes a column, unless it only numbers the rows. Raises `AskError` when the variable does not exist or
    is not a DataFrame.
    """
    value = _variable("--df", name, variables)
    content = uploads.encode(value)
    if content is None or content.name != "table.csv":  # the client's file name for DataFrames
        raise AskError(
            f"--df {name}: the variable is a {type(value).__name__}, not a DataFrame; nothing was sent.",
            "Convert it to a pandas DataFrame, or save it to a file and use --file.",
        )
    made = in_memory_file(f"{name}.csv", content.data)
    return made, f"{made.path}: {_summary(value)}, {size(len(content.data))}"


def picture_file(name: str, variables: Mapping[str, Any]) -> AttachedFile:
    """Return a picture as an attachment. `name` is a file path, or a variable with a figure, a PIL image or bytes.

    Raises `AskError` when the variable or file does not exist, or is not a picture.
    """
    if name not in variables and not name.isidentifier():
        return _picture_by_path(name)
    value = _variable("--image", name, variables)
    content = uploads.encode(value) or uploads.encode(getattr(value, "figure", None))  # matplotlib's axes
    if content is None and isinstance(data := getattr(value, "data", value), bytes):  # an IPython Image, or bytes
        content = uploads.choose_name(data)
    if content is None or Path(content.name).suffix not in _PICTURES:
        raise AskError(
            f"--image {name}: the variable is a {type(value).__name__}, not a picture; nothing was sent.",
            "Use a figure, a PIL image, the bytes of a PNG, JPEG, GIF or WebP, or the path of such a file.",
        )
    return in_memory_file(f"{name}{Path(content.name).suffix}", content.data)


def _picture_by_path(path: str) -> AttachedFile:
    found = attachments([path])
    if len(found) != 1:
        raise AskError(
            f"--image {path}: {len(found)} files match, but only one is allowed; nothing was sent.",
            "Use the path of one picture, or attach all with --file.",
        )
    with found[0].path.open("rb") as file:
        kind = Path(uploads.choose_name(file.read(64)).name).suffix
    if kind not in _PICTURES:
        raise AskError(f"{path} is not a PNG, JPEG, GIF or WebP picture; nothing was sent.", "Attach it with --file.")
    return found[0]


def _variable(option: str, name: str, variables: Mapping[str, Any]) -> Any:
    if name not in variables:
        raise AskError(
            f"{option} {name}: the variable `{label(name, 80)}` does not exist; nothing was sent.",
            "Define it in a cell above.",
        )
    return variables[name]


def _summary(frame: Any) -> str:
    """Describe a DataFrame or a Series: its size, its columns, and how many values are missing."""
    whole = frame.to_frame() if not hasattr(frame, "columns") else frame
    named = [f"{label(name, 40)} {kind}" for name, kind in list(whole.dtypes.items())[:COLUMNS_DESCRIBED]]
    more = [f"{len(whole.columns) - COLUMNS_DESCRIBED} more"] if len(whole.columns) > COLUMNS_DESCRIBED else []
    empty = int(whole.isna().sum().sum())
    gaps = f", {empty:,} values missing" if empty else ""
    columns = f"{len(whole.columns)} column{'s' * (len(whole.columns) != 1)}"
    return f"{len(whole):,} rows, {columns} ({', '.join(named + more)}){gaps}"


@dataclass(frozen=True)
class AttachedFile:
    """A file to attach: the file at `path`, or the bytes `data` with the name of `path`."""

    path: Path
    sha256: str
    data: bytes | None = None

    @property
    def sent(self) -> Path | tuple[str, bytes]:
        """The file in the form that the client takes: a path, or a name and bytes."""
        return self.path if self.data is None else (self.path.name, self.data)


def attachments(patterns: Iterable[str | Path], *, folders: bool = False) -> tuple[AttachedFile, ...]:
    """Return the files that these paths or globs name, with their SHA-256. Each file is returned once.

    With `folders`, the name of a folder includes all files in it, except hidden ones.

    Raises:
        AskError: a pattern matches no file or names a folder (without `folders`), or a file cannot be read.
    """
    paths = dict.fromkeys(path for pattern in patterns for path in _matches(str(pattern), folders))
    return tuple(AttachedFile(path, _digest(path)) for path in paths)


def _matches(pattern: str, folders: bool) -> list[Path]:
    path = Path(pattern).expanduser()
    if path.is_dir() and folders:
        if found := sorted(each for each in path.rglob("*") if each.is_file() and not _is_hidden(each, path)):
            return found
        raise AskError(
            f"The folder {pattern} contains no files; nothing was sent.",
            "Check the path. %pwd shows the current folder.",
        )
    if path.is_dir():
        raise AskError(
            f"{pattern} is a folder; nothing was sent.", f"Use the names of its files, for example {pattern}/*.csv"
        )
    if path.exists():
        return [path]
    found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True)) if Path(name).is_file()]
    if not found:
        raise AskError(
            f"The file {pattern} does not exist; nothing was sent.", "Check the path. %pwd shows the current folder."
        )
    return found


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "__pycache__")) for part in file.relative_to(folder).parts)


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise AskError(f"{path} can't be read: {error.strerror}; nothing was sent.", "Check its permissions.") from None


def chat_with_files(session: Session) -> str | None:
    """Return the id of the notebook's chat if the chat has files, which `--each` copies to each row's chat.

    Return None if it has no files, or this account has no such chat (404). Raises `StefanBrainError` when the request
    fails for another reason.
    """
    chat = session.known_chat(session.address())
    try:
        return chat if chat and session.client().files.list(chat).first() else None
    except StefanBrainError as error:
        if error.status == 404:
            return None
        raise


def list_uploads(client: AgentService, chat: str) -> set[Upload]:
    """Return the name and SHA-256 of each upload in a chat, or an empty set if this account has no such chat (404)."""
    try:
        return {(file.file_name, file.id) for file in client.files.list(chat) if file.kind == "upload"}
    except StefanBrainError as error:
        if error.status == 404:
            return set()
        raise
