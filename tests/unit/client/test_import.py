"""What an import loads, and the package's public names."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import agentsvc_nb

HEAVY = {"IPython", "ipywidgets", "pandas", "starlette", "uvicorn", "PIL", "pypdfium2", "jsonschema", "jsonschema_rs"}
OF_HTTPX = {"httpx", "httpcore", "h11", "anyio", "idna", "certifi"}
DECODERS_OF_HTTPX = {"brotli", "brotlicffi", "zstandard"}
"""httpx imports these where they are installed, and its own command line with `OF_THE_COMMAND_OF_HTTPX`."""
OF_PYDANTIC = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
OF_THE_COMMAND_OF_HTTPX = {"click", "rich", "pygments", "markdown_it", "mdurl"}

FIRST_USE = """
import sys, threading
from agentsvc_nb.client.models import Run
from agentsvc_nb.wire.models import Model
sys.setswitchinterval(1e-6)
assert not Run.__pydantic_complete__
together, read = threading.Barrier(16), []
def use():
    together.wait()
    read.append(Run.read('{"run_id": "r", "status": "new", "usage": {}, "more": 1}'))
threads = [threading.Thread(target=use) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert [run.more for run in read] == [1] * 16
"""


def loaded_by(code: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    )
    return {name.split(".")[0] for name in shown.stdout.split()}


def test_importing_the_package_loads_nothing() -> None:
    assert not loaded_by("import agentsvc_nb") & (HEAVY | {"httpx", "pydantic"})


def test_the_client_loads_httpx_and_pydantic_alone() -> None:
    own = {"agentsvc_nb", *OF_HTTPX, *OF_PYDANTIC, *DECODERS_OF_HTTPX, *OF_THE_COMMAND_OF_HTTPX}
    bare = loaded_by("import sysconfig; sysconfig.get_config_vars()")  # a module of the platform
    for code in ("import agentsvc_nb.client.api", FIRST_CALL):
        loaded = loaded_by(code)
        assert {"httpx", "pydantic"} <= loaded
        assert loaded - bare - sys.stdlib_module_names <= own


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


def test_a_blocking_call_loads_no_event_loop_and_nothing_for_functions() -> None:
    unused = "{'asyncio', 'agentsvc_nb.client.client_tools', 'pydantic.type_adapter'}"
    assert loaded_by(f"{FIRST_CALL}\nimport sys; assert not {unused} & {{*sys.modules}}")


def test_models_are_built_at_first_use_also_by_many_threads() -> None:
    assert "done" in loaded_by(FIRST_USE + "\nsys.modules['done'] = sys")


def test_telling_what_is_to_be_sent_loads_nothing() -> None:
    known = "from agentsvc_nb.client.uploads import parts; parts([b'x', io.BytesIO(b'x')], 'too_many_files')"
    assert not loaded_by(f"import io\n{known}") & {*HEAVY, "matplotlib"}


def test_names_come_when_they_are_used() -> None:
    assert not loaded_by("import agentsvc_nb; agentsvc_nb.StefanBrainError") & (HEAVY | {"httpx"})


@pytest.mark.parametrize("name", agentsvc_nb.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(agentsvc_nb, name)
    assert name in dir(agentsvc_nb)


def test_a_dataframe_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=re.escape("DataFrames need pandas: pip install 'agentsvc-nb[frames]'")):
        agentsvc_nb.AgentService("svc_sk_x", "http://service.test").history.to_frame()


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        agentsvc_nb.nonsense  # noqa: B018


def test_the_version_of_the_specification() -> None:
    assert agentsvc_nb.DEVELOPER_SDK_SPEC_VERSION == "1.0.0"
    assert not loaded_by("from agentsvc_nb import DEVELOPER_SDK_SPEC_VERSION") & (HEAVY | {"httpx", "pydantic"})


def test_importing_all_names_loads_no_notebook() -> None:
    assert not loaded_by("from agentsvc_nb import *; AgentService, local, Event") & {"IPython", "ipywidgets", "pandas"}
    assert {"Chat", "ToolForm"} <= set(dir(agentsvc_nb))
