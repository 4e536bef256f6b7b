"""Children that look at untrusted content: what they are told, what they may use, and when they end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentsvc_nb.documents import child_process
from agentsvc_nb.documents.child_process import ChildPool, LimitedChild, Limits, NoAnswer
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, and limits hold on Linux")


def module(folder: Path, source: str) -> dict[str, str]:
    """A module `asked` for the child, and the variables with which it is found."""
    (folder / "asked.py").write_text(source)
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(child_process.__file__).parents[2])])}


def alive(pid: int) -> bool:
    """Also while only some thread of it still ends: its parent is not told before."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return any(not _is_zombie(thread) for thread in threads)


def _is_zombie(thread: Path) -> bool:
    try:
        return thread.read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def gone(pid: int) -> bool:
    """Whether the process ends soon."""
    with contextlib.suppress(AssertionError):
        return until(lambda: not alive(pid), patience=10)
    return False


def children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that ended meanwhile
            found |= {int(pid) for pid in task.read_text().split()}
    return found


def test_a_child_is_told_what_is_listed_and_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hush-hush")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    source = "import json, os\nprint(json.dumps(dict(os.environ)), flush=True)\ninput()"
    variables = {**module(tmp_path, source), "GIVEN": "yes"}
    with LimitedChild("asked", names=["CUDA_VISIBLE_DEVICES"], variables=variables) as child:
        told = json.loads(child.read_line(100_000))
    assert set(told) <= {*child_process.ENVIRONMENT, "CUDA_VISIBLE_DEVICES", "GIVEN", "LC_CTYPE"}
    assert (told["CUDA_VISIBLE_DEVICES"], told["GIVEN"]) == ("7", "yes")


@pytest.mark.parametrize(
    ("source", "limits", "answer"),
    [
        ("input(); print('a' * 50, flush=True)", Limits(), b"a" * 50 + b"\n"),
        ("input(); print('a' * 500, flush=True)", Limits(), b"a" * 101),
        ("input(); print(len(bytes(2**30)), flush=True)", Limits(memory_bytes=2**29), b""),
        ("input()\nwhile True: pass", Limits(cpu_seconds=1), b""),
        ("input(); open('written', 'wb', 0).write(b'a'); print('done', flush=True)", Limits(file_bytes=0), b""),
    ],
    ids=["answer", "too long an answer", "memory", "processor", "file"],
)
def test_what_a_child_may_use_is_limited(tmp_path: Path, source: str, limits: Limits, answer: bytes) -> None:
    with LimitedChild("asked", limits=limits, folder=tmp_path, variables=module(tmp_path, source)) as child:
        assert child.ask(b"?", 3, 100) == answer
    assert gone(child.pid)


ASKED = """
import os, time
from agentsvc_nb.documents.child_process import answer_questions

def answer(question):
    if question == b"sleep":
        time.sleep(60)
    elif question == b"crash":
        os.abort()
    return b"a" * 1_000 if question == b"long" else str(os.getpid()).encode()

if __name__ == "__main__":
    answer_questions(answer)
"""


@pytest.mark.parametrize(("question", "seconds"), [(b"sleep", 0.3), (b"crash", 30), (b"long", 30)])
def test_a_kept_child_without_an_answer_is_replaced(
    question: bytes, seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", module(tmp_path, ASKED)["PYTHONPATH"])

    async def use() -> None:
        with contextlib.closing(ChildPool("asked", Limits(), 1)) as pool:
            first = int(await pool.ask(b"", 30, 100))
            with pytest.raises(NoAnswer):
                await pool.ask(question, seconds, 100)
            assert gone(first)
            assert int(await pool.ask(b"", 30, 100)) != first

    asyncio.run(use())


GRANDCHILD = "import subprocess, time\nprint(subprocess.Popen(['sleep', '60']).pid, flush=True)\ntime.sleep(60)"
# A search that holds the interpreter's lock for longer than anybody lives.
HELD = "import os, re\nprint(os.getpid(), flush=True)\nre.match('(a+)+$', 'a' * 60 + 'b')"


@pytest.mark.rule("Child processes end with the service, also after `kill -9`.")
def test_a_child_ends_with_its_parent_however_that_ends(tmp_path: Path) -> None:
    """Also with a child of its own, and in mid-calculation."""
    places = [tmp_path / "grandchild", tmp_path / "held"]
    for place, source in zip(places, (GRANDCHILD, HELD), strict=True):
        place.mkdir()
        module(place, source)
    parent = f"""
import os, time
from agentsvc_nb.documents.child_process import LimitedChild
children = [LimitedChild("asked", variables={{"PYTHONPATH": f"{{place}}{os.pathsep}" + {os.getcwd()!r}}})
            for place in {[str(place) for place in places]}]
print(*[part for child in children for part in (child.pid, child.read_line(100).decode().strip())], flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        process.send_signal(signal.SIGKILL)
    assert len(pids) == 4
    assert all(gone(pid) for pid in pids)


def test_whatever_the_service_starts_is_such_a_child() -> None:
    """A process that is started in another way may outlive a service that is killed."""
    package = Path(child_process.__file__).parents[1]
    sources = [path for room in ("service", "tools", "agents", "documents") for path in (package / room).rglob("*.py")]
    processes = r"^\s*(import|from) (subprocess|multiprocessing|pty)|\bos\.(fork|posix_spawn|spawn)|ProcessPool"
    starting = re.compile(processes, re.M)
    found = {path.relative_to(package).as_posix() for path in sources if starting.search(path.read_text())}
    programs = {f"tools/programs/{name}.py" for name in ("confinement", "supervisor_child")}
    ours = {"documents/child_process.py", "service/serve.py", *programs}
    assert found == ours, "the service's own start; what a program's sandbox has ends with it"
