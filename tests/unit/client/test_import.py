"""What an import loads, and the package's public names."""

from __future__ import annotations

import subprocess
import sys

import pytest

import agentsvc_nb

OF_HTTPX = {"httpx", "httpcore", "h11", "anyio", "idna", "certifi"}
OF_PYDANTIC = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
WHERE_INSTALLED = {"brotli", "brotlicffi", "zstandard", "click", "rich", "pygments", "markdown_it", "mdurl"}
"""httpx imports these where they are installed."""

FIRST_CALL = """
import httpx
from agentsvc_nb import AgentService
body = {"data": [], "run_id": "r", "status": "completed"}
answer = httpx.MockTransport(lambda request: httpx.Response(200, json=body))
client = AgentService("svc_sk_x", "http://service.test", transport=answer)
client.tools.list()
client.runs.start("hello")
client.runs.attach("r").close()
"""


def loaded_by(code: str) -> set[str]:
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.rule("The client loads only httpx and pydantic.")
def test_the_client_loads_httpx_and_pydantic_alone() -> None:
    """A blocking call loads no event loop and nothing for functions."""
    own = {"agentsvc_nb", *OF_HTTPX, *OF_PYDANTIC, *WHERE_INSTALLED}
    bare = loaded_by("import sysconfig; sysconfig.get_config_vars()")  # a module of the platform
    loaded = loaded_by(FIRST_CALL)
    assert {"httpx", "pydantic"} <= loaded
    assert {name.partition(".")[0] for name in loaded - bare} - sys.stdlib_module_names <= own
    assert not loaded & {"asyncio", "agentsvc_nb.client.client_tools", "pydantic.type_adapter"}


def test_importing_the_package_loads_nothing() -> None:
    """All its names load no notebook."""
    assert not loaded_by("import agentsvc_nb; agentsvc_nb.DEVELOPER_SDK_SPEC_VERSION") & {"httpx", "pydantic", "pandas"}
    assert not loaded_by("from agentsvc_nb import *; local") & {"IPython", "ipywidgets", "pandas"}


@pytest.mark.rule("`DEVELOPER_SDK_SPEC_VERSION` names the specification.")
def test_public_names_are_there() -> None:
    for name in agentsvc_nb.__all__:
        assert getattr(agentsvc_nb, name)
        assert name in dir(agentsvc_nb)
    with pytest.raises(AttributeError, match="nonsense"):
        agentsvc_nb.nonsense  # noqa: B018
    assert agentsvc_nb.DEVELOPER_SDK_SPEC_VERSION == "1.0.0"
