"""Ways to outlive a run, to reach other processes, and to keep the machine busy."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

PROCESSES: Final = (
    Escape(
        "looking into other processes",
        "refused",
        """
others = [int(name) for name in listed("/proc") if name.isdigit()]
buffer = ctypes.create_string_buffer(64)
vectors = struct.pack("QQ", ctypes.addressof(buffer), 64), struct.pack("QQ", 0x400000, 64)
for process in {*others, 1, os.getppid()} - {os.getpid(), 0}:
    for name in ("mem", "environ", "maps", "fd", "root", "cwd", "exe", "stack", "syscall", "auxv"):
        path = f"/proc/{process}/{name}"
        try:
            if name in ("fd", "root", "cwd"):
                found = os.listdir(path)
            elif name == "exe":
                found = os.readlink(path)
            else:
                found = open(path, "rb").read(16)
        except OSError as error:
            print("refused:", path, error)
        else:
            if found:
                through(path, found)
    attempt(f"process_vm_readv {process}", call, "process_vm_readv", process, vectors[0], 1, vectors[1], 1, 0)
    attempt(f"ptrace {process}", call, "ptrace", 0x4206, process, 0, 0)
    attempt(f"attach {process}", call, "ptrace", 16, process, 0, 0)
print("refused: no other process was read")
""",
    ),
    Escape(
        "descriptors of other processes",
        "refused",
        """
for process in {1, os.getppid()} - {os.getpid(), 0}:
    try:
        handle = os.pidfd_open(process)
    except OSError as error:
        print("refused:", error)
        continue
    for number in range(8):
        try:
            through("pidfd_getfd", call(438, handle, number, 0))
        except OSError as error:
            if error.errno != errno.EBADF:
                print("refused:", error)
print("refused: no descriptor was won")
""",
    ),
    Escape(
        "seeing the processes of the machine",
        "refused",
        """
seen = ["".join(lines(f"/proc/{name}/cmdline")) for name in listed("/proc") if name.isdigit()]
for process in range(2, 50_000):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        continue
    except PermissionError:
        pass
    seen.append(process)
if len(seen) > 8 or any("serve" in str(one) or "pytest" in str(one) for one in seen):
    through("processes", len(seen), seen)
attempt("a signal", os.kill, host["service_pid"], 0) if host["service_pid"] > 64 else None
print("refused: only its own are seen")
""",
    ),
    Escape(
        "kill everything",
        "harmless",
        """
for process in (os.getppid(), 1, -1):
    try:
        os.kill(process, signal.SIGKILL)
    except OSError as error:
        print(error)
""",
    ),
    Escape(
        "stop everything",
        "bounded",
        """
for process in (os.getppid(), 1, -1, os.getpid()):
    try:
        os.kill(process, signal.SIGSTOP)
    except OSError as error:
        print(error)
time.sleep(1000)
""",
    ),
    Escape(
        "a daemon of its own session",
        "harmless",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3):
            os.close(number)
        time.sleep(1000)
    os._exit(0)
os.wait()
print("the daemon runs")
""",
    ),
    Escape(
        "a daemon that hears no signal and keeps the output open",
        "harmless",
        """
if os.fork() == 0:
    os.setsid()
    for number in set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    call("prctl", 1, 0, 0, 0, 0)  # do not die with the parent
    time.sleep(1000)
print("the daemon runs")
""",
    ),
    Escape(
        "a crowd of daemons",
        "harmless",
        """
for _ in range(100):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            time.sleep(1000)
    except OSError as error:
        print(error)
        break
print("they run")
""",
    ),
    Escape(
        "sleeping past the limit, deaf to signals",
        "bounded",
        """
for number in set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    time.sleep(1000)
""",
    ),
    Escape(
        "stopped for ever",
        "bounded",
        """
os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(1000)
""",
    ),
    Escape(
        "another program in its place",
        "bounded",
        """
os.execv(os.path.realpath(sys.executable), ["python", "-I", "-S", "-c", "import time; time.sleep(1000)"])
""",
    ),
    Escape(
        "closing its output and going on",
        "bounded",
        """
for number in range(1024):
    try:
        os.close(number)
    except OSError:
        pass
while True:
    pass
""",
    ),
    Escape(
        "a fork bomb",
        "bounded",
        """
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
""",
    ),
    Escape(
        "a fork bomb whose parents end",
        "bounded",
        """
# nobody in it lives long, and each child belongs to process 1
while True:
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
        os.fork()
    except OSError:
        time.sleep(0.01)
""",
    ),
    Escape(
        "a fork bomb of sleepers",
        "bounded",
        """
made = 0
try:
    while made < 20_000:
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
except OSError as error:
    print("after", made, error, flush=True)
if made > 1000:
    through("processes", made)
time.sleep(1000)
""",
    ),
    Escape(
        "a flood of zombies",
        "bounded",
        """
made = 0
try:
    while made < 20_000:
        if os.fork() == 0:
            os._exit(0)
        made += 1
except OSError as error:
    print("after", made, error, flush=True)
if made > 1000:
    through("zombies", made)
""",
    ),
    Escape(
        "a flood of threads",
        "bounded",
        """
import threading
threading.stack_size(32768)
made = 0
try:
    while made < 20_000:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        made += 1
except (OSError, RuntimeError, MemoryError) as error:
    print("after", made, error, flush=True)
if made > 2000:
    through("threads", made)
os._exit(0)
""",
    ),
    Escape(
        "siblings instead of children",
        "harmless",
        """
# CLONE_PARENT: the new process belongs to who started this one
for _ in range(10):
    try:
        if call(56, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
            time.sleep(1000)
    except OSError as error:
        print(error)
print("they run")
""",
    ),
    Escape(
        "every core for ever",
        "bounded",
        """
for _ in range(8):
    try:
        if os.fork() == 0:
            break
    except OSError:
        break
while True:
    pass
""",
    ),
    Escape(
        "work that no signal of Python ends",
        "bounded",
        """
# one call into C that takes years
sum(range(10 ** 15))
""",
    ),
    Escape(
        "an end that never comes",
        "bounded",
        """
import atexit, threading
atexit.register(time.sleep, 1000)
threading.Thread(target=time.sleep, args=(1000,)).start()

class Late:
    def __del__(self):
        time.sleep(1000)

late = Late()
late.itself = late
print("the last line")
""",
    ),
    Escape(
        "exit codes and signals of every kind",
        "harmless",
        """
import faulthandler, subprocess
for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGQUIT, signal.SIGTRAP):
    child = os.fork()
    if child == 0:
        import resource
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except ValueError:
            pass
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    print(number, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
if any("core" in name for name in os.listdir(".")):
    through("a core dump")
os.kill(os.getpid(), signal.SIGSEGV)
""",
    ),
    Escape(
        "reading an input that never ends",
        "harmless",
        """
print(repr(sys.stdin.read(10)))
try:
    input("a question? ")
except EOFError:
    print("nobody answers")
""",
    ),
)
