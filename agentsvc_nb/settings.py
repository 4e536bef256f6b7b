"""The service's settings: one class, whose fields are the `AGENTSVC_*` variables and the rows of docs/settings.md.

A new setting is a field of a section below. `repr=False` hides its value in logs, tracebacks and errors. The data
folder does not store the value of a field with `exclude=True` (docs/decisions/03).
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
"""`AGENTSVC_*` variables that the client reads. They are not settings of the service."""


class SettingsError(ValueError):
    """A setting has an invalid value. The message names the setting and a valid value."""


class Section(BaseSettings):
    """A group of settings. Its docstring is a heading of docs/settings.md."""

    model_config = SettingsConfigDict(
        defer_build=True,  # sections are validated only as a part of `Settings`
        env_prefix=PREFIX,
        env_ignore_empty=True,
        enable_decoding=False,  # commas separate lists; they are not JSON
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
        """Read no variables, because `Settings.from_env` gets its environment as an argument."""
        return (init_settings,)


class DataSettings(Section):
    """Data"""

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
        description="A secret that all processes on one AGENTSVC_DATABASE share. The service hashes API keys with it, "
        "so the database alone gives no access.",
        repr=False,
        exclude=True,
    )
    blobs: types.Bucket | None = Field(
        None,
        description="Where the service stores the contents of files, if not in the data folder. `AWS_*` variables set "
        "the endpoint and the keys.",
    )
    blobs_cache_bytes: types.Bytes = Field(
        2_000_000_000,
        description="The size of the cache for files from `AGENTSVC_BLOBS` in the data folder. The service removes the "
        "least recently used files first.",
    )


class AccessSettings(Section):
    """Addresses"""

    public_url: types.Origin | None = Field(
        None, description="The address that people use if a proxy is in front of the service. Links start with it."
    )
    hosts: types.Hosts = Field((), description="Additional names to which a service on loopback answers, for proxies.")
    origins: types.Origins = Field(
        (), description="Origins, in addition to the service's own, whose pages may use a browser's session."
    )
    fetch_allow: types.Hosts = Field((), description="Hosts from which tools may fetch although they are not public.")


class ModelSettings(Section):
    """Models"""

    model: types.ModelName = Field("offline", description="The model that answers: see models.md.")
    models: types.ModelNames = Field(
        (),
        description="The models that a run can name. The first one is the default and replaces `AGENTSVC_MODEL`: see "
        "models.md.",
    )
    prices: types.Prices = Field(
        (), description="Prices of models as `MODEL=INPUT/OUTPUT`, for models without a known price, or to override it."
    )
    model_url: types.Address | None = Field(
        None,
        description="The address of your own server for `openai-chat:` and `ollama:`, such as http://host:8000/v1. For "
        "any other model, the address that replaces the provider's, such as a gateway's.",
    )
    model_key: types.Key | None = Field(
        None, description="The key for that server, if it needs one.", repr=False, exclude=True
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
        description="How long a run waits in total for a model that is unavailable or overloaded. Then the run fails.",
    )


class ApprovalSettings(Section):
    """Approval"""

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
    """Limits"""

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
        description="The maximum size of a file in an upload. The limit of a request is ten times this size and 1 MiB.",
    )
    sync_hold_seconds: types.Seconds = Field(
        float(limits.SYNC_HOLD_SECONDS),
        description="How long a `sync` start waits for the run to end before the service answers.",
    )
    ask_handle_seconds: types.Seconds = Field(
        float(limits.ASK_HANDLE_SECONDS),
        description="How long an ask waits for its answer before the service returns a job instead.",
    )
    gateway_seconds: types.Seconds = Field(
        float(limits.GATEWAY_SECONDS),
        description="How long a request may be silent. Then the service answers `gateway_timeout`, or "
        "`request_timeout` if the body is incomplete.",
    )
    upload_ttl_seconds: types.Seconds = Field(
        float(limits.UPLOAD_TTL_SECONDS), description="How long the id of a staged upload is valid."
    )


class MoneySettings(Section):
    """Money"""

    wallet_cents: types.Cents | None = Field(
        None, description="The total credit ever put into the wallet (`api_wallet_exhausted`)."
    )
    plan_pool_cents: types.Cents | None = Field(
        None, description="What member tokens may spend in a UTC month (`monthly_usage_limit_reached`)."
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
    """MCP servers"""

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
    """Tools"""

    tools_off: types.ToolGroups = Field((), description="Tool groups that the service leaves out: see instructions.md.")
    image_url: types.Address | None = Field(
        None, description="The address of an image model with an OpenAI-compatible API."
    )
    image_key: types.Key | None = Field(
        None, description="The key for the image model, if it needs one.", repr=False, exclude=True
    )
    image_model: types.Name | None = Field(None, description="The name of the image model, if its address has several.")
    smtp_url: types.MailServer | None = Field(None, description="The mail server.", repr=False)
    mail_from: types.MailAddress | None = Field(None, description="The sender address of mails.")
    mail_recipients: types.Recipients = Field(
        (), description="The allowed recipients of mails: addresses, or `@example.com` for a whole domain."
    )
    web_search: types.SearchProvider | None = Field(None, description="The provider of web searches.")
    web_search_url: types.Address | None = Field(
        None, description="The address of SearXNG, or of Brave if you do not use the standard one."
    )
    web_search_key: types.Key | None = Field(
        None, description="The key for the search provider.", repr=False, exclude=True
    )
    meta_token: types.Key | None = Field(
        None, description="A token for the Meta Ad Library, of a confirmed account.", repr=False, exclude=True
    )
    meta_url: types.Address = Field(
        "https://graph.facebook.com/v21.0", description="The address of the Graph API, with its version."
    )
    whisper_model: types.Folder | None = Field(
        None, description="The folder of a faster-whisper model, for transcripts."
    )


class TelemetrySettings(Section):
    """Telemetry"""

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
    """The settings of one service. A limit that is None is not enforced (docs/api/conventions.md "Limits").

    >>> Settings.from_env({"AGENTSVC_RUN_CAPACITY": "4"}, data="/tmp/service").run_capacity
    4
    """

    def __init__(self, data: Path, **settings: Any) -> None:
        super().__init__(data=data, **settings)

    @classmethod
    def from_env(cls, env: Mapping[str, str], **overrides: object) -> Self:
        """Read settings from `env`, usually `os.environ`.

        `overrides`, by field name, have priority; None counts as absent. Raises `SettingsError` for an invalid value
        and `TypeError` for an override that is not a setting.
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
        """Give `model` and `models` one default: the first of `models`, or the `model` that was `named` for this start.

        Raises `SettingsError` if `models` lacks that model.
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
        """Return True if the data folder may store this value, because it neither is nor contains a secret."""
        texts = map(str, value if isinstance(value, tuple) else (value,))
        has_secret = any("://" in text and types.may_hold_secret(text) for text in texts)
        return not (cls.model_fields[name].exclude or has_secret)

    @property
    def offered(self) -> tuple[str, ...]:
        """Return the ids of the models that a start may name, the default first."""
        return tuple(model_id(model) for model in self.models or (self.model,))

    @property
    def run_models(self) -> tuple[str, ...]:
        """Return the models that a run of this service may have: the offered models, and `DIRECT_CALL`."""
        return (*self.offered, DIRECT_CALL)

    @property
    def shared_secret(self) -> str | None:
        """Return the secret of the processes that share a database, or None for a folder's own database."""
        return self.secret if self.database else None

    @property
    def settings_hash(self) -> str:
        """Return a hash of all settings except where data is stored (docs/api/embedded.md "Settings").

        Services that behave alike have the same hash.
        """
        names = type(self).model_fields.keys() - {"data", "database", "secret"}
        behaviour = {name: getattr(self, name) for name in names}
        return hashlib.sha256(json.dumps(behaviour, sort_keys=True, default=str).encode()).hexdigest()[:16]


class _Variables(EnvSettingsSource):
    """The values of settings in a mapping of variables, which may differ from this process's environment."""

    def __init__(self, settings: type[BaseSettings], env: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.env_vars = {name.lower(): text.strip() for name, text in env.items() if name.isupper() and text.strip()}


def variable(name: str) -> str:
    """Return the environment variable of a setting: for `model` it is `AGENTSVC_MODEL`."""
    return PREFIX + name.upper()


def warnings_for(env: Mapping[str, str]) -> list[str]:
    """Return one sentence for each `AGENTSVC_*` variable that neither the service nor the notebook reads."""
    known = {variable(name) for name in Settings.model_fields} | ELSEWHERE
    return [_unknown(name) for name in sorted(env) if name.startswith(PREFIX) and name not in known]


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name.removeprefix(PREFIX).lower(), Settings.model_fields, n=1)
    ending = f": did you mean {variable(close[0])}?" if close else "."
    return f"{name} is not a known setting, so it is ignored{ending}"


def _first_error(error: ValidationError) -> tuple[str, str]:
    """Return the invalid setting, and the valid values (the `Advice` of its type)."""
    first = error.errors(include_input=False)[0]
    return str(first["loc"][0]), str(first["ctx"]["error"])
