"""What holds a credential does not show it: its `repr` ends up in logs, tracebacks and notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb.agents.language.agent import EngineAddress
from agentsvc_nb.agents.language.model_choice import ModelChoice
from agentsvc_nb.client.core import ApiRequest
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.io import HttpRequest
from agentsvc_nb.embedded import Connection
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.mcp.servers import ServerConfig
from agentsvc_nb.settings import SETTINGS, Settings
from agentsvc_nb.tools.support.upstream import Upstream

KEY: Final = "svc_sk_top-secret"
HOLDERS: Final = [
    ApiRequest("runs.get", headers={"x-api-key": KEY}),
    Connection("http://127.0.0.1:1", KEY, "1"),
    DataFolder(Path("service"), address=f"postgresql://me:{KEY}@host/name", secret=KEY),
    EngineAddress("http://127.0.0.1:1/v1", KEY),
    HttpRequest("GET", "http://host", 1.0, KEY, headers={"x-api-key": KEY}),
    ModelChoice("openai:model", "http://host/v1", KEY),
    Secret(KEY),
    ServerConfig("files", url=f"http://host/mcp?token={KEY}", command=("server", KEY), key=KEY),
    Upstream("Search", "http://host", {"authorization": f"Bearer {KEY}"}),
]


@pytest.mark.parametrize("holder", HOLDERS, ids=lambda holder: type(holder).__name__)
def test_what_holds_a_credential_does_not_show_it(holder: object) -> None:
    assert KEY not in repr(holder)


@pytest.mark.parametrize("name", [name for name, setting in SETTINGS.items() if setting.secret])
def test_a_secret_setting_is_not_shown(name: str) -> None:
    given: dict[str, Any] = {name: KEY}
    assert KEY not in repr(Settings(Path("service"), **given))
