"""The settings of the service. Each field of the class `Settings` is read from an environment variable `AGENTSVC_*`,
and is a row of docs/settings.md.

To add a setting, add a field to a section below. If the field has `repr=False`, its value is hidden in logs, tracebacks
and errors. If it has `exclude=True`, the data folder does not store its value (docs/decisions/03).
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from agentsvc_nb import setting_types as types
from agentsvc_nb.data_folder import default_data
from agentsvc_nb.key_forms import looks_like_key
from agentsvc_nb.model_names import DIRECT_CALL, model_id
from agentsvc_nb.wire import limits

PREFIX: Final = "AGENTSVC_"
ELSEWHERE: Final = frozenset({"AGENTSVC_BASE_URL", "AGENTSVC_LOG"})
"""The `AGENTSVC_*` variables that are not settings of the service, but of the client."""


class SettingsError(ValueError):
    """Raised if a setting has an invalid value. The message names the setting, and says which values are valid."""


class Section(BaseSettings):
    """The base class of groups of settings. The docstring of a group begins with its heading in docs/settings.md."""

    model_config = SettingsConfigDict(
        defer_build=True,  # sections are validated only as a part of `Settings`
        env_prefix=PREFIX,
        env_ignore_empty=True,
        enable_decoding=False,  # lists are separated by commas, and are not JSON
        frozen=True,
        hide_input_in_errors=True,
        validate_default=False,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only arguments of the class, not environment variables, because `Settings.from_env` reads these."""
        return (init_settings,)


class DataSettings(Section):
    """Data: where the service stores its data."""

    data: types.Folder = Field(
        description="The data folder. It contains the database, the files, the embedded account's key and the log.",
        exclude=True,
    )
    database: types.DatabaseAddress | None = Field(
        None,
        description="A PostgreSQL database that replaces the database in the data folder: see sizing.md.",
        repr=False,
    )
    secret: types.SharedSecret | None = Field(
        None,
        description="A secret that all processes on one AGENTSVC_DATABASE share. The service hashes API keys with it. "
        "Someone who has only the database can't use them.",
        repr=False,
        exclude=True,
    )
    blobs: types.Bucket | None = Field(
        None,
        description="The S3 bucket in which the service stores the contents of files, instead of in the data folder. "
        "`AWS_*` variables set the endpoint and the keys.",
    )
    blobs_cache_bytes: types.Bytes = Field(
        2_000_000_000,
        description="The size of the cache for files from `AGENTSVC_BLOBS` in the data folder. The service removes the "
        "least recently used files first.",
    )


class AccessSettings(Section):
    """Addresses: under which addresses the service answers, and which addresses its tools may use."""

    public_url: types.Origin | None = Field(
        None, description="The address that people use, if a proxy is in front of the service. Links begin with it."
    )
    hosts: types.Hosts = Field(
        (), description="Additional host names under which a service on loopback accepts requests, for proxies."
    )
    origins: types.Origins = Field(
        (), description="Origins, in addition to the service's own, whose pages may use a browser's session."
    )
    fetch_allow: types.Hosts = Field(
        (), description="Hosts from which tools may fetch pages although the hosts are not public."
    )


class ModelSettings(Section):
    """Models: which models answer, and what the service can't find out about them."""

    model: types.ModelName = Field("offline", description="The model that answers: see models.md.")
    models: types.ModelNames = Field(
        (),
        description="The models that a run can name. The first one is the default and replaces `AGENTSVC_MODEL`: see "
        "models.md.",
    )
    prices: types.Prices = Field(
        (), description="Prices of models as `MODEL=INPUT/OUTPUT`. They replace the known prices of these models."
    )
    model_url: types.Address | None = Field(
        None,
        description="The address of your own server for `openai-chat:` and `ollama:`, such as http://host:8000/v1. For "
        "any other model, the address that replaces the provider's, such as a gateway's.",
    )
    model_key: types.Key | None = Field(
        None, description="The key for the server at `AGENTSVC_MODEL_URL`, if it needs one.", repr=False, exclude=True
    )
    model_context: types.Count | None = Field(
        None, description="The size of the model's context in tokens, if the service does not know it."
    )
    model_sees: types.Flag | None = Field(
        None, description="Whether the model can read pictures, if the service does not know it."
    )
    model_tools: types.Flag | None = Field(
        None,
        description="Whether the service offers tools to the model. If unset, the model's chat template decides. If "
        "the template has no tools, the service refuses `yes`.",
    )
    model_patience_seconds: types.Seconds = Field(
        600.0,
        description="How many seconds a run waits in total for a model that is unavailable, before the run fails.",
    )


class ApprovalSettings(Section):
    """Approval: which tool calls wait for a person's approval."""

    approve_effects: types.Flag = Field(
        False,
        description="Whether a run waits for approval before a tool sends mails, or fetches a page that neither its "
        "message nor `AGENTSVC_APPROVED_HOSTS` names. The same applies before a model calls such a tool "
        "over MCP.",
    )
    approved_hosts: types.Hosts = Field(
        (),
        description="Hosts from which runs fetch pages without approval if `AGENTSVC_APPROVE_EFFECTS` is on: see "
        "privacy.md.",
    )


class LimitSettings(Section):
    """Limits: how much the service accepts, and how long it waits."""

    rate_per_minute: types.Count | None = Field(
        None, description="Maximum requests of one key in a UTC minute (`request_per_minute`)."
    )
    rate_per_minute_user: types.Count | None = Field(
        None, description="Maximum requests of all keys of an account in a UTC minute (`request_per_minute_user`)."
    )
    rate_per_day: types.Count | None = Field(
        None, description="Maximum requests of all keys of an account in a UTC day (`request_per_day`)."
    )
    run_capacity: types.Count | None = Field(
        None, description="Maximum number of active runs (`runtime_capacity_busy`)."
    )
    max_file_bytes: types.Bytes = Field(
        limits.FILE_MAX_BYTES,
        description="The maximum size of an uploaded file. A request can have ten times this size plus 1 MiB.",
    )
    sync_hold_seconds: types.Seconds = Field(
        float(limits.SYNC_HOLD_SECONDS),
        description="How many seconds a `sync` start waits for the run to end before the service responds.",
    )
    ask_handle_seconds: types.Seconds = Field(
        float(limits.ASK_HANDLE_SECONDS),
        description="How many seconds a request to ask a question, such as over MCP, waits for the answer before the "
        "service returns a job instead.",
    )
    gateway_seconds: types.Seconds = Field(
        float(limits.GATEWAY_SECONDS),
        description="How many seconds a request or its response may make no progress. The service then responds with "
        "`gateway_timeout`, or with `request_timeout` if the request's body is incomplete.",
    )
    upload_ttl_seconds: types.Seconds = Field(
        float(limits.UPLOAD_TTL_SECONDS), description="How many seconds the id of a staged upload is valid."
    )


class MoneySettings(Section):
    """Money: how much accounts, keys and runs may spend."""

    wallet_cents: types.Cents | None = Field(
        None, description="The total credit that was ever added to the wallet (`api_wallet_exhausted`)."
    )
    plan_pool_cents: types.Cents | None = Field(
        None, description="What MCP and member tokens may spend in a UTC month (`monthly_usage_limit_reached`)."
    )
    day_cents: types.Cents | None = Field(
        None,
        description="What all runs, jobs and calls of an account may cost on a calendar day, in the time zone of the "
        "service's machine (`day_budget_exhausted`).",
    )
    run_hold_cents: types.Cents = Field(
        1, description="The amount that each run or job reserves until it ends and the service bills its real cost."
    )


class McpSettings(Section):
    """MCP servers: which servers offer tools to the agent."""

    mcp_servers: types.Servers = Field(
        (),
        description="MCP servers whose tools the language agent can use, as `NAME=URL`: see mcp.md.",
        repr=False,
    )
    mcp_keys: types.ServerKeys = Field(
        (),
        description="Keys of the MCP servers, as `NAME=KEY`. The service sends each as a Bearer token.",
        repr=False,
        exclude=True,
    )
    mcp_trusted: types.ServerNames = Field(
        (),
        description="Names of MCP servers whose tool descriptions the service trusts. Their tools that only read need "
        "no approval.",
    )
    mcp_allow: types.Hosts = Field(
        (), description="Hosts of MCP servers that the service may reach although they are not public."
    )


class ToolSettings(Section):
    """Tools: which tools the service offers, and what they need."""

    tools_off: types.ToolGroups = Field((), description="Groups of tools to turn off: see instructions.md.")
    image_url: types.Address | None = Field(
        None, description="The address of an image model with an OpenAI-compatible API."
    )
    image_key: types.Key | None = Field(
        None, description="The key for the image model, if it needs one.", repr=False, exclude=True
    )
    image_model: types.Name | None = Field(
        None, description="The name of the image model, if the server at `AGENTSVC_IMAGE_URL` has several."
    )
    smtp_url: types.MailServer | None = Field(None, description="The mail server.", repr=False)
    mail_from: types.MailAddress | None = Field(None, description="The sender address of mails.")
    mail_recipients: types.Recipients = Field(
        (), description="The allowed recipients of mails: addresses, or `@example.com` for a whole domain."
    )
    web_search: types.SearchProvider | None = Field(None, description="The provider of web searches.")
    web_search_url: types.Address | None = Field(
        None, description="The address of SearXNG, or an address of Brave that replaces the standard address."
    )
    web_search_key: types.Key | None = Field(
        None, description="The key for the search provider.", repr=False, exclude=True
    )
    meta_token: types.Key | None = Field(
        None, description="A token of a confirmed account for the Meta Ad Library.", repr=False, exclude=True
    )
    meta_url: types.Address = Field(
        "https://graph.facebook.com/v21.0", description="The address of the Graph API, with its version."
    )
    whisper_model: types.Folder | None = Field(
        None, description="The folder of a faster-whisper model, for transcripts."
    )


class TelemetrySettings(Section):
    """Telemetry: what the service reports about itself."""

    metrics_token: types.Key | None = Field(
        None,
        description="The token for `/metrics`: send it as `Authorization: Bearer`. Without a token, `/metrics` does "
        "not exist: see monitoring.md.",
        repr=False,
        exclude=True,
    )
    trace_content: types.Flag = Field(
        False,
        description="Whether traces contain messages, answers, and the inputs and results of tools: see monitoring.md.",
    )
    log_format: types.LogFormat = Field("text", description="The format of log lines.")


class Settings(
    DataSettings,
    AccessSettings,
    ModelSettings,
    ApprovalSettings,
    LimitSettings,
    MoneySettings,
    McpSettings,
    ToolSettings,
    TelemetrySettings,
):
    """The settings of a service. If a limit is None, the service does not enforce it (docs/api/conventions.md
    "Limits").

    >>> Settings.from_env({"AGENTSVC_RUN_CAPACITY": "4"}, data="/tmp/service").run_capacity
    4
    """

    def __init__(self, data: Path, **settings: Any) -> None:
        super().__init__(data=data, **settings)

    @classmethod
    def from_env(cls, env: Mapping[str, str], **overrides: object) -> Self:
        """Read the settings from environment variables. `env` is usually `os.environ`.

        `overrides` are values by field name, which have priority over `env`. An override that is None has no effect.
        Raises `SettingsError` for an invalid value, and `TypeError` for an override that is not a setting.
        """
        if unknown := overrides.keys() - cls.model_fields.keys():
            raise TypeError(f"unknown setting: {', '.join(sorted(unknown))}")
        given = {name: str(value).strip() for name, value in overrides.items() if value is not None}
        values = {**_Variables(cls, env)(), **given}
        if "data" not in values:
            values["data"] = default_data()
        try:
            settings = cls(**values)
        except ValidationError as error:
            name, advice = _first_error(error)
            shown = repr(values[name]) if cls.model_fields[name].repr else "not valid"
            if looks_like_key(str(values[name])):
                shown = "a text that looks like a key, which does not belong there"
            source = name if name in given else variable(name)
            raise SettingsError(f"{source} is {shown}. Use {advice}.") from None
        return settings._with_default_model(named="model" in given)

    def _with_default_model(self, *, named: bool) -> Self:
        """Return the settings with the same default model in `model` and as the first of `models`.

        The default is `model` if it was an override (`named`), else the first of `models`. Raises `SettingsError` if
        `models` does not contain the default.
        """
        if not self.models:
            return self
        chosen = self.model if named else self.models[0]
        if chosen not in self.models:
            listed = variable("models")
            raise SettingsError(
                f"`model` is {chosen!r}, but {listed} does not contain it. Add it there, or unset {listed}."
            )
        others = (other for other in self.models if other != chosen)
        return self.model_copy(update={"model": chosen, "models": (chosen, *others)})

    @classmethod
    def is_storable(cls, name: str, value: object) -> bool:
        """Return True if the data folder may store the value of this setting, because it contains no secret."""
        texts = map(str, value if isinstance(value, tuple) else (value,))
        has_secret = any("://" in text and types.may_hold_secret(text) for text in texts)
        return not (cls.model_fields[name].exclude or has_secret)

    @property
    def offered(self) -> tuple[str, ...]:
        """Return the ids of the models that the start of a run may name, the default model first."""
        return tuple(model_id(model) for model in self.models or (self.model,))

    @property
    def run_models(self) -> tuple[str, ...]:
        """Return the ids that a run's record may have as its model: the offered models, and `DIRECT_CALL`."""
        return (*self.offered, DIRECT_CALL)

    @property
    def shared_secret(self) -> str | None:
        """Return the secret that all processes on a shared database have, or None for a data folder's database."""
        return self.secret if self.database else None

    @property
    def settings_hash(self) -> str:
        """Return a hash of all settings, except those that say where data is stored (docs/api/embedded.md "Settings").

        Two services with the same hash behave in the same way.
        """
        names = type(self).model_fields.keys() - {"data", "database", "secret"}
        behaviour = {name: getattr(self, name) for name in names}
        return hashlib.sha256(json.dumps(behaviour, sort_keys=True, default=str).encode()).hexdigest()[:16]


class _Variables(EnvSettingsSource):
    """Reads settings from a mapping of environment variables, which need not be this process's environment."""

    def __init__(self, settings: type[BaseSettings], env: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.env_vars = {name.lower(): text.strip() for name, text in env.items() if name.isupper() and text.strip()}


def variable(name: str) -> str:
    """Return the environment variable of a setting. Example: `AGENTSVC_MODEL` for `model`."""
    return PREFIX + name.upper()


def warnings_for(env: Mapping[str, str]) -> list[str]:
    """Return a warning for each `AGENTSVC_*` variable that neither the service nor the client reads."""
    known = {variable(name) for name in Settings.model_fields} | ELSEWHERE
    return [_unknown_variable(name) for name in sorted(env) if name.startswith(PREFIX) and name not in known]


def _unknown_variable(name: str) -> str:
    close = difflib.get_close_matches(name.removeprefix(PREFIX).lower(), Settings.model_fields, n=1)
    ending = f": did you mean {variable(close[0])}?" if close else "."
    return f"{name} is not a known setting, so it is ignored{ending}"


def _first_error(error: ValidationError) -> tuple[str, str]:
    """Return the name of the first invalid setting, and the description of its valid values (`Advice`)."""
    first = error.errors(include_input=False)[0]
    return str(first["loc"][0]), str(first["ctx"]["error"])
