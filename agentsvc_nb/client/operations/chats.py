"""Projects, chats, and the files of a chat."""

from __future__ import annotations

from typing import Unpack

from agentsvc_nb.client.models import FileSearch, Listing
from agentsvc_nb.client.request.inputs import FileInput, parts
from agentsvc_nb.client.request.options import Options
from agentsvc_nb.client.request.request import ApiRequest, Core
from agentsvc_nb.client.streams.pages import Paged
from agentsvc_nb.client.transport.io import OnBytes
from agentsvc_nb.wire.files import FilePage, Project, ProjectList, RetiredChat, StagedFile, StagedFiles, WorkspaceFile


async def create_project(core: Core, name: str, **options: Unpack[Options]) -> Project:
    """Make a project; give its id as `project` to runs and jobs. Never sent twice.

    Raises `StefanBrainError` (`invalid_json` for a name that is none).

    >>> client.runs.start("Plan the sale", project=client.projects.create("Autumn").id)  # doctest: +SKIP
    """
    return await core.scoped(options).ask(Project, ApiRequest("projects.create", body={"name": name}))


async def list_projects(core: Core, **options: Unpack[Options]) -> Listing[Project]:
    """All projects, the oldest first. Raises `StefanBrainError`.

    >>> [project.name for project in client.projects.list()]  # doctest: +SKIP
    """
    return Listing((await core.scoped(options).ask(ProjectList, ApiRequest("projects.list"))).data, Project)


async def retire(core: Core, chat: str, **options: Unpack[Options]) -> RetiredChat:
    """Let a chat take no more starts; safe to repeat. What runs in it goes on, and its files stay readable.

    Raises `StefanBrainError` (`chat_not_found`).

    >>> client.chats.retire("chat_1").retired  # doctest: +SKIP
    True
    """
    return await core.scoped(options).ask(RetiredChat, ApiRequest("chats.retire", {"chat": chat}))


async def upload(
    core: Core,
    *files: FileInput,
    chat: str | None = None,
    on_progress: OnBytes | None = None,
    **options: Unpack[Options],
) -> Listing[StagedFile]:
    """Stage up to 10 files for later use as attachments (`file_ids`), for 24 hours; with `chat` put them there too.

    A file is a path, a file opened with `"rb"` (sent from where it stands), bytes, a pandas DataFrame (as CSV), a
    matplotlib figure or a PIL picture (as PNG); and each of the last five also as `(name, it)`. `on_progress` is called
    with the bytes of the request that have gone out, and all that will.
    Raises `StefanBrainError` (`too_many_files` before anything is sent, `file_too_large`, `unsupported_attachment`),
    `OSError` for a path, `TypeError` for what is no file.

    >>> [staged] = client.files.upload("prices.csv")  # doctest: +SKIP
    >>> client.runs.start("What changed?", file_ids=[staged.id])  # doctest: +SKIP
    """
    if not files:
        return Listing([], StagedFile)
    request = ApiRequest(
        "files.upload", query={"chat_id": chat}, files=parts(files, "too_many_files"), on_sent=on_progress
    )
    return Listing((await core.scoped(options).ask(StagedFiles, request)).files, StagedFile)


def list_(core: Core, chat: str, **options: Unpack[Options]) -> Paged[WorkspaceFile]:
    """The chat's files by path, over all pages. Raises `StefanBrainError` (`chat_not_found`) as it is walked.

    >>> [file.path for file in client.files.list("chat_1")]  # doctest: +SKIP
    ['reports/plan.md', 'uploads/prices.csv']
    """
    core = core.scoped(options)

    async def fetch(after: str) -> tuple[list[WorkspaceFile], str | None]:
        page = await core.ask(FilePage, ApiRequest("files.list", query={"chat_id": chat, "after": after or None}))
        return page.files, page.next_after

    return Paged(fetch, "", WorkspaceFile)


async def search(core: Core, q: str, *, chat: str, **options: Unpack[Options]) -> FileSearch:
    """Search the chat's files by name and contents: words, "phrases", `or`, `-without`; the last word as a prefix.

    Raises `StefanBrainError` (`chat_not_found`, `invalid_query`).

    >>> client.files.search('"autumn sale" -draft', chat="chat_1").results[0].path  # doctest: +SKIP
    'reports/plan.md'
    """
    return await core.scoped(options).ask(FileSearch, ApiRequest("files.search", query={"chat_id": chat, "q": q}))


async def rename(core: Core, path: str, name: str, *, chat: str, **options: Unpack[Options]) -> WorkspaceFile:
    """Give a file a name of your own, which search finds, too; an empty one takes it back. The path stays.

    Raises `StefanBrainError` (`file_not_found`, `invalid_json` for a name of two lines).

    >>> client.files.rename("reports/plan.md", "The plan", chat="chat_1").name  # doctest: +SKIP
    'The plan'
    """
    request = ApiRequest("files.rename", query={"chat_id": chat, "path": path}, body={"name": name})
    return await core.scoped(options).ask(WorkspaceFile, request)
