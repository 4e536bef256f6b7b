"""Real services for the tests: one process per model and test session, started on first use."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.support import databases

if TYPE_CHECKING:
    from tests.support.s3_server import S3Server

# Tests share the CPU with services and browsers, so a slow example is no failure.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")
# Started as a background job of a script, these ignore Ctrl-C, and so would all programs that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
# No test sees the keyring, the journal or the embedded service of the developer.
_HOME = tempfile.TemporaryDirectory(prefix="agentsvc-home-")
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
for _name in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
    os.environ[_name] = str(Path(_HOME.name) / _name.lower())
# Services and kernels that tests start have the code of this checkout, whatever package is installed.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Let `-n auto` use half as many workers again as cores: most tests wait for a process that they have started."""
    if config.option.numprocesses != "auto" or "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # xdist reads the variable
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + cores // 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--blobs",
        choices=("folder", "s3"),
        default="folder",
        help="where services keep contents: in their folders, or in an S3 server that the tests start",
    )
    parser.addoption("--seed", type=int, default=1, help="where random tests begin")
    parser.addoption("--database", choices=databases.CHOICES, default="sqlite", help="where services keep their data")


def pytest_configure(config: pytest.Config) -> None:
    databases.chosen = config.option.database
    if databases.chosen != "sqlite":
        _begin_with(databases.settings)
        # of databases that tests which fail, as of mutants, leave open
        config.addinivalue_line("filterwarnings", "ignore:.*was deleted while still open:ResourceWarning")


def _begin_with(settings: Callable[[], dict[str, object]]) -> None:
    """Give each service of the tests these settings, too."""
    made = RunningService.__init__

    def with_more(self: RunningService, data: Path, model: str, given: dict[str, object]) -> None:
        made(self, data, model, {**settings(), **given})

    setattr(RunningService, "__init__", with_more)  # noqa: B010 - not assigned for the type checker


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of SQLite's own files where services keep their data elsewhere."""
    if databases.chosen != "sqlite":
        own = [item for item in items if item.get_closest_marker("sqlite")]
        config.hook.pytest_deselected(items=own)
        items[:] = [item for item in items if item not in own]


def pytest_collection_finish() -> None:
    """Exclude modules and tests from garbage collection: each shell of a test collects, which took a second a test."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seconds that the tests of each folder took."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds["/".join(report.nodeid.split("/")[:2])] += report.duration
    terminalreporter.section("seconds by folder, workers added up")
    for folder, spent in sorted(seconds.items(), key=lambda row: -row[1]):
        terminalreporter.write_line(f"{folder:<20} {spent:8.0f}")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the API key and the settings of the developer's machine from tests."""
    for name in list(os.environ):
        if name.startswith("AGENTSVC_") or name == "SERVICE_API_KEY":
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """Where random tests begin."""
    return int(request.config.option.seed)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server, which `AWS_*` variables name."""
    from tests.support.s3_server import running_s3

    with running_s3() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.env.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture(scope="session", autouse=True)
def contents(request: pytest.FixtureRequest) -> None:
    """With `--blobs s3`, each service that a test starts keeps its contents there."""
    if request.config.option.blobs == "s3":
        server: S3Server = request.getfixturevalue("s3")
        _begin_with(lambda: {"blobs": server.address()})


@pytest.fixture(scope="session")
def service() -> Iterator[RunningService]:
    """A real service with the model `scripted`, for which the message is the script."""
    with running_service(model="scripted") as running:
        yield running


@pytest.fixture(scope="session")
def offline_service() -> Iterator[RunningService]:
    """A real service with the model that is the default for users."""
    with running_service(model="offline") as running:
        yield running


@pytest.fixture
def client(service: RunningService) -> Iterator[AgentService]:
    with AgentService(service.api_key, service.base_url) as made:
        yield made
