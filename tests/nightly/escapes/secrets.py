"""Ways to what others own: the service's keys and data, other chats, the machine's files, the run before."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

SECRETS: Final = (
    Escape(
        "the environment",
        "refused",
        """
for name, value in os.environ.items():
    if any(word in (name + value).lower() for word in ("agentsvc", "secret", "token", "key", "password",
        host["token"])):
        through(name, value)
for name in listed("/proc"):
    if name.isdigit():
        text = "".join(lines(f"/proc/{name}/environ"))
        if "agentsvc" in text.lower() or host["secret_name"] in text:
            through(f"the environment of {name}", text)
libc.getenv.restype = ctypes.c_char_p
if libc.getenv(host["secret_name"].encode()):
    through("a variable")
print("refused: nothing of the service")
""",
    ),
    Escape(
        "files of the machine",
        "refused",
        """
for path in (host["secret_path"], "/etc/shadow", "/etc/gshadow", "/root", "/home", "/etc/ssh", "/etc/machine-id",
    "/boot",
             "/var/log", "/var/lib", "/var/spool", "/root/.ssh/id_rsa", "/etc/ssl/private", "/mnt", "/srv", "/media",
                 "/etc/hosts",
             os.path.expanduser("~/.config"), os.path.expanduser("~/.aws/credentials"), host["data"], host["home"]):
    try:
        found = os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(64)
    except OSError as error:
        print("refused:", path, error)
    else:
        if found:
            through(path, found)
print("refused: nothing was read")
""",
    ),
    Escape(
        "the service's database and keys",
        "refused",
        """
for path in below("/"):
    if "/test/" in path or not path.endswith((".sqlite", ".sqlite3", ".db", ".key", ".pem", "-wal")):
        continue
    try:
        start = open(path, "rb").read(16)
    except OSError:
        continue
    if start.startswith((b"SQLite format 3", b"-----BEGIN PRIV", b"-----BEGIN RSA", b"-----BEGIN OPENSSH")):
        through(path, start)
print("refused: none is here")
""",
    ),
    Escape(
        "what else is installed for Python",
        "refused",
        """
import importlib.metadata
shown = {name for place in sys.path if place.endswith("packages") for name in listed(place)}
for path in below("/python", "/usr/lib", "/usr/local"):
    name = os.path.basename(path)
    if name.endswith((".dist-info", ".egg-info", ".egg-link", ".pth")) or name in ("agentsvc_nb", "pytest", "pip"):
        through(path)
if "agentsvc_nb" in shown or "pip" in shown:
    through("packages", sorted(shown))
print("refused: only the few packages")
""",
    ),
    Escape(
        "files of another chat",
        "refused",
        """
for path in below("/"):
    if host["other_name"] in path or host["other_chat"] in path:
        through(path)
attempt("its place in the service", os.listdir, os.path.join(host["data"], "blobs"))
for name in os.listdir(".."):
    if os.path.abspath(name) != os.getcwd() and host["other_chat"] in name:
        through(name)
print("refused: none is here")
""",
    ),
    Escape(
        "where the service's folder lies",
        "refused",
        """
for path in ("/proc/self/mountinfo", "/proc/self/mounts", "/proc/self/maps", "/proc/self/cgroup", "/proc/self/cmdline",
             "/proc/1/mountinfo", "/proc/1/cmdline", "/proc/locks", "/proc/swaps", "/proc/self/fdinfo/0"):
    try:
        text = open(path).read()
    except OSError:
        continue
    for line in text.splitlines():
        if host["data"] in line or host["home"] in line or host["token"] in line:
            through(path, line)
try:
    1 / 0
except ZeroDivisionError:
    import traceback
    if host["data"] in traceback.format_exc():
        through("a traceback")
print("refused: nothing says it")
""",
    ),
    Escape(
        "out of a folder by a descriptor kept open",
        "refused",
        """
top = os.open("/", os.O_PATH)
for name in ("..", "../..", "proc/1/root", "proc/self/root/.."):
    try:
        found = os.listdir(os.open(name, os.O_RDONLY, dir_fd=top))
    except OSError as error:
        print("refused:", error)
        continue
    if os.path.exists(host["data"]) or "boot" in found:
        through(name, found)
for process in (1, os.getppid()):
    for number in range(16):
        try:
            found = os.readlink(f"/proc/{process}/fd/{number}")
        except OSError:
            continue
        if process != os.getpid() and found.startswith("/") and not found.startswith("/dev/null"):
            through(f"descriptor {number} of {process}", found)
print("refused: the root is the root")
""",
    ),
    Escape(
        "what the run before left",
        "harmless",
        """
libc.shmat.restype = ctypes.c_void_p
name = "escaped-" + host["token"]
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/user", os.path.expanduser("~"), "/dev/mqueue", "/"):
    try:
        open(os.path.join(folder, name), "w").write("left")
    except OSError as error:
        print(error)
for what, function, args in (("segment", "shmget", (4711, ctypes.c_size_t(4096), 0o1666)), ("queue", "msgget",
    (4711, 0o1666)),
                             ("semaphore", "semget", (4711, 1, 0o1666)), ("posix", "mq_open",
                                 (b"/escaped", 0o102, 0o666, None))):
    try:
        call(function, *args)
    except (OSError, AttributeError) as error:
        print(what, error)
""",
        then="""
name = "escaped-" + host["token"]
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/user", os.path.expanduser("~"), "/dev/mqueue", "/"):
    if os.path.exists(os.path.join(folder, name)):
        through(folder)
for what, function, args in (("segment", "shmget", (4711, ctypes.c_size_t(4096), 0o666)), ("queue", "msgget",
    (4711, 0o666)),
                             ("semaphore", "semget", (4711, 1, 0o666)), ("posix", "mq_open", (b"/escaped", 2, 0,
                                 None))):
    try:
        attempt(what, call, function, *args)
    except AttributeError:
        print("refused:", what)
""",
    ),
    Escape(
        "locks and watches over files that runs share",
        "harmless",
        """
import fcntl, json
# a lock on what is bound in could stop who else reads it
for path in (json.__file__, os.path.realpath(sys.executable), "/etc/passwd", *[name for name in os.listdir(".")]):
    try:
        descriptor = os.open(path, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        print(path, error)
if os.fork() == 0:
    time.sleep(1000)
""",
        then="""
import fcntl, json
descriptor = os.open(json.__file__, os.O_RDONLY)
try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("refused: the lock is gone")
except OSError as error:
    through("a lock of the run before", error)
""",
    ),
)
