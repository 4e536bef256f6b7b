"""The small resources: models, projects, chats, feedback, stored ad media, and labels of landing pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from agentsvc_nb.client.core import ACCEPTED, ApiRequest
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.faces import BlockingResource, Resource, blocking
from agentsvc_nb.client.models import Listing, listing
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
    """The models that a run may use."""

    async def list(self, **options: Unpack[Options]) -> Listing[ModelInfo]:
        """List the models that a run may use, the default first, with prices and availability.

        Raises `StefanBrainError`.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [model.id for model in client.models.list() if model.available]  # doctest: +SKIP
        """
        return listing(await self._core.scoped(options).ask(ModelList, ApiRequest("models.list")), "data", ModelInfo)


class Models(BlockingResource):
    """The models that a run may use."""

    list = blocking(AsyncModels.list)


class AsyncUsage(Resource):
    """The account's usage."""

    async def today(self, **options: Unpack[Options]) -> DayUsage:
        """Return today's billed cost, the cost that active work holds, and the daily budget, in cents.

        Raises `StefanBrainError`.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.usage.today().billed_cents  # doctest: +SKIP
        12.5
        """
        return await self._core.scoped(options).ask(DayUsage, ApiRequest("usage.today"))


class Usage(BlockingResource):
    """The account's usage."""

    today = blocking(AsyncUsage.today)


class AsyncProjects(Resource):
    """Projects, which group chats."""

    async def create(self, name: str, instructions: str | None = None, **options: Unpack[Options]) -> Project:
        """Create a project. Pass its id as `project` to runs and jobs. Never sent twice.

        The agent gets the `instructions` in all chats of the project.

        Raises `StefanBrainError` (`invalid_json` for an invalid name).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

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
        """Change a project's name, instructions or skills. Arguments that you leave out change nothing. Safe to repeat.

        `skills` maps skill names to their files, and file paths to texts: `{"tone": {"SKILL.md": text}}`. A skill
        without files is removed. Skills that you do not name stay.

        Raises `StefanBrainError` (`project_not_found`, `invalid_skill` with the reason, `invalid_json` for instructions
        of more than 20,000 characters).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.projects.update("proj_1", instructions="Prices are net.")  # doctest: +SKIP
        """
        body = {"name": name, "instructions": instructions, "skills": skills}
        return await self._core.scoped(options).ask(
            Project, ApiRequest("projects.update", {"project": project}, body=body)
        )

    async def list(self, **options: Unpack[Options]) -> Listing[Project]:
        """List all projects, oldest first. Raises `StefanBrainError`.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [project.name for project in client.projects.list()]  # doctest: +SKIP
        """
        return listing(await self._core.scoped(options).ask(ProjectList, ApiRequest("projects.list")), "data", Project)


class Projects(BlockingResource):
    """Projects, which group chats."""

    create = blocking(AsyncProjects.create)
    update = blocking(AsyncProjects.update)
    list = blocking(AsyncProjects.list)


class AsyncChats(Resource):
    """Chats. Runs and tools create them as needed."""

    async def retire(self, chat: ChatRef, **options: Unpack[Options]) -> RetiredChat:
        """Make a chat refuse new starts. Its active turn continues, and its files stay readable. Safe to repeat.

        Raises `StefanBrainError` (`chat_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.chats.retire("chat_1").retired  # doctest: +SKIP
        True
        """
        return await self._core.scoped(options).ask(RetiredChat, ApiRequest("chats.retire", {"chat": chat}))


class Chats(BlockingResource):
    """Chats. Runs and tools create them as needed."""

    retire = blocking(AsyncChats.retire)


class AsyncFeedback(Resource):
    """Reports to the team that runs the service, and its replies (docs/api/feedback.md)."""

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
        """Send a report. Never sent twice.

        Args:
            summary: what happened, or what you wish for: 1 to 2,000 characters.
            category: the kind of report.
            impact: how much the problem hinders you.
            endpoint, error_code, request_id: the call that the report is about, as an error of this client names it.

        Raises:
            StefanBrainError: `invalid_feedback`.
            RateLimitError: `feedback_rate_limited`, after 60 reports in an hour.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

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
        """Send a report about the last failed call of this client, with its endpoint, error code and request id.

        Raises the errors of `send`, and `StefanBrainError` if no call in `client.history` has failed.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

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
        """List the reports of the account, newest first, with this `status`, at most `limit` (1 to 100, default 20).

        Raises `StefanBrainError` (`invalid_query`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.feedback.list(status="open").to_frame()  # doctest: +SKIP
        """
        request = ApiRequest("feedback.list", query={"status": status, "limit": limit})
        return listing(await self._core.scoped(options).ask(FeedbackList, request), "data", FeedbackReport)

    async def get(self, id: IdRef, **options: Unpack[Options]) -> FeedbackReport:
        """Return a report, with the team's `reply` once there is one. Raises `StefanBrainError` (`feedback_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.feedback.get("fb_1").reply  # doctest: +SKIP
        """
        return await self._core.scoped(options).ask(FeedbackReport, ApiRequest("feedback.get", {"id": id}))


class Feedback(BlockingResource):
    """Reports to the team that runs the service, and its replies (docs/api/feedback.md)."""

    send = blocking(AsyncFeedback.send)
    from_last_error = blocking(AsyncFeedback.from_last_error)
    list = blocking(AsyncFeedback.list)
    get = blocking(AsyncFeedback.get)


class AsyncMedia(Resource):
    """Stored ad media and their transcripts."""

    async def get(self, media_id: IdRef, **options: Unpack[Options]) -> AdMedia:
        """Return a stored video, sound or picture. Raises `StefanBrainError` (`media_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.media.get("media_1").kind  # doctest: +SKIP
        'video'
        """
        return await self._core.scoped(options).ask(AdMedia, ApiRequest("media.get", {"media_id": media_id}))

    async def transcribe(self, media_id: IdRef, **options: Unpack[Options]) -> Transcript | JobAccepted:
        """Return the stored transcript, or the `JobAccepted` of the job that creates one. Never sent twice.

        Raises `StefanBrainError` (`media_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.media.transcribe("media_1")  # doctest: +SKIP
        """
        core = self._core.scoped(options)
        response = await core.send(ApiRequest("media.transcribe", {"media_id": media_id}))
        if response.status == ACCEPTED:
            return core.read(JobAccepted, response)
        return core.read(Transcript, response)


class Media(BlockingResource):
    """Stored ad media and their transcripts."""

    get = blocking(AsyncMedia.get)
    transcribe = blocking(AsyncMedia.transcribe)


class AsyncLabels(Resource):
    """Landing pages and their labels."""

    async def list(self, **options: Unpack[Options]) -> Listing[Label]:
        """List the labels, each with its allowed values. Raises `StefanBrainError`.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.labels.list().to_frame()  # doctest: +SKIP
        """
        return listing(await self._core.scoped(options).ask(LabelList, ApiRequest("labels.list")), "labels", Label)

    async def get(self, page_id: IdRef, **options: Unpack[Options]) -> LandingPage:
        """Return a landing page with its labels. Raises `StefanBrainError` (`landing_page_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.labels.get("page_1").labels  # doctest: +SKIP
        {'tone': 'playful'}
        """
        return await self._core.scoped(options).ask(LandingPage, ApiRequest("labels.get", {"page_id": page_id}))

    async def write(
        self, page_id: IdRef, labels: dict[str, str], expected_version: int, **options: Unpack[Options]
    ) -> LandingPage:
        """Replace all labels of a page. Never sent twice.

        `expected_version` is the `version` that you have read. Raises `StefanBrainError`: `invalid_label`, or
        `version_conflict` if somebody has changed the page since.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> page = client.labels.get("page_1")  # doctest: +SKIP
        >>> client.labels.write("page_1", {**page.labels, "tone": "playful"}, page.version)  # doctest: +SKIP
        """
        body = {"labels": labels, "expected_version": expected_version}
        request = ApiRequest("labels.write", {"page_id": page_id}, body=body)
        return await self._core.scoped(options).ask(LandingPage, request)


class Labels(BlockingResource):
    """Landing pages and their labels."""

    list = blocking(AsyncLabels.list)
    get = blocking(AsyncLabels.get)
    write = blocking(AsyncLabels.write)
