"""The service's settings: `AGENTSVC_*` variables, with defaults from the limits table."""

# ruff: noqa: RUF009 - `setting` makes dataclass fields

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from agentsvc_nb import setting_values as values
from agentsvc_nb.data_folder import absolute, default_data
from agentsvc_nb.key_forms import looks_like_key
from agentsvc_nb.model_names import DIRECT_CALL, check_model, model_id
from agentsvc_nb.wire import limits

PREFIX: Final = "AGENTSVC_"
ELSEWHERE: Final = frozenset({"AGENTSVC_BASE_URL", "AGENTSVC_LOG"})
"""`AGENTSVC_*` variables that are not settings of the service: the client reads them."""


class SettingsError(ValueError):
    """A setting has an invalid value; the message names the setting and a valid value."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How a setting is parsed, and what it does: a row of `docs/settings.md`."""

    read: Callable[[str], Any]
    """Parses the text of a value. Raises `ValueError`."""
    about: str
    keep: Callable[[Any], bool] = values.always
    """True for a value that the data folder keeps for its next service (docs/decisions/0029)."""
    secret: bool = False
    """True if the value must never be shown, not even in the error about it."""


def setting(
    read: Callable[[str], Any],
    about: str,
    *,
    default: Any = None,
    keep: Callable[[Any], bool] = values.always,
    secret: bool = False,
) -> Any:
    """A dataclass field of `Settings`, with its `Setting` as metadata."""
    return field(default=default, repr=not secret, metadata={"setting": Setting(read, about, keep, secret)})


@dataclass(frozen=True)
class Settings:
    """The settings of one service. A limit that is None is not enforced (docs/api/conventions.md "Limits").

    Each field is one setting: how its text is parsed, what it does, its default, and whether the data folder keeps it.

    >>> Settings.from_env({"AGENTSVC_RUN_CAPACITY": "4"}, data="/tmp/service").run_capacity
    4
    """

    data: Path = field(
        metadata={
            "setting": Setting(
                absolute,
                "The data folder: the database, the files, the embedded account's key, the log.",
                values.never,
            )
        }
    )
    database: str | None = setting(
        values.database,
        "A PostgreSQL database, `postgresql://USER:PASSWORD@HOST/NAME`, in place of the data folder's own: see "
        "operations.md.",
        secret=True,
        keep=values.without_password,
    )
    secret: str | None = setting(
        values.long_secret,
        "What the processes on one AGENTSVC_DATABASE share, 32 characters or more: its keys are stored as hashes made "
        "with it, so that the database alone opens nothing.",
        secret=True,
        keep=values.never,
    )
    blobs: str | None = setting(
        values.bucket,
        "Where the contents of files lie in place of the data folder: `s3://BUCKET/PREFIX`, with the endpoint and the "
        "keys in `AWS_*` variables.",
    )
    blobs_cache_bytes: int = setting(
        values.byte_count,
        "What the data folder may hold of those contents for what reads files; the least recently used go first.",
        default=2_000_000_000,
    )
    public_url: str | None = setting(
        values.origin, "The address that people use when a proxy stands before the service: links begin with it."
    )
    hosts: tuple[str, ...] = setting(
        values.host_list,
        "Names (`host` or `host:port`) that a service on loopback answers to besides its own, for proxies.",
        default=(),
    )
    origins: tuple[str, ...] = setting(
        values.origin_list,
        "Origins, such as https://agents.example.com, whose pages may use a browser's session besides the service's.",
        default=(),
    )
    model: str = setting(check_model, "The agent that answers: see models.md.", default="offline")
    models: tuple[str, ...] = setting(
        values.model_list,
        "The models that a start may name, the first is the default in place of `AGENTSVC_MODEL`: see models.md.",
        default=(),
    )
    prices: tuple[str, ...] = setting(
        values.price_list,
        "Prices of models in cents a million tokens, `MODEL=INPUT/OUTPUT`, where none are known or others count.",
        default=(),
    )
    model_url: str | None = setting(
        values.address,
        "The address of your own server for `openai-chat:` and `ollama:`, such as http://host:8000/v1; for any other "
        "model, the address at which its provider is asked, such as a gateway's.",
        keep=values.without_secrets,
    )
    model_key: str | None = setting(
        values.secret, "That server's key, when it wants one.", secret=True, keep=values.never
    )
    model_context: int | None = setting(
        values.count, "The tokens that the model's context holds, when they are not known."
    )
    model_sees: bool | None = setting(values.flag, "Whether the model looks at pictures, when that is not known.")
    model_tools: bool | None = setting(
        values.flag, "Whether the model is offered tools; small ones can't choose among them."
    )
    model_patience_seconds: float = setting(
        values.seconds,
        "How long a run waits in all for an answer of a model that is away or overloaded, before it fails.",
        default=600.0,
    )
    approve_effects: bool = setting(
        values.flag,
        "Whether a run waits for approval before a tool has an effect (mails), or fetches a page that neither its "
        "message nor `AGENTSVC_APPROVED_HOSTS` names; also before a model calls such a tool over MCP.",
        default=False,
    )
    approved_hosts: tuple[str, ...] = setting(
        values.host_list,
        "Hosts (`host` or `host:port`) whose pages runs fetch without approval while effects want it: see channels.md.",
        default=(),
    )
    rate_per_minute: int | None = setting(values.count, "Requests a UTC minute of one key (`request_per_minute`).")
    rate_per_minute_user: int | None = setting(
        values.count, "The same of all keys of an account (`request_per_minute_user`)."
    )
    rate_per_day: int | None = setting(
        values.count, "Requests a UTC day of all keys of an account (`request_per_day`)."
    )
    run_capacity: int | None = setting(
        values.count, "Active runs that make the service full (`runtime_capacity_busy`)."
    )
    wallet_cents: int | None = setting(
        values.count, "All the credit that was ever put into the wallet (`api_wallet_exhausted`)."
    )
    plan_pool_cents: int | None = setting(
        values.count, "What member tokens may use in a UTC month (`monthly_usage_limit_reached`)."
    )
    run_hold_cents: int = setting(
        values.count, "What a run or job holds until it ends and is billed for what it used.", default=1
    )
    max_file_bytes: int = setting(
        values.byte_count,
        "The largest file of an upload; a request may hold ten of them and 1 MiB.",
        default=limits.FILE_MAX_BYTES,
    )
    sync_hold_seconds: float = setting(
        values.seconds, "How long a `sync` start is held, from its receipt.", default=float(limits.SYNC_HOLD_SECONDS)
    )
    ask_handle_seconds: float = setting(
        values.seconds,
        "How long an ask is held before it is answered by a job to follow.",
        default=float(limits.ASK_HANDLE_SECONDS),
    )
    gateway_seconds: float = setting(
        values.seconds,
        "A request that is silent for so long is answered `gateway_timeout`, or `request_timeout` within its body.",
        default=float(limits.GATEWAY_SECONDS),
    )
    upload_ttl_seconds: float = setting(
        values.seconds, "How long the id of a staged upload counts.", default=float(limits.UPLOAD_TTL_SECONDS)
    )
    fetch_allow: tuple[str, ...] = setting(
        values.host_list,
        "Hosts (`host` or `host:port`) that tools, and connectors' documents, are fetched from though not public.",
        default=(),
    )
    mcp_servers: tuple[str, ...] = setting(
        values.server_list,
        "Servers whose tools the language agent may use, `NAME=URL`: see mcp.md.",
        default=(),
        secret=True,
        keep=values.addresses_without_secrets,
    )
    mcp_keys: tuple[str, ...] = setting(
        values.key_list, "Their keys, `NAME=KEY`, sent as Bearer.", default=(), secret=True, keep=values.never
    )
    mcp_trusted: tuple[str, ...] = setting(
        values.server_names,
        "Names of those that are trusted in what they say of their tools: one that only reads needs no approval.",
        default=(),
    )
    mcp_allow: tuple[str, ...] = setting(
        values.host_list,
        "Hosts (`host` or `host:port`) of such servers that may be reached although they are not public.",
        default=(),
    )
    image_url: str | None = setting(
        values.address,
        "An image model's OpenAI-compatible address, such as `http://127.0.0.1:8080/v1`.",
        keep=values.without_secrets,
    )
    image_key: str | None = setting(
        values.secret, "The image model's key, if it wants one.", secret=True, keep=values.never
    )
    image_model: str | None = setting(values.secret, "The image model's name, if its address has several.")
    smtp_url: str | None = setting(
        values.mail_server,
        "The mail server: `smtp://USER:PASSWORD@HOST:587` or `smtps://...`.",
        secret=True,
        keep=values.without_secrets,
    )
    mail_from: str | None = setting(values.mail_address, "The address that mails are sent from.")
    mail_recipients: tuple[str, ...] = setting(
        values.recipients, "Who may be written to: addresses, and `@example.com` for all of a domain.", default=()
    )
    web_search: str | None = setting(values.provider, "Who searches the web: `searxng`, `brave` or `ddgs`.")
    web_search_url: str | None = setting(
        values.address, "SearXNG's address; Brave's, when it is another.", keep=values.without_secrets
    )
    web_search_key: str | None = setting(values.secret, "The search provider's key.", secret=True, keep=values.never)
    meta_token: str | None = setting(
        values.secret, "A token for the Meta Ad Library, of a confirmed account.", secret=True, keep=values.never
    )
    meta_url: str = setting(
        values.address,
        "The Graph API with its version.",
        default="https://graph.facebook.com/v21.0",
        keep=values.without_secrets,
    )
    metrics_token: str | None = setting(
        values.secret,
        "Who sends it as `Authorization: Bearer` reads `/metrics`, which is not there without it: see telemetry.md.",
        secret=True,
        keep=values.never,
    )
    trace_content: bool = setting(
        values.flag,
        "Whether traces show messages, answers, and what tools were given and returned: see telemetry.md.",
        default=False,
    )
    log_format: str = setting(values.log_format, "How a line of the log is written: `text` or `json`.", default="text")
    whisper_model: Path | None = setting(absolute, "The folder of a faster-whisper model, for transcripts.")

    @classmethod
    def from_env(cls, env: Mapping[str, str], **overrides: object) -> Settings:
        """Settings from `env`, usually `os.environ`; `overrides`, by field name, have priority. None counts as absent.

        Raises `SettingsError` for an invalid value and `TypeError` for an override that is no setting.
        """
        if strangers := overrides.keys() - SETTINGS.keys():
            raise TypeError(f"no such setting: {', '.join(sorted(strangers))}")
        given = {name: str(value) for name, value in overrides.items() if value is not None}
        read = {name: _read(name, text, source=name) for name, text in given.items()}
        for name in SETTINGS.keys() - given.keys():
            if text := env.get(variable(name)):
                read[name] = _read(name, text, source=variable(name))
        return cls(**{"data": default_data(), **read, **_default_first(read, named="model" in given)})

    @property
    def offered(self) -> tuple[str, ...]:
        """The ids of the models that a start may name, the default first."""
        return tuple(model_id(model) for model in self.models or (self.model,))

    @property
    def run_models(self) -> tuple[str, ...]:
        """What answers the runs of this service: those models, and what makes a call that was approved."""
        return (*self.offered, DIRECT_CALL)

    @property
    def shared_secret(self) -> str | None:
        """The secret of the processes on a database that they share; None for a folder's own."""
        return self.secret if self.database else None

    @property
    def settings_hash(self) -> str:
        """A hash of all settings but where data is kept: equal for services that behave alike (docs/api/embedded.md
        "Settings")."""
        behaviour = {name: value for name, value in asdict(self).items() if name not in ("data", "database", "secret")}
        return hashlib.sha256(json.dumps(behaviour, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _default_first(read: Mapping[str, Any], *, named: bool) -> dict[str, Any]:
    """`model` and `models` with one default: the first of `models`, or the `model` that was `named` for this start.
    Raises `SettingsError` when `models` lacks that."""
    models = read.get("models", ())
    if not models:
        return {}
    chosen = read["model"] if named else models[0]
    if chosen not in models:
        listed = variable("models")
        raise SettingsError(f"model is {chosen!r}, which {listed} does not name: add it there, or unset {listed}.")
    return {"model": chosen, "models": (chosen, *(other for other in models if other != chosen))}


def variable(name: str) -> str:
    """The environment variable of a setting: `model` is `AGENTSVC_MODEL`."""
    return PREFIX + name.upper()


def database_address(env: Mapping[str, str]) -> str | None:
    """AGENTSVC_DATABASE; None without it. Raises `SettingsError`."""
    given = env.get(variable("database"))
    address: str | None = _read("database", given, source=variable("database")) if given else None
    return address


def shared_secret(env: Mapping[str, str]) -> str | None:
    """AGENTSVC_SECRET; None without it. Raises `SettingsError`."""
    given = env.get(variable("secret"))
    found: str | None = _read("secret", given, source=variable("secret")) if given else None
    return found


def warnings_for(env: Mapping[str, str]) -> list[str]:
    """One sentence for each `AGENTSVC_*` variable that neither the service nor the notebook reads."""
    known = {variable(name) for name in SETTINGS} | ELSEWHERE
    return [_unknown(name) for name in sorted(env) if name.startswith(PREFIX) and name not in known]


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name.removeprefix(PREFIX).lower(), SETTINGS, n=1)
    return f"{name} is not a setting and is ignored" + (f": did you mean {variable(close[0])}?" if close else ".")


def _read(name: str, text: str, *, source: str) -> Any:
    """The value of the setting `name`; `source` names it in the error. Raises `SettingsError`."""
    try:
        return SETTINGS[name].read(text.strip())
    except ValueError as error:
        shown = "not usable" if SETTINGS[name].secret else repr(text)
        shown = "something that looks like a key, which does not belong there" if looks_like_key(text) else shown
        raise SettingsError(f"{source} is {shown}: give {error}.") from None


SETTINGS: Final[dict[str, Setting]] = {each.name: each.metadata["setting"] for each in fields(Settings)}
"""All settings, by their field names in `Settings`."""
