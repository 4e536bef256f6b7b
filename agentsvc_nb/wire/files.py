"""The models of projects, chats, files of a chat (workspace files), staged uploads and search."""

from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, StringConstraints

from agentsvc_nb.wire import limits
from agentsvc_nb.wire.ids import SHA256
from agentsvc_nb.wire.models import Model, Request

KNOWN_BEGINNINGS: Final = (
    ("image/png", rb"\x89PNG\r\n\x1a\n", "image.png"),
    ("image/jpeg", rb"\xff\xd8\xff", "image.jpg"),
    ("image/gif", rb"GIF8[79]a", "image.gif"),
    ("image/webp", rb"RIFF....WEBP", "image.webp"),
    ("application/pdf", rb"(?:\xef\xbb\xbf|\s)*%PDF-", "document.pdf"),
)
"""How to recognise a file's type. Each item has three parts: the media type, a pattern for the first bytes, and the
name to use for such a file if it is sent without a name.

The service recognises more types (`documents.media_types`).
"""


ProjectName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=limits.PROJECT_NAME_CHARS, pattern=r"^[^\n\r]*$"),
    Field(description="The project's name: one line.", examples=["Summer sale"]),
]
Instructions = Annotated[
    str,
    StringConstraints(max_length=limits.INSTRUCTIONS_CHARS),
    Field(
        description="Instructions to the agent for every chat of the project.",
        examples=["Prices are net. Answer in British English."],
    ),
]


class NewProject(Request):
    """The body of `POST /projects`."""

    name: ProjectName
    instructions: Instructions | None = None


_FILES_OF_A_SKILL: Final[dict[str, JsonValue]] = {
    "anyOf": [
        {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        {"type": "null"},
    ]
}


class ProjectChange(Request):
    """The body of `PATCH /projects/{project}`. Absent fields do not change."""

    name: ProjectName | None = None
    instructions: Instructions | None = None
    skills: dict[str, dict[str, str]] | None = Field(
        default=None,
        # A file whose text is null counts as absent, as fields do (docs/api/conventions.md "Values").
        json_schema_extra={"anyOf": [{"type": "object", "additionalProperties": _FILES_OF_A_SKILL}, {"type": "null"}]},
        description="Skills by name, each with its files' texts by path; a skill without files is removed.",
        examples=[{"tone": {"SKILL.md": "---\nname: tone\ndescription: How we write.\n---\nShort sentences."}}],
    )


class SkillFacts(Model):
    """A skill of a project: instructions for a kind of work, which the agent reads when it needs them."""

    object: str = "skill"
    name: str = ""
    description: str = Field(default="", description="What it is for; the agent chooses skills by this text.")
    files: list[str] = Field(default_factory=list, description="Paths within the skill.")


class Project(Model):
    """A project, which is a group of chats. Runs and jobs name their project in `project`."""

    object: str = "project"
    id: str
    name: str = ""
    instructions: str = Field(default="", description="Instructions to the agent for every chat of the project.")
    skills: list[SkillFacts] = Field(default_factory=list)


class ProjectList(Model):
    object: str = "list"
    data: list[Project] = Field(default_factory=list)


class RetiredChat(Model):
    """A retired chat. No run or job can start in it any more, but it can still be read."""

    object: str = "chat"
    id: str
    retired: bool = True


ONE_LINE: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]*$"
"""Matches a text without line breaks, control characters and bidirectional controls.

Joiners (U+200C, U+200D) are allowed, because some scripts need them.
"""


class NewName(Request):
    """The body of `PATCH /files`."""

    name: str = Field(
        max_length=limits.FILE_NAME_CHARS,
        pattern=ONE_LINE,
        description="The member's own name for the file; an empty text removes it.",
        examples=["Final report"],
    )


class RestoredVersion(Request):
    """The body of `POST /files/restore`."""

    version: int = Field(ge=1, le=limits.INTEGER_MAX, description="The version to restore.", examples=[1])


class StagedFile(Model):
    """An uploaded file that a run's start can attach by its ID. The ID is valid for 24 hours."""

    object: str = "staged_file"
    id: str
    file_name: str = ""
    media_type: str = ""
    size_bytes: int = 0
    sha256: str = ""
    expires_at: str | None = None
    chat: str | None = Field(default=None, description="The chat that also has the file.")


class StagedFiles(Model):
    object: str = "list"
    files: list[StagedFile] = Field(default_factory=list)


class TypedOutput(Model):
    """A set of files that belong together, such as the pictures that a job created, or a table with a file that
    describes its columns.
    """

    id: str
    type: Literal["image_set", "video_cuts", "report", "table", "chart"] | str


class FileFacts(Model):
    """Facts about a file of a chat. `id` is the SHA-256 of the file's content. `kind` says who created the file."""

    object: str = "workspace_file"
    id: str = Field(json_schema_extra={"pattern": SHA256})
    path: str = ""
    file_name: str = ""
    name: str | None = None
    kind: Literal["output", "upload"] | str = "output"
    media_type: str = ""
    size_bytes: int = 0
    updated_at: str | None = None
    unreadable: str | None = Field(
        default=None,
        description="Why the text, or a part of it, could not be read; null if it was read or the file has no text.",
    )


class WorkspaceFile(FileFacts):
    """A file of a chat, or an earlier version of a file. `output` is the typed output to which the file belongs, if
    any.

    `removed` is true if the file was removed from the chat, so that only its versions remain.
    """

    run_id: str | None = None
    output: TypedOutput | None = None
    version: int = 1
    removed: bool = False
    download_url: str = ""


class FilePage(Model):
    """A page of the list of a chat's files, in the order of their paths. `next_after` is null on the last page."""

    object: str = "list"
    chat: str = ""
    files: list[WorkspaceFile] = Field(default_factory=list)
    next_after: str | None = None


class FileVersions(Model):
    """The versions of a file, the current version first."""

    object: str = "list"
    chat: str = ""
    data: list[WorkspaceFile] = Field(default_factory=list)


class SnippetPart(Model):
    text: str
    match: bool


class SearchResult(FileFacts):
    """A file that a search has found. `match` says whether its `name` or its `content` matches. Matching names come
    first. `snippets` are passages with the matching words marked.
    """

    object: str = "workspace_file_search_result"
    match: Literal["name", "content"] | str = "content"
    snippets: list[list[SnippetPart]] = Field(
        default_factory=list, json_schema_extra={"maxItems": limits.SNIPPETS_PER_MATCH}
    )


class FileSearch(Model):
    object: str = "workspace_file_search"
    chat: str = ""
    results: list[SearchResult] = Field(default_factory=list, json_schema_extra={"maxItems": limits.SEARCH_MAX_RESULTS})
