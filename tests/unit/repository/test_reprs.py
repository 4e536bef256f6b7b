"""What holds a credential does not show it: its `repr` ends up in logs, tracebacks and notebooks."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Final

import pytest
from pydantic import ValidationError

from agentsvc_nb.agents.language.model_choice import ModelChoice
from agentsvc_nb.client.core import ApiRequest
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.io import HttpRequest
from agentsvc_nb.embedded import Connection
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.mcp.servers import ServerConfig
from agentsvc_nb.settings import Settings, SettingsError, variable
from agentsvc_nb.tools.support.upstream import Upstream

KEY: Final = "svc_sk_top-secret"
HOLDERS: Final = [
    ApiRequest("runs.get", headers={"x-api-key": KEY}),
    Connection("http://127.0.0.1:1", KEY, "1"),
    DataFolder(Path("service"), address=f"postgresql://me:{KEY}@host/name", secret=KEY),
    HttpRequest("GET", "http://host", 1.0, KEY, headers={"x-api-key": KEY}),
    ModelChoice("openai:model", "http://host/v1", KEY),
    Secret(KEY),
    ServerConfig("files", url=f"http://host/mcp?token={KEY}", command=("server", KEY), key=KEY),
    Upstream("Search", "http://host", {"authorization": f"Bearer {KEY}"}),
]


@pytest.mark.parametrize("holder", HOLDERS, ids=lambda holder: type(holder).__name__)
def test_what_holds_a_credential_does_not_show_it(holder: object) -> None:
    assert KEY not in repr(holder)


TEXTS: Final = {
    "database": f"postgresql://me:{KEY}@host/name",
    "mcp_servers": f"files=https://host/mcp?token={KEY}",
    "mcp_keys": f"files={KEY}",
    "secret": f"{KEY}-of-more-than-32-characters",
    "smtp_url": f"smtp://me:{KEY}@host",
}
HIDDEN: Final = [name for name, field in Settings.model_fields.items() if not field.repr]


@pytest.mark.parametrize("name", HIDDEN)
def test_a_secret_setting_is_neither_shown_nor_in_a_traceback(name: str) -> None:
    settings = Settings.from_env({variable(name): TEXTS.get(name, KEY)}, data="service")
    assert KEY in str(getattr(settings, name))
    assert KEY not in repr(settings)
    with pytest.raises(SettingsError) as raised:
        Settings.from_env({variable(name): f"two words {KEY}"}, data="service")
    assert KEY not in "".join(traceback.format_exception(raised.value))
    with pytest.raises(ValidationError) as direct:
        Settings(Path("service"), **{name: f"two words {KEY}"})
    assert KEY not in "".join(traceback.format_exception(direct.value))
