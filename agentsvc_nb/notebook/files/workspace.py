"""The files of the notebook's chat: list, upload, download, search, preview and restore them."""

from __future__ import annotations

import filecmp
import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.cards import MUTED
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import columns, frame
from agentsvc_nb.notebook.display import results, sources
from agentsvc_nb.notebook.display.file_table import Fetch, kind_of
from agentsvc_nb.notebook.display.render import format_time, size
from agentsvc_nb.notebook.display.results import Preview, ResultTable, Row, TableCell, code, grid
from agentsvc_nb.notebook.display.sources import Read
from agentsvc_nb.notebook.errors import AskError, to_ask_error
from agentsvc_nb.notebook.files.attachments import AttachedFile, attachments, list_uploads
from agentsvc_nb.notebook.previews.preview import HEAD_BYTES, preview_bundle
from agentsvc_nb.notebook.state.journal import now
from agentsvc_nb.notebook.state.session import CallTarget, Session, convert_errors
from agentsvc_nb.wire import limits
from agentsvc_nb.wire.files import FileFacts, FileSearch, SearchResult, SnippetPart, StagedFile, WorkspaceFile
from agentsvc_nb.wire.text import escape, label

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService


def chat_of(session: Session) -> str:
    """Return the id of this notebook's chat. Raises `AskError` if the notebook has no chat yet."""
    chat = session.known_chat(session.address())
    if not chat:
        raise AskError("This notebook has no chat yet, so there are no files.", "Ask a question with %%ask first.")
    return chat


def list_files(session: Session) -> list[WorkspaceFile]:
    """Return the files of the notebook's chat. From now on, tab completion offers their paths.

    Raises `AskError` if the notebook has no chat yet, or the request fails.
    """
    chat = chat_of(session)
    with convert_errors(session):
        found = list(session.client().files.list(chat))
    session.known.files = [file.path for file in found]
    return found


def list_with_staged(session: Session) -> tuple[list[WorkspaceFile], list[StagedFile]]:
    """Return the files of this notebook's chat, if any, and the files that the next question will attach ("staged").

    Raises `AskError` when the request fails.
    """
    found = list_files(session) if session.known_chat(session.address()) else []
    return found, [*session.staged.values()]


def missing_file_error(path: str, found: Iterable[WorkspaceFile]) -> AskError:
    """Return the error for a path that does not exist in the chat. Its hint suggests files with the same name."""
    name = path.rpartition("/")[2]
    like = [label(file.path) for file in found if file.path.rpartition("/")[2] == name][:3]
    meant = f"Did you mean {' or '.join(like)}? " if like else ""
    return AskError(f"The file {label(path)} does not exist in this chat.", f"{meant}List the files with `%files`.")


def download(session: Session, file: WorkspaceFile) -> bytes:
    """Return the content of a file of this notebook's chat. Raises `AskError` when the file cannot be downloaded."""
    with convert_errors(session):
        data = session.client().files.download(file, chat=chat_of(session))
    assert isinstance(data, bytes)
    return data


def make_fetcher(client: AgentService, chat: str | None) -> Fetch | None:
    """Return a function that downloads a file of a chat for a thumbnail, or returns None if the download fails.

    Without a chat, return None instead of a function.
    """
    if not chat:
        return None

    def fetch(file: WorkspaceFile) -> bytes | None:
        try:
            data = client.files.download(file.path, chat=chat)
        except (AskError, StefanBrainError):
            return None
        return data if isinstance(data, bytes) else None

    return fetch


def make_reader(client: AgentService, chat: str | None) -> Read:
    """Return a function that reads the beginning of a file in the chat by path, and returns None if reading fails."""

    def read(path: str) -> bytes | None:
        try:
            return client.files.head(path, sources.HEAD_BYTES, chat=chat) if chat else None
        except (AskError, StefanBrainError):
            return None

    return read


REASONS_MAX: Final = 10
"""The maximum number of files for which `%files` says why they can't be read."""


@dataclass(frozen=True, slots=True)
class UploadResult:
    """The result of `files_put`: the names of the uploaded files, and of files that the chat already had (`same`).

    If `staged` is True, the chat does not exist yet, and the next question will attach the files.
    """

    sent: tuple[str, ...]
    same: tuple[str, ...]
    staged: bool

    def __str__(self) -> str:
        where = "the next %%ask attaches them" if self.staged and self.sent else ""
        counts = f"{len(self.sent)} sent" + (f", {len(self.same)} unchanged" if self.same else "")
        return f"{counts}: {', '.join((*self.sent, *self.same))}" + (f" ({where})" if where else "")


@dataclass(frozen=True, slots=True)
class DownloadResult:
    """The result of `files_get`. `path` is where the file is.

    `same` is True if a file with the same content was already there.
    """

    path: Path
    same: bool


def files(session: Session) -> ResultTable:
    """List the chat's files and the files that the next question attaches. Raises `AskError` when the request fails."""
    return files_table(session, list_with_staged(session)[0])


def files_table(session: Session, found: Sequence[WorkspaceFile]) -> ResultTable:
    """Return a table of these files and of the files that the next question will attach."""
    chat = session.known_chat(session.address())
    staged = [
        {"path": f"uploads/{file.file_name}", "id": file.sha256, "kind": "upload"}
        | file.model_dump(include={"file_name", "media_type", "size_bytes"})
        for file in session.staged.values()
    ]
    put = session.staged.values()
    waiting: Iterable[Row] = (
        (_path(f"uploads/{file.file_name}"), size(file.size_bytes), _kind(file), "you, not sent yet", None, None)
        for file in put
    )
    rows = [*map(_row, found), *waiting]
    total = size(sum(file.size_bytes for file in found))
    notes = [f"{len(found):,} file{'s' * (len(found) != 1)}, {total}"]
    if staged:
        notes.append(f"the next %%ask attaches {len(staged)} more")
    if any(file.version > 1 for file in found):
        notes.append("list the versions of a file with `%files versions PATH`, restore one with `%files restore PATH`")
    unreadable = [file for file in found if file.unreadable]
    notes += [f"{file.path} can't be read: {label(file.unreadable, 200)}" for file in unreadable[:REASONS_MAX]]
    if len(unreadable) > REASONS_MAX:
        notes.append(
            f"{len(unreadable) - REASONS_MAX:,} more files can't be read: see the column `unreadable` of `.df`"
        )
    bundle = grid("Files", ("path", "size", "type", "from", "changed", "version"), rows, notes)
    return ResultTable(bundle, lambda: frame([*map(_facts, found), *staged], results.FILES, chat=chat))


def _row(file: WorkspaceFile) -> Row:
    return (
        _path(file.path, file.name),
        _bytes(file),
        _kind(file),
        author(file),
        format_time(file.updated_at),
        file.version,
    )


def _path(path: str, name: str | None = None) -> TableCell:
    """Return a table cell with a file's path (its folder in a muted colour) and its display name, if it has one."""
    folder, slash, base = path.rpartition("/")
    shown = f'<span style="{MUTED}">{escape(folder + slash)}</span>{escape(base).replace("_", "_<wbr>")}'
    text = f"{label(path)} ({label(name)})" if name else label(path)
    named = f" ({escape(name)})" if name else ""
    return TableCell(text, f'<span style="overflow-wrap:anywhere">{shown}{named}</span>')


def _bytes(file: WorkspaceFile) -> TableCell:
    return TableCell(size(file.size_bytes), title=f"{file.size_bytes:,} bytes")


def author(file: WorkspaceFile) -> str:
    """Return who wrote a file, `you` or `agent`."""
    return "you" if file.kind == "upload" else "agent"


def _kind(file: FileFacts | StagedFile) -> TableCell:
    return TableCell(kind_of(file), title=file.media_type)


def _facts(file: WorkspaceFile) -> dict[str, Any]:
    return file.model_dump(exclude={"object", "download_url", "removed"})


def files_put(session: Session, patterns: Iterable[str | Path], *, by_cell: bool = True) -> UploadResult:
    """Upload files (paths, folders or globs) to this notebook's chat. Files that the chat already has with the same
    name and content are not sent.

    If the notebook has no chat yet, up to ten files are staged: the next question attaches them. For more files, a chat
    is created. With `by_cell`, the files count as uploaded by this cell: the stored answers of cells that run later
    depend on them.

    Raises `AskError` when a pattern matches no file, two files have the same name, a file cannot be read, or a request
    fails.
    """
    wanted = attachments(patterns, folders=True)
    _check_names(wanted)
    if not wanted:
        raise AskError("The names of the files are missing; nothing was sent.", "For example: %files put data/*.csv")
    client = session.client()
    chat = session.known_chat(session.address())
    # The service keeps a staged file for only a day, but a kernel may run longer.
    session.staged = {name: file for name, file in session.staged.items() if (file.expires_at or now()) >= now()}
    try:
        there = session.staged_uploads | (list_uploads(client, chat) if chat else set())
        fresh = [file for file in wanted if (file.path.name, file.sha256) not in there]
        _send(session, client, chat, fresh)
    except StefanBrainError as error:
        raise to_ask_error(error, session.base_url) from None
    if by_cell:  # also record files that the chat already had, because stored answers depend on them
        session.record_put({file.path.name: file.sha256 for file in wanted})
    same = [file.path.name for file in wanted if file not in fresh]
    staged = session.known_chat(session.address()) is None
    return UploadResult(tuple(file.path.name for file in fresh), tuple(same), staged)


def _check_names(wanted: Sequence[AttachedFile]) -> None:
    """Raise `AskError` if two files have the same name, because the second would replace the first."""
    first: dict[str, Path] = {}
    for file in wanted:
        if (other := first.setdefault(file.path.name, file.path)) is not file.path:
            raise AskError(
                f"{other} and {file.path} have the same name; nothing was sent.",
                "Rename one file, or put the files one after the other.",
            )


def _send(session: Session, client: AgentService, chat: str | None, wanted: Sequence[AttachedFile]) -> None:
    """Upload files to the chat, or stage them for its first question. Create the chat if they are too many to stage."""
    address = session.address()
    staging = chat is None and len({*session.staged, *(file.path.name for file in wanted)}) <= limits.ATTACHMENTS_MAX
    where: CallTarget = {"chat": chat, "session": None if chat or staging else address.session, "project": None}
    if where["session"]:
        where["project"] = address.project
    for start in range(0, len(wanted), limits.ATTACHMENTS_MAX):
        batch = [file.path for file in wanted[start : start + limits.ATTACHMENTS_MAX]]
        staged = client.files.upload(*batch, **where)
        if staging:
            session.staged.update({file.file_name: file for file in staged})
        else:
            session.remember_chat(address, staged[0].chat)


_GLOB: Final = re.compile(r"[*?[]")


def files_matching(session: Session, wanted: Sequence[str]) -> list[str]:
    """Return paths, with globs replaced by matching paths of the chat. Raises `AskError` if a glob matches none."""
    if not any(_GLOB.search(one) for one in wanted):
        return list(wanted)
    there = [file.path for file in list_files(session)]
    found: list[str] = []
    for one in wanted:
        fitting = [path for path in there if fnmatch.fnmatchcase(path, one)]
        if _GLOB.search(one) and one not in there and not fitting:
            raise AskError(f"No file of this chat matches {one}.", "List the files with `%files`.")
        found += [one] if one in there or not fitting else fitting
    return list(dict.fromkeys(found))


def files_get(session: Session, path: str, to: str | Path = ".", *, force: bool = False) -> DownloadResult:
    """Download a file of this notebook's chat into the folder `to`, under the file's name in the chat.

    If the folder does not exist, it is created.

    If `to` has the file's extension, such as `today.csv`, it is the path of the new file instead of a folder. This does
    not apply if `to` is an existing folder or ends with a slash.

    Raises `AskError` when the notebook has no chat yet, the path is unknown, a request fails, or the folder is not
    writable. Without `force`, it also raises `AskError` instead of replacing a file that has other content.
    """
    chat = chat_of(session)
    target = Path(to).expanduser()
    suffix = Path(path).suffix.lower()
    renamed = bool(suffix) and target.suffix.lower() == suffix and not str(to).endswith("/") and not target.is_dir()
    folder = target.parent if renamed else target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # download into the same folder, so that the complete file can replace an existing one in one step
        with convert_errors(session), TemporaryDirectory(prefix=".agentsvc-", dir=folder) as aside:
            come = session.client().files.download(_resolve_file(session, path).path, chat=chat, to=aside)
            assert isinstance(come, Path)
            return _move_into_place(come, target if renamed else folder / come.name, force)
    except OSError as error:
        raise AskError(
            f"{path} can't be written to {folder}: {error.strerror}.", "Use another folder with --to DIR."
        ) from None


def _move_into_place(come: Path, target: Path, force: bool) -> DownloadResult:
    if target.is_file() and filecmp.cmp(come, target, shallow=False):
        return DownloadResult(target, same=True)
    if target.exists() and not force:
        raise AskError(
            f"{target} already exists with other content; nothing was replaced.",
            "Replace it with `%files get PATH --force`, or use another folder with `--to DIR`.",
        )
    come.replace(target)
    return DownloadResult(target, same=False)


PART_CHARS = 400


def search(session: Session, words: str, *, chat: str | None = None) -> ResultTable:
    """Search the files of the chat by name and content (docs/api/files.md "Search"). The best match comes first.

    The DataFrame has the columns of a list of files, and in addition `match`, `snippets`, and `passage` (the text of
    the snippets). Raises `AskError` when `words` is empty, the notebook has no chat yet, or the request fails.
    """
    where = chat or chat_of(session)
    found = search_files(session, words, where)
    rows = [_result_facts(result) for result in found.results]
    kinds = columns(SearchResult) | {"passage": "string"}
    return ResultTable(search_bundle(found, words), lambda: frame(rows, kinds, chat=where, query=words))


def search_files(session: Session, words: str, chat: str) -> FileSearch:
    """Search the files of a chat. Raises `AskError` when `words` is empty or the request fails."""
    if not words.strip():
        raise AskError(
            "The search words are missing; nothing was sent.", 'For example: %search "return on ad spend" -draft'
        )
    with convert_errors(session):
        return session.client().files.search(words, chat=chat)


def search_bundle(found: FileSearch, words: str) -> dict[str, str]:
    """Return search results as a table. Matched words are marked in the passages."""
    count = len(found.results)
    note = (
        f"{count} file{'s' * (count != 1)}"
        if count
        else "Nothing found. The content of a new file becomes searchable after a minute."
    )
    return grid(f"Search: {label(words)}", ("file", "size", "passages"), [*map(_result_row, found.results)], [note])


def _result_row(result: SearchResult) -> Row:
    path = code(result.path)
    named = (
        TableCell(f"{path.text} ({label(result.name)})", f"{path.html} {escape(result.name)}") if result.name else path
    )
    passages = TableCell(
        label(" … ".join(_passage_text(parts) for parts in result.snippets), PART_CHARS) or "(found by its name)",
        "".join(f"<div>{_passage_html(parts)}</div>" for parts in result.snippets),
    )
    return named, size(result.size_bytes), passages


def _passage_text(parts: list[SnippetPart]) -> str:
    return "".join(f"*{part.text}*" if part.match else part.text for part in parts)


def _passage_html(parts: list[SnippetPart]) -> str:
    return "".join(
        f"<mark>{_escape_snippet(part.text)}</mark>" if part.match else _escape_snippet(part.text) for part in parts
    )


def _escape_snippet(text: str) -> str:
    """Escape a part of a snippet. Keep the spaces at its ends, because they separate words (`escape` strips them)."""
    edge = " " if text[:1].isspace() else "", " " if text[-1:].isspace() else ""
    return f"{edge[0]}{escape(text, PART_CHARS)}{edge[1] if text.strip() else ''}"


def _result_facts(result: SearchResult) -> dict[str, Any]:
    facts = result.model_dump(exclude={"object"})
    return facts | {"passage": " … ".join("".join(part.text for part in parts) for parts in result.snippets)}


def files_preview(session: Session, path: str | WorkspaceFile, *, titled: bool = True) -> Preview:
    """Return a preview of the beginning of a file, chosen by its content, not by its name (see `previews`).

    Args:
        path: a path in the notebook's chat, or an entry of a list of files. With an entry, the list is not requested
            again.
        titled: whether the preview starts with the path, size and kind of the file.

    Raises:
        AskError: the file does not exist, or cannot be downloaded.
    """
    file = path if isinstance(path, WorkspaceFile) else _resolve_file(session, path)
    client, chat = session.client(), chat_of(session)
    with convert_errors(session):
        head = client.files.head(file, HEAD_BYTES, chat=chat)
        return Preview(preview_bundle(file, head, lambda to: client.files.download(file, chat=chat, to=to), titled))


def files_versions(session: Session, path: str) -> ResultTable:
    """List the versions of a file in this notebook's chat, the current version first. Removed files have versions, too.

    Raises `AskError` when the file is unknown, or a request fails.
    """
    found = _versions_at(session, path)
    rows = [(each.version, _bytes(each), author(each), format_time(each.updated_at)) for each in found]
    name, notes = label(found[0].path), ["this file was removed"] if found[0].removed else []
    if back := _restorable(found):
        notes.append(f"restore that version with `%files restore {name} {back[0].version}`")
    bundle = grid(f"Versions of {name}", ("version", "size", "from", "changed"), rows, notes)
    return ResultTable(bundle, lambda: frame(map(_facts, found), results.FILES, chat=chat_of(session)))


def files_restore(session: Session, path: str, version: str | None = None) -> str:
    """Restore an earlier version of a file, and return a sentence that says which.

    Without `version`, restore the version before the current one, or the last version of a removed file.

    Raises `AskError` when the file or version is unknown, or a request fails.
    """
    found = _versions_at(session, path)
    file = found[0]
    back = _restorable(found)[:1] if version is None else [each for each in found if str(each.version) == version]
    if not back:
        problem = "has only one version" if version is None else f"has no version {label(version, 40)}"
        hint = f"List the versions with `%files versions {label(file.path)}`."
        raise AskError(f"{label(file.path)} {problem}; nothing was restored.", hint)
    with convert_errors(session):
        restored = session.client().files.restore(file.path, back[0].version, chat=chat_of(session))
    session.record_put({restored.file_name: restored.id})
    if restored.version == file.version:
        return f"{file.path} already has the content of version {back[0].version}."
    return f"{file.path}: version {back[0].version} was restored as version {restored.version}."


def _versions_at(session: Session, path: str) -> list[WorkspaceFile]:
    """Return the versions of the file with this path or name. A removed file is found by its path only."""
    files = list_files(session)
    if len(fitting := _matching_files(files, path)) == 1:
        return versions(session, fitting[0])
    with convert_errors(session):
        try:
            return list(session.client().files.versions(path, chat=chat_of(session)))
        except StefanBrainError as error:
            if error.code != "file_not_found":
                raise
    raise missing_file_error(path, files)


def _restorable(found: Sequence[WorkspaceFile]) -> Sequence[WorkspaceFile]:
    """Return the versions that can be restored: all except the current one, or all if the file was removed."""
    return found if found[0].removed else found[1:]


def versions(session: Session, file: WorkspaceFile) -> list[WorkspaceFile]:
    """Return the versions of a file, the current version first. Raises `AskError` when the request fails."""
    with convert_errors(session):
        return list(session.client().files.versions(file.path, chat=chat_of(session)))


def _resolve_file(session: Session, path: str) -> WorkspaceFile:
    """Return the file with this path or name. Raise `AskError` if no file or several files have it."""
    files = list_files(session)
    fitting = _matching_files(files, path)
    if len(fitting) != 1:
        raise missing_file_error(path, files)
    return fitting[0]


def _matching_files(files: Sequence[WorkspaceFile], path: str) -> Sequence[WorkspaceFile]:
    """Return the file with this path, or if there is none, all files with this name."""
    exact = [file for file in files if file.path == path]
    return exact or [file for file in files if path in (file.file_name, file.name)]
