"""Real services for the tests: one process per model and test session, started on first use. Also the test tiers."""

from __future__ import annotations

import functools
import gc
import os
import re
import shlex
import signal
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

from agentsvc_nb import AgentService, testing
from agentsvc_nb.testing import RunningService, running_service
from tests import databases

if TYPE_CHECKING:
    from tests.s3_server import S3Server

# Tests share the CPU with services and browsers, so a slow example is no failure.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")
# Started as a background job of a script, these ignore Ctrl-C, and so would all programs that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

TIERS: Final = ("long", "browser", "hosts", "model", "postgres", "slow")
"""Markers of tests that the README's command leaves out."""


QUICK: Final = "quick"
DEFAULT: Final = "default"
"""The tests without a marker: the README's command runs them. Rows of tiers.toml take a test out of another tier."""


@functools.cache
def _table() -> dict[str, list[str]]:
    """The rows of tiers.toml by tier."""
    return tomllib.loads(Path(__file__).with_name("tiers.toml").read_text("utf-8"))


class _Row:
    """A row of tiers.toml: the tests whose ids begin with `text`, and the marker that they get."""

    def __init__(self, text: str, tier: str) -> None:
        self.text = text
        self.tier = tier
        self.used = False
        rest = "" if text.endswith("*") else r"(?:[/\[].*|::.*)?"
        self._pattern = re.compile(re.escape(text).replace(r"\*", ".*") + rest, re.DOTALL)

    def matches(self, nodeid: str) -> bool:
        found = self._pattern.fullmatch(nodeid) is not None
        self.used = self.used or found
        return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--blobs",
        choices=("folder", "s3"),
        default="folder",
        help="where services keep contents: in their folders, or in an S3 server that the tests start",
    )
    parser.addoption("--database", choices=databases.CHOICES, default="sqlite", help="where services keep their data")


def pytest_configure(config: pytest.Config) -> None:
    """Run tests named by their ids (`file::test`) whatever their tier: drop the default marker expression."""
    databases.chosen = config.option.database
    if databases.chosen != "sqlite":
        _begin_with(databases.settings)
        # of databases that tests which fail, as of mutants, leave open
        config.addinivalue_line("filterwarnings", "ignore:.*was deleted while still open:ResourceWarning")
    _, _, rest = shlex.join(config.getini("addopts")).partition("-m ")
    if rest and any("::" in arg for arg in config.args) and config.option.markexpr == shlex.split(rest)[0]:
        config.option.markexpr = ""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """In the quick loop, skip modules without a quick test: importing all of them takes as long as half of the loop."""
    if config.option.markexpr != QUICK or not collection_path.is_relative_to(config.rootpath):
        return None
    path = collection_path.relative_to(config.rootpath).as_posix()
    has_quick = any(
        row.startswith(f"{path}/") or _Row(row.partition("::")[0], QUICK).matches(path) for row in _table()[QUICK]
    )
    return None if has_quick else True


def _begin_with(settings: Callable[[], dict[str, object]]) -> None:
    """Give each service of the tests these settings, too."""
    made = RunningService.__init__

    def with_more(self: RunningService, data: Path, model: str, given: dict[str, object]) -> None:
        made(self, data, model, {**settings(), **given})

    setattr(RunningService, "__init__", with_more)  # noqa: B010 - not assigned for the type checker


@pytest.hookimpl(tryfirst=True)  # before pytest selects tests by their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with the tier of its longest matching row in tiers.toml.

    Raises `pytest.UsageError` if a row matches no test, in a run of all tests. `--last-failed` leaves out whole files.
    """
    if databases.chosen != "sqlite":
        own = [item for item in items if item.get_closest_marker("sqlite")]
        config.hook.pytest_deselected(items=own)
        items[:] = [item for item in items if item not in own]
    rows = [_Row(text, tier) for tier, texts in _table().items() for text in texts]
    for item in items:
        found = [row for row in rows if row.matches(item.nodeid)]
        if found:
            tier = max(found, key=lambda row: len(row.text)).tier
            if tier != DEFAULT:
                item.add_marker(tier)
    idle = [row.text for row in rows if not row.used]
    if (
        idle
        and config.option.markexpr != QUICK
        and config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and not config.option.lf
    ):
        raise pytest.UsageError(f"tests/tiers.toml: no test is called {', '.join(idle)}")


def pytest_collection_finish() -> None:
    """Exclude modules and tests from garbage collection: each shell of a test collects, which took a second a test."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seconds that the tests of each tier took, if there is more than one tier."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[next((tier for tier in TIERS if tier in report.keywords), "default")] += report.duration
    if len(seconds) > 1:
        terminalreporter.section("seconds by tier, workers added up")
        for tier, spent in sorted(seconds.items(), key=lambda row: -row[1]):
            terminalreporter.write_line(f"{tier:<10} {spent:8.0f}")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the API key and the settings of the developer's machine from tests."""
    for name in list(os.environ):
        if name.startswith("AGENTSVC_") or name == "SERVICE_API_KEY":
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server, which `AWS_*` variables name."""
    from tests.s3_server import running_s3

    with running_s3() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.env.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture(scope="session", autouse=True)
def contents(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `--blobs s3`, each service that a test starts keeps its contents there."""
    if request.config.option.blobs == "folder":
        yield
        return
    server: S3Server = request.getfixturevalue("s3")
    usual = testing._environment
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_environment", lambda: {**usual(), "AGENTSVC_BLOBS": server.address()})
        yield


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
