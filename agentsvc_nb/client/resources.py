"""The resources with few operations: models, usage, projects, chats, feedback, ad media and labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from agentsvc_nb.client.core import ACCEPTED, ApiRequest
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.faces import BlockingResource, Resource, blocking
from agentsvc_nb.client.models import Listing, to_listing
from agentsvc_nb.client.options import Options
from agentsvc_nb.client.references import ChatRef, IdRef
from agentsvc_nb.wire.files import Project, ProjectList, RetiredChat
from agentsvc_nb.wire.limits import FEEDBACK_FIELD_CHARS
from agentsvc_nb.wire.resources import (
    AdMedia,
    Category,
    DayUsage,
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
from agentsvc_nb.wire.runs import ModelInfo, ModelList
from agentsvc_nb.wire.tools import JobAccepted


class AsyncModels(Resource):
    """List the language models that a run may use."""

    async def list(self, **options: Unpack[Options]) -> Listing[ModelInfo]:
        """List the models that a run may use, with prices and availability. The first entry is the default model.

        Raises `StefanBrainError`.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [model.id for model in client.models.list() if model.available]  # doctest: +SKIP
        """
        return to_listing(await self._core.scoped(options).ask(ModelList, ApiRequest("models.list")), "data", ModelInfo)


class Models(BlockingResource):
    """List the language models that a run may use."""

    list = blocking(AsyncModels.list)


class AsyncUsage(Resource):
    """Read what the account has spent."""

    async def today(self, **options: Unpack[Options]) -> DayUsage:
        """Return the cost of the current day and the daily budget, in cents.

        The result has the billed cost and, separately, the amount that the service reserves for active work.

        Raises `StefanBrainError`.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.usage.today().billed_cents  # doctest: +SKIP
        12.5
        """
        return await self._core.scoped(options).ask(DayUsage, ApiRequest("usage.today"))


class Usage(BlockingResource):
    """Read what the account has spent."""

    today = blocking(AsyncUsage.today)


class AsyncProjects(Resource):
    """Create and change projects. A project is a named group of chats with shared instructions, rules and skills."""

    async def create(self, name: str, instructions: str | None = None, **options: Unpack[Options]) -> Project:
        """Create a project, and return it. Pass the project as `project` to runs and jobs.

        The client does not retry this request.

        Args:
            name: the name of the project.
            instructions: what the agent must know and follow in all chats of the project, at most 20,000 characters.

        Raises `StefanBrainError` (`invalid_json` for an invalid name).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.start("Plan the sale", project=client.projects.create("Autumn").id)  # doctest: +SKIP
        """
        request = ApiRequest("projects.create", body={"name": name, "instructions": instructions})
        return await self._core.scoped(options).ask(Project, request)

    async def update(
        self,
        project: IdRef,
        *,
        name: str | None = None,
        instructions: str | None = None,
        skills: Mapping[str, Mapping[str, str]] | None = None,
        **options: Unpack[Options],
    ) -> Project:
        """Change a project's name, instructions or skills, and return the project. You can safely repeat this call.

        An argument that you omit changes nothing.

        Args:
            project: the project, or its id.
            name: the new name.
            instructions: the new instructions, at most 20,000 characters.
            skills: the skills to add, replace or remove. The dict maps the name of each skill to its files, and each
                file path to the file's text: `{"tone": {"SKILL.md": text}}`. An empty dict of files removes the skill.
                Skills that the dict does not name do not change.

        Raises `StefanBrainError` (`project_not_found`, `invalid_skill` with the reason, `invalid_json` for instructions
        of more than 20,000 characters).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.projects.update("proj_1", instructions="Prices are net.")  # doctest: +SKIP
        """
        body = {"name": name, "instructions": instructions, "skills": skills}
        return await self._core.scoped(options).ask(
            Project, ApiRequest("projects.update", {"project": project}, body=body)
        )

    async def list(self, **options: Unpack[Options]) -> Listing[Project]:
        """List all projects of the account, the oldest project first. Raises `StefanBrainError`.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [project.name for project in client.projects.list()]  # doctest: +SKIP
        """
        return to_listing(
            await self._core.scoped(options).ask(ProjectList, ApiRequest("projects.list")), "data", Project
        )


class Projects(BlockingResource):
    """Create and change projects. A project is a named group of chats with shared instructions, rules and skills."""

    create = blocking(AsyncProjects.create)
    update = blocking(AsyncProjects.update)
    list = blocking(AsyncProjects.list)


class AsyncChats(Resource):
    """Retire chats. Runs and tools create chats when they need them."""

    async def retire(self, chat: ChatRef, **options: Unpack[Options]) -> RetiredChat:
        """Retire a chat, so that the service refuses new runs in it. You can safely repeat this call.

        An active run continues, and you can still read the chat's files. `chat` is a `chat_...` id, a UUID or a record
        such as a run.

        Raises `StefanBrainError` (`chat_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.chats.retire("chat_1").retired  # doctest: +SKIP
        True
        """
        return await self._core.scoped(options).ask(RetiredChat, ApiRequest("chats.retire", {"chat": chat}))


class Chats(BlockingResource):
    """Retire chats. Runs and tools create chats when they need them."""

    retire = blocking(AsyncChats.retire)


class AsyncFeedback(Resource):
    """Send reports to the operator of the service, and read the replies (docs/api/feedback.md)."""

    async def send(
        self,
        summary: str,
        *,
        category: Category | None = None,
        impact: Impact | None = None,
        endpoint: str | None = None,
        error_code: str | None = None,
        request_id: str | None = None,
        **options: Unpack[Options],
    ) -> FeedbackReceipt:
        """Send a report to the operator of the service. The client does not retry this request.

        Args:
            summary: what happened, or what you wish for, 1 to 2,000 characters.
            category: the kind of report: `"bug"`, `"idea"`, `"question"`, `"praise"` or `"other"`.
            impact: how much the problem hinders you: `"blocking"`, `"major"` or `"minor"`.
            endpoint: method and path of the call that the report is about, such as `POST /api/developers/v1/runs`.
            error_code: the `code` of the error that the report is about.
            request_id: the `request_id` of the error that the report is about.

        Raises:
            StefanBrainError: the report is invalid (`invalid_feedback`).
            RateLimitError: you have sent 60 reports in the last hour (`feedback_rate_limited`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

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
        return await self._core.scoped(options).ask(FeedbackReceipt, ApiRequest("feedback.send", body=body))

    async def from_last_error(
        self,
        summary: str,
        *,
        category: Category | None = "bug",
        impact: Impact | None = None,
        **options: Unpack[Options],
    ) -> FeedbackReceipt:
        """Send a report about the last failed request of this client.

        The report includes the request's endpoint, error code and request id. `summary`, `category` and `impact` are
        those of `send`.

        Raises the errors of `send`, and `StefanBrainError` if no call in `client.history` has failed.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.feedback.from_last_error("A start with a CSV fails", impact="blocking").id  # doctest: +SKIP
        """
        failed = self._core.history.last_error
        if failed is None:
            raise StefanBrainError("No request of this client has failed. Write a report with feedback.send.")
        endpoint = f"{failed.method} {failed.path}"[:FEEDBACK_FIELD_CHARS]
        about = {"endpoint": endpoint, "error_code": failed.code, "request_id": failed.request_id}
        return await self.send(summary, category=category, impact=impact, **about, **options)

    async def list(
        self, *, status: Status | None = None, limit: int | None = None, **options: Unpack[Options]
    ) -> Listing[FeedbackReport]:
        """List the reports of the account, the newest report first.

        Args:
            status: list only reports that are `"open"`, `"answered"` or `"closed"`.
            limit: the maximum number of reports, 1 to 100. The default is 20.

        Raises `StefanBrainError` (`invalid_query`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.feedback.list(status="open").to_frame()  # doctest: +SKIP
        """
        request = ApiRequest("feedback.list", query={"status": status, "limit": limit})
        return to_listing(await self._core.scoped(options).ask(FeedbackList, request), "data", FeedbackReport)

    async def get(self, id: IdRef, **options: Unpack[Options]) -> FeedbackReport:
        """Return a report. `reply` is the operator's reply, or None before the operator has replied.

        `id` is the report or its id. Raises `StefanBrainError` (`feedback_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.feedback.get("fb_1").reply  # doctest: +SKIP
        """
        return await self._core.scoped(options).ask(FeedbackReport, ApiRequest("feedback.get", {"id": id}))


class Feedback(BlockingResource):
    """Send reports to the operator of the service, and read the replies (docs/api/feedback.md)."""

    send = blocking(AsyncFeedback.send)
    from_last_error = blocking(AsyncFeedback.from_last_error)
    list = blocking(AsyncFeedback.list)
    get = blocking(AsyncFeedback.get)


class AsyncMedia(Resource):
    """Read the ad media that the service stores (videos, sounds and pictures), and their transcripts."""

    async def get(self, media_id: IdRef, **options: Unpack[Options]) -> AdMedia:
        """Return the record of a stored video, sound or picture. Raises `StefanBrainError` (`media_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.media.get("media_1").kind  # doctest: +SKIP
        'video'
        """
        return await self._core.scoped(options).ask(AdMedia, ApiRequest("media.get", {"media_id": media_id}))

    async def transcribe(self, media_id: IdRef, **options: Unpack[Options]) -> Transcript | JobAccepted:
        """Return the transcript of a medium. If there is none, start a job that creates it, and return a `JobAccepted`.

        The client does not retry this request.

        Raises `StefanBrainError` (`media_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.media.transcribe("media_1")  # doctest: +SKIP
        """
        core = self._core.scoped(options)
        response = await core.send(ApiRequest("media.transcribe", {"media_id": media_id}))
        if response.status == ACCEPTED:
            return core.read(JobAccepted, response)
        return core.read(Transcript, response)


class Media(BlockingResource):
    """Read the ad media that the service stores (videos, sounds and pictures), and their transcripts."""

    get = blocking(AsyncMedia.get)
    transcribe = blocking(AsyncMedia.transcribe)


class AsyncLabels(Resource):
    """Read and write the labels of landing pages. A label is a property of a page, such as its tone."""

    async def list(self, **options: Unpack[Options]) -> Listing[Label]:
        """List all labels with their allowed values. Raises `StefanBrainError`.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.labels.list().to_frame()  # doctest: +SKIP
        """
        return to_listing(await self._core.scoped(options).ask(LabelList, ApiRequest("labels.list")), "labels", Label)

    async def get(self, page_id: IdRef, **options: Unpack[Options]) -> LandingPage:
        """Return a landing page with its labels. Raises `StefanBrainError` (`landing_page_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.labels.get("page_1").labels  # doctest: +SKIP
        {'tone': 'playful'}
        """
        return await self._core.scoped(options).ask(LandingPage, ApiRequest("labels.get", {"page_id": page_id}))

    async def write(
        self, page_id: IdRef, labels: dict[str, str], expected_version: int, **options: Unpack[Options]
    ) -> LandingPage:
        """Replace all labels of a landing page, and return the page. The client does not retry this request.

        Args:
            page_id: the landing page, or its id.
            labels: the new labels: a dict of label names and values.
            expected_version: the `version` of the page that you have read.

        Raises `StefanBrainError` (`invalid_label`, or `version_conflict` if somebody has changed the page in the
        meantime).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> page = client.labels.get("page_1")  # doctest: +SKIP
        >>> client.labels.write("page_1", {**page.labels, "tone": "playful"}, page.version)  # doctest: +SKIP
        """
        body = {"labels": labels, "expected_version": expected_version}
        request = ApiRequest("labels.write", {"page_id": page_id}, body=body)
        return await self._core.scoped(options).ask(LandingPage, request)


class Labels(BlockingResource):
    """Read and write the labels of landing pages. A label is a property of a page, such as its tone."""

    list = blocking(AsyncLabels.list)
    get = blocking(AsyncLabels.get)
    write = blocking(AsyncLabels.write)
