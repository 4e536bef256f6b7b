"""What is around the work: projects, chats and their files, feedback, stored ad media, labels of landing pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from agentsvc_nb.client.core import ACCEPTED, ApiRequest, Core
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.methods import Paged
from agentsvc_nb.client.models import FileSearch, Listing, listing
from agentsvc_nb.client.options import Options, hook, whole
from agentsvc_nb.client.references import ChatRef, IdRef, identifier, optional
from agentsvc_nb.client.transport.io import OnBytes
from agentsvc_nb.client.uploads import FileInput, parts
from agentsvc_nb.wire.files import (
    FileFacts,
    FilePage,
    FileVersions,
    Project,
    ProjectList,
    RetiredChat,
    StagedFile,
    StagedFiles,
    WorkspaceFile,
)
from agentsvc_nb.wire.limits import FEEDBACK_FIELD_CHARS
from agentsvc_nb.wire.models import ModelInfo, ModelList
from agentsvc_nb.wire.resources import (
    AdMedia,
    Category,
    FeedbackList,
    FeedbackReceipt,
    FeedbackReport,
    Impact,
    Label,
    LabelList,
    LandingPage,
    Status,
    Transcript,
)
from agentsvc_nb.wire.tools import JobAccepted

# -- projects and chats ---------------------------------------------------------------------------------------------


async def create_project(core: Core, name: str, instructions: str | None = None, **options: Unpack[Options]) -> Project:
    """Make a project; give its id as `project` to runs and jobs. The agent is told `instructions` in all its chats.
    Never sent twice.

    Raises `StefanBrainError` (`invalid_json` for a name that is none).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.runs.start("Plan the sale", project=client.projects.create("Autumn").id)  # doctest: +SKIP
    """
    body = {"name": name} if instructions is None else {"name": name, "instructions": instructions}
    return await core.scoped(options).ask(Project, ApiRequest("projects.create", body=body))


async def update_project(
    core: Core,
    project: IdRef,
    *,
    name: str | None = None,
    instructions: str | None = None,
    skills: Mapping[str, Mapping[str, str]] | None = None,
    **options: Unpack[Options],
) -> Project:
    """Change a project's name, or what the agent is told in all its chats; what is left out stays. Safe to repeat.

    `skills` are the texts of folders of skills by name and path, such as `{"tone": {"SKILL.md": text}}`; one without
    files is taken away, those that are not named stay.

    Raises `StefanBrainError` (`project_not_found`, `invalid_skill` with what a skill lacks, `invalid_json` for
    instructions of more than 20,000 characters).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.projects.update("proj_1", instructions="Prices are net.")  # doctest: +SKIP
    """
    given = {"name": name, "instructions": instructions, "skills": skills}
    body = {key: value for key, value in given.items() if value is not None}
    return await core.scoped(options).ask(Project, ApiRequest("projects.update", {"project": project}, body=body))


async def list_models(core: Core, **options: Unpack[Options]) -> Listing[ModelInfo]:
    """The models that a start may name, the default first, with what they cost and whether they can answer. Raises
    `StefanBrainError`.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [model.id for model in client.models.list() if model.available]  # doctest: +SKIP
    """
    return listing(await core.scoped(options).ask(ModelList, ApiRequest("models.list")), "data", ModelInfo)


async def list_projects(core: Core, **options: Unpack[Options]) -> Listing[Project]:
    """All projects, the oldest first. Raises `StefanBrainError`.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [project.name for project in client.projects.list()]  # doctest: +SKIP
    """
    return listing(await core.scoped(options).ask(ProjectList, ApiRequest("projects.list")), "data", Project)


async def retire_chat(core: Core, chat: ChatRef, **options: Unpack[Options]) -> RetiredChat:
    """Let a chat take no more starts; safe to repeat. What runs in it goes on, and its files stay readable.

    Raises `StefanBrainError` (`chat_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.chats.retire("chat_1").retired  # doctest: +SKIP
    True
    """
    return await core.scoped(options).ask(RetiredChat, ApiRequest("chats.retire", {"chat": chat}))


# -- files of a chat ------------------------------------------------------------------------------------------------


async def upload_files(
    core: Core,
    *files: FileInput,
    chat: ChatRef | None = None,
    session: str | None = None,
    project: IdRef | None = None,
    on_progress: OnBytes | None = None,
    **options: Unpack[Options],
) -> Listing[StagedFile]:
    """Stage up to 10 files for later use as attachments (`file_ids`), for 24 hours; with `chat` put them there too.

    Args:
        files: each a path, a file opened with `"rb"` (sent from where it stands), bytes, a pandas DataFrame (as CSV), a
            matplotlib figure or a PIL picture (as PNG); and each of the last five also as `(name, it)`.
        chat: a `chat_...` id or UUID, whose files they become at once.
        session, project: the same for the chat of a label, which is made if need be; the files' `chat` names it.
        on_progress: is called with the bytes of the request that have gone out, and all that will.

    Raises `StefanBrainError` (`too_many_files` before anything is sent, `file_too_large`, `unsupported_attachment`),
    `OSError` for a path, `TypeError` for what is no file.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [staged] = client.files.upload("prices.csv")  # doctest: +SKIP
    >>> client.runs.start("What changed?", file_ids=[staged.id])  # doctest: +SKIP
    """
    if not files:
        return Listing([], StagedFile)
    core = core.scoped(options)  # first: what is made of large content takes of the deadline, too
    where = {"chat_id": chat, "session": session, "project": optional("project", project)}
    told = hook("on_progress", on_progress)
    request = ApiRequest("files.upload", query=where, files=parts(files, "too_many_files"), on_sent=told)
    return listing(await core.ask(StagedFiles, request), "files", StagedFile)


def list_files(core: Core, chat: ChatRef, **options: Unpack[Options]) -> Paged[WorkspaceFile]:
    """The chat's files by path, over all pages. Raises `StefanBrainError` (`chat_not_found`) as it is walked.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [file.path for file in client.files.list("chat_1")]  # doctest: +SKIP
    ['reports/plan.md', 'uploads/prices.csv']
    """
    core = core.scoped(options)
    chat_id = identifier("chat", chat)

    async def fetch(after: str) -> tuple[list[WorkspaceFile], str | None, str | None]:
        page = await core.ask(FilePage, ApiRequest("files.list", query={"chat_id": chat_id, "after": after or None}))
        return page.files, page.next_after, page._request_id

    return Paged(fetch, "", WorkspaceFile)


async def search_files(core: Core, q: str, *, chat: ChatRef, **options: Unpack[Options]) -> FileSearch:
    """Search the chat's files by name and contents: words, "phrases", `or`, `-without`; the last word as a prefix.

    Raises `StefanBrainError` (`chat_not_found`, `invalid_query`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.files.search('"autumn sale" -draft', chat="chat_1").results[0].path  # doctest: +SKIP
    'reports/plan.md'
    """
    return await core.scoped(options).ask(
        FileSearch, ApiRequest("files.search", query={"chat_id": identifier("chat", chat), "q": q})
    )


async def rename_file(
    core: Core, path: str | FileFacts, name: str, *, chat: ChatRef, **options: Unpack[Options]
) -> WorkspaceFile:
    """Give a file a name of your own, which search finds, too; an empty one takes it back. The path stays.

    Raises `StefanBrainError` (`file_not_found`, `invalid_json` for a name of two lines).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.files.rename("reports/plan.md", "The plan", chat="chat_1").name  # doctest: +SKIP
    'The plan'
    """
    request = ApiRequest("files.rename", query={"chat_id": chat, "path": identifier("path", path)}, body={"name": name})
    return await core.scoped(options).ask(WorkspaceFile, request)


async def list_versions(
    core: Core, path: str | FileFacts, *, chat: ChatRef, **options: Unpack[Options]
) -> Listing[WorkspaceFile]:
    """List the versions of a file, the current one first. Each is an entry for `files.download`.

    Raises `StefanBrainError` (`file_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [each.version for each in client.files.versions("uploads/prices.csv", chat="chat_1")]  # doctest: +SKIP
    [2, 1]
    """
    request = ApiRequest("files.versions", query={"chat_id": chat, "path": identifier("path", path)})
    return listing(await core.scoped(options).ask(FileVersions, request), "data", WorkspaceFile)


async def restore_file(
    core: Core, path: str | FileFacts, version: int, *, chat: ChatRef, **options: Unpack[Options]
) -> WorkspaceFile:
    """Bring an earlier version of a file back. It becomes a new version, so that the present one is kept; safe to
    repeat.

    Raises `StefanBrainError` (`file_not_found`, also for a version that is not kept).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.files.restore("uploads/prices.csv", 1, chat="chat_1").version  # doctest: +SKIP
    3
    """
    where = {"chat_id": chat, "path": identifier("path", path)}
    request = ApiRequest("files.restore", query=where, body={"version": whole("version", version, least=1)})
    return await core.scoped(options).ask(WorkspaceFile, request)


# -- feedback (docs/api/feedback.md) --------------------------------------------------------------------------------


async def send_feedback(
    core: Core,
    summary: str,
    *,
    category: Category | None = None,
    impact: Impact | None = None,
    endpoint: str | None = None,
    error_code: str | None = None,
    request_id: str | None = None,
    **options: Unpack[Options],
) -> FeedbackReceipt:
    """Send a report; never sent twice.

    Args:
        summary: what happened, or what is wished for: 1 to 2,000 characters.
        category: what kind of report it is.
        impact: how much it stands in the way.
        endpoint, error_code, request_id: what it is about, as an error of this client has them.

    Raises:
        StefanBrainError: `invalid_feedback`.
        RateLimitError: `feedback_rate_limited`, after 60 reports in an hour.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.feedback.send("More fonts, please", category="idea").id  # doctest: +SKIP
    """
    body = {
        "summary": summary,
        "category": category,
        "impact": impact,
        "endpoint": endpoint,
        "error_code": error_code,
        "request_id": request_id,
    }
    return await core.scoped(options).ask(FeedbackReceipt, ApiRequest("feedback.send", body=body))


async def feedback_from_last_error(
    core: Core,
    summary: str,
    *,
    category: Category | None = "bug",
    impact: Impact | None = None,
    **options: Unpack[Options],
) -> FeedbackReceipt:
    """Send a report about the last call of this client that failed: its endpoint, error code and request id go along.

    Raises as `send`; `StefanBrainError` when no call in `client.history` failed.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.feedback.from_last_error("A start with a CSV fails", impact="blocking").id  # doctest: +SKIP
    """
    failed = core.history.last_error
    if failed is None:
        raise StefanBrainError("No call of this client has failed; send a report of your own with feedback.send.")
    return await send_feedback(
        core,
        summary,
        category=category,
        impact=impact,
        endpoint=f"{failed.method} {failed.path}"[:FEEDBACK_FIELD_CHARS],
        error_code=failed.code,
        request_id=failed.request_id,
        **options,
    )


async def list_feedback(
    core: Core, *, status: Status | None = None, limit: int | None = None, **options: Unpack[Options]
) -> Listing[FeedbackReport]:
    """The reports of the account, newest first: of one `status`, and at most `limit` (1 to 100, default 20).

    Raises `StefanBrainError` (`invalid_query`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.feedback.list(status="open").to_frame()  # doctest: +SKIP
    """
    request = ApiRequest("feedback.list", query={"status": status, "limit": limit})
    return listing(await core.scoped(options).ask(FeedbackList, request), "data", FeedbackReport)


async def get_feedback(core: Core, id: IdRef, **options: Unpack[Options]) -> FeedbackReport:
    """A report, with the team's `reply` once there is one. Raises `StefanBrainError` (`feedback_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.feedback.get("fb_1").reply  # doctest: +SKIP
    """
    return await core.scoped(options).ask(FeedbackReport, ApiRequest("feedback.get", {"id": id}))


# -- media and landing pages ----------------------------------------------------------------------------------------


async def get_media(core: Core, media_id: IdRef, **options: Unpack[Options]) -> AdMedia:
    """A stored video, sound or picture. Raises `StefanBrainError` (`media_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.media.get("media_1").kind  # doctest: +SKIP
    'video'
    """
    return await core.scoped(options).ask(AdMedia, ApiRequest("media.get", {"media_id": media_id}))


async def transcribe(core: Core, media_id: IdRef, **options: Unpack[Options]) -> Transcript | JobAccepted:
    """The stored transcript, or else the acceptance of the job that makes one; never sent twice.

    Raises `StefanBrainError` (`media_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.media.transcribe("media_1")  # doctest: +SKIP
    """
    request = ApiRequest("media.transcribe", {"media_id": media_id})
    response = await core.scoped(options).send(request)
    if response.status == ACCEPTED:
        return core.read(JobAccepted, response)
    return core.read(Transcript, response)


async def list_labels(core: Core, **options: Unpack[Options]) -> Listing[Label]:
    """The labels that there are, each with the values that it may have. Raises `StefanBrainError`.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.labels.list().to_frame()  # doctest: +SKIP
    """
    return listing(await core.scoped(options).ask(LabelList, ApiRequest("labels.list")), "labels", Label)


async def get_landing_page(core: Core, page_id: IdRef, **options: Unpack[Options]) -> LandingPage:
    """A landing page with its labels. Raises `StefanBrainError` (`landing_page_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.labels.get("page_1").labels  # doctest: +SKIP
    {'tone': 'playful'}
    """
    return await core.scoped(options).ask(LandingPage, ApiRequest("labels.get", {"page_id": page_id}))


async def write_labels(
    core: Core, page_id: IdRef, labels: dict[str, str], expected_version: int, **options: Unpack[Options]
) -> LandingPage:
    """Replace the labels of a page; one that is left out is taken away. Never sent twice.

    `expected_version` is the `version` that was read. Raises `StefanBrainError`: `invalid_label`, or
    `version_conflict` when somebody else wrote since.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> page = client.labels.get("page_1")  # doctest: +SKIP
    >>> client.labels.write("page_1", {**page.labels, "tone": "playful"}, page.version)  # doctest: +SKIP
    """
    body = {"labels": labels, "expected_version": expected_version}
    return await core.scoped(options).ask(LandingPage, ApiRequest("labels.write", {"page_id": page_id}, body=body))
