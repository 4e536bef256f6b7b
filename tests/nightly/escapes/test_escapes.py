"""Ways out of the sandbox (`table.py`), all through the sandbox itself, a few through `run_python` in a service's runs.
What is outside is looked at after each: processes, files, listeners, and other chats."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.tools.programs import confinement, running
from agentsvc_nb.wire.runs import Run
from tests.nightly.escapes.table import ESCAPES, SIGN, THROUGH
from tests.support.waiting import until
from tests.unit.tools.test_program_escapes import USERS, living, run
from tests.unit.tools.test_program_escapes import none_left as none_left  # of every test here, too

pytestmark = pytest.mark.skipif(bool(confinement.missing_requirement()), reason=str(confinement.missing_requirement()))
SHOWN: Final = "a,b\n1,2\n"
SECRET: Final = "nobody-may-read-5f0c"
SECRET_NAME: Final = "KEY_OF_A_MODEL"
TOKEN: Final = f"t{os.getpid()}x"
PLACES: Final = ("/", "/tmp", "/var/tmp", "/dev/shm", "/run", "/etc", "/usr/lib", "/root")
OF_A_SERVICE: Final = (
    "files of another chat",
    "memory in pipes",
    "names that are no text",
    "modules that the next program imports",
    "every other place that can be written",
)


@dataclass(frozen=True)
class Outside:
    """A folder with a secret, sockets that listen, and the service's folder."""

    folder: Path
    listeners: tuple[socket.socket, ...]
    data: Path

    @property
    def host(self) -> dict[str, object]:
        """What a program is told of it."""
        return {
            "tcp_port": self.listeners[0].getsockname()[1],
            "unix_path": str(self.folder / "socket"),
            "abstract": f"{TOKEN}-{self.data.name}",
            "secret_path": str(self.folder / "secret.txt"),
            "data": str(self.data),
            "home": str(Path.home()),
            "token": TOKEN,
            "other_name": "others.csv",
        }

    def reached(self) -> list[str]:
        """Return who was called, and the files that lie where none was."""
        found = []
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                listener.accept()
                found.append(str(listener.getsockname()))
        for place in map(Path, PLACES):
            with contextlib.suppress(OSError):
                found += [str(path) for path in place.iterdir() if f"escaped-{TOKEN}" in path.name]
        if (self.folder / "secret.txt").read_text() != SECRET:
            found.append("the secret")
        return found


@contextlib.contextmanager
def outside(data: Path) -> Iterator[Outside]:
    with tempfile.TemporaryDirectory(prefix="outside-") as made, contextlib.ExitStack() as held:
        listeners = (
            socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True),
            socket.socket(socket.AF_UNIX),
            socket.socket(socket.AF_UNIX),
        )
        for listener, name in zip(listeners[1:], (f"{made}/socket", f"\0{TOKEN}-{data.name}"), strict=True):
            listener.bind(name)
        for listener in listeners:
            held.enter_context(listener).setblocking(False)
            listener.listen()
        Path(made, "secret.txt").write_text(SECRET)
        yield Outside(Path(made), listeners, data)


@pytest.mark.parametrize("name", ESCAPES)
def test_no_program_gets_out(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_NAME, SECRET)
    escape, shown = ESCAPES[name], tmp_path / "shown.csv"
    shown.write_text(SHOWN)
    with outside(tmp_path) as around:
        for code in escape.sources(around.host):
            ending, kept = run(code, escape.seconds, USERS[-1], shown)
            assert SIGN not in ending.printed, ending.printed
            assert THROUGH not in kept, kept[THROUGH]
            assert SECRET not in ending.printed
            assert not any(SECRET.encode() in data for data in kept.values())
            assert sum(map(len, kept.values())) <= confinement.WORK_BYTES
            assert len(kept) <= running.RESULTS_MAX
            assert escape.expected != "refused" or (ending.how, ending.code) == ("exit", 0), ending
        assert around.reached() == []
    assert shown.read_text() == SHOWN


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """A service that has a secret in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECRET_NAME, SECRET)
        with running_service() as found:
            yield found


@pytest.mark.parametrize("name", OF_A_SERVICE)
def test_no_run_of_a_service_gets_out(name: str, service: RunningService) -> None:
    escape = ESCAPES[name]
    with AgentService(service.api_key, service.base_url) as client, outside(service.data) as around:
        other = done(client, f"write others.csv {SECRET}").chat
        chat = done(client, "write shown.csv a,b").chat
        for source in escape.sources(around.host):
            made = done(client, f"call run_python {json.dumps({'code': source, 'seconds': escape.seconds})}", chat)
            events = [event.payload for event in client.runs.events(made.run_id, limit=1000).data]
            result = next(event for event in events if "is_error" in event)
            printed = result["content"][0]["text"]
            assert SIGN not in printed, printed
            assert SECRET not in json.dumps(events)
            assert escape.expected != "refused" or not result["is_error"], printed
        until(lambda: sandboxed(service.pid) == [], patience=5)
        assert around.reached() == []
        names = [file.path for file in client.files.list(chat)]
        assert THROUGH not in names
        assert len(names) <= 2 * running.RESULTS_MAX + 1
        assert client.files.download("others.csv", chat=other) == SECRET.encode()
        assert done(client, "say well").output == "well", "the service answers"


def done(client: AgentService, script: str, chat: str | None = None) -> Run:
    """Return a run of this script when it is over."""
    ended = client.runs.wait(client.runs.start(script, chat=chat).run_id, poll=0.05, timeout=120)
    assert ended.status == "completed", ended
    return ended


def sandboxed(root: int) -> list[int]:
    """Return the descendants of a process that are in another process namespace."""
    found, ours = [], os.readlink("/proc/self/ns/pid")
    for pid in living(root):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/ns/pid") != ours:
                found.append(pid)
    return found
