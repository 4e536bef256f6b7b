"""The models of API keys, the developer terms, feedback, media of ads, and landing pages with their labels."""

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field, StringConstraints

from agentsvc_nb.wire import limits
from agentsvc_nb.wire.models import Model, Request

# -- keys and terms -------------------------------------------------------------------------------------------------


class DeveloperTerms(Model):
    """The version of the developer terms that the creator of a key must accept. `url` leads to the terms."""

    object: str = "developer_terms"
    version: str
    url: str | None = None


Scope = Literal["runs", "tools", "jobs", "mcp"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


def _line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("use printable characters, on one line")
    return text


class NewKey(Request):
    """The body of `POST /keys`. A key without `scopes` has full access. A key without a budget has no cost limit of its
    own.
    """

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=limits.KEY_NAME_CHARS),
        AfterValidator(_line),
    ] = Field(description="The key's name, for people.")
    developerTermsAccepted: bool = Field(description="Must be true.")
    developerTermsVersion: str = Field(description="The current version, from `GET /terms`.")
    scopes: list[Scope] | None = Field(default=None, description="What the key may do; everything if left out.")
    monthly_budget_cents: Annotated[int, Field(ge=0, le=limits.CENTS_MAX)] | None = Field(
        default=None, description="The most that its tokens may cost in a calendar month (UTC)."
    )


class ApiKey(Model):
    """An API key without its secret. `prefix` is the beginning of the secret."""

    object: str = "api_key"
    id: str
    name: str = ""
    prefix: str = ""
    scopes: list[Scope | str] = Field(default_factory=list)
    monthly_budget_cents: int | None = Field(
        default=None,
        description="The most that a key's tokens may cost in a calendar month (UTC).",
    )
    status: Literal["active", "suspended"] | str = "active"
    created_at: str | None = None


class CreatedKey(ApiKey):
    """A new API key with its secret. Only this response contains the secret, because the service does not store it."""

    key: str


class KeyList(Model):
    object: str = "list"
    data: list[ApiKey] = Field(default_factory=list)


class DeletedKey(Model):
    object: str = "api_key"
    id: str
    deleted: bool = True


class DayUsage(Model):
    """An account's spending today: the cost that is already billed, and the cost that active runs and jobs reserve.

    `limit_cents` is the account's daily budget, or null if there is none. The day is a calendar day in the service's
    time zone. It ends at `resets_at`.
    """

    object: str = "day_usage"
    day: str = ""
    billed_cents: float = 0.0
    held_cents: float = 0.0
    limit_cents: float | None = None
    resets_at: str | None = None


# -- feedback (docs/api/feedback.md) --------------------------------------------------------------------------------

Category = Literal["bug", "idea", "question", "praise", "other"]
Impact = Literal["blocking", "major", "minor"]
Status = Literal["open", "answered", "closed"]
Fact = Annotated[str, StringConstraints(max_length=limits.FEEDBACK_FIELD_CHARS)]


class NewFeedback(Request):
    """The body of `POST /feedback`."""

    summary: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=limits.FEEDBACK_SUMMARY_CHARS)
    ] = Field(description="What happened, or what you wish for.", examples=["The search finds what I look for."])
    category: Category | None = Field(default=None, description="What kind of report it is.")
    impact: Impact | None = Field(default=None, description="How much it hinders your work.")
    endpoint: Fact | None = Field(default=None, description="The endpoint that the report is about.")
    error_code: Fact | None = Field(default=None, description="The `error.code` of the response.")
    request_id: Fact | None = Field(default=None, description="The `X-Request-Id` of the response.")


class FeedbackReceipt(Model):
    """The response to a new feedback report: its ID, and where to find the team's reply."""

    object: str = "feedback_receipt"
    id: str
    guidance: str = ""


class FeedbackReport(Model):
    """A stored feedback report. If `status` is `answered`, `reply` is the team's reply."""

    object: str = "feedback"
    id: str
    status: Status | str = "open"
    reply: str | None = None
    summary: str = ""
    category: Category | str | None = None
    impact: Impact | str | None = None
    endpoint: str | None = None
    error_code: str | None = None
    request_id: str | None = None
    created_at: str | None = None
    replied_at: str | None = None


class FeedbackList(Model):
    object: str = "list"
    data: list[FeedbackReport] = Field(default_factory=list)


# -- media and landing pages ----------------------------------------------------------------------------------------

MediaKind = Literal["video", "audio", "image"]


class Segment(Model):
    """A segment of a transcript: the text that is spoken from `start_s` to `end_s`, in seconds from the beginning of
    the file.
    """

    start_s: float
    end_s: float
    text: str = ""


class Transcript(Model):
    """The transcript of the speech in a media file. `language` is a language tag such as `de`, or null if unknown."""

    object: str = "transcript"
    media_id: str
    language: str | None = None
    text: str = ""
    segments: list[Segment] = Field(default_factory=list)


class AdMedia(Model):
    """A video, sound or picture of an ad. `duration_s` is its length in seconds, or null if unknown."""

    object: str = "ad_media"
    id: str
    kind: MediaKind | str = ""
    source: str = ""
    url: str | None = None
    duration_s: float | None = None
    transcript: Transcript | None = None


class Label(Model):
    """A label that a landing page can have, with the possible values."""

    name: str
    description: str = ""
    values: list[str] = Field(default_factory=list)


class LabelList(Model):
    object: str = "list"
    labels: list[Label] = Field(default_factory=list)


class LandingPage(Model):
    """A landing page with its labels. `version` is 1 for a new page, and each change of the labels increases it."""

    object: str = "landing_page"
    id: str
    url: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    version: int = 1


class NewLabels(Request):
    """The body of `PUT /landing-pages/{page_id}/labels`: all labels that the page has after the request."""

    labels: dict[str, str] = Field(
        description="Values by label name; labels that are left out are removed.", examples=[{"goal": "buy"}]
    )
    expected_version: int = Field(ge=1, le=limits.INTEGER_MAX, description="The `version` that you read.", examples=[1])
