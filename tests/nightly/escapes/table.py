"""Ways out of the sandbox of `run_python` by subject, as data: what each tries, and what must be true then."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

_FILES: Final = (
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
        "settings of the kernel in /proc and /sys",
        "refused",
        """
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory",
             "/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger", "/proc/sys/net/ipv4/ip_forward",
             "/proc/sys/kernel/hostname", "/sys/kernel/uevent_helper", "/sys/power/state",
                 "/proc/sys/kernel/ns_last_pid",
             "/proc/irq/default_smp_affinity", "/proc/self/loginuid"):
    attempt(path, os.open, path, os.O_WRONLY)
for path in ("/proc/kcore", "/proc/kmsg", "/proc/kpageflags", "/proc/keys", "/proc/slabinfo",
    "/sys/kernel/debug/tracing"):
    try:
        if open(path).read(64):
            through(path)
    except (OSError, UnicodeDecodeError) as error:
        print("refused:", path, error)
addresses = {line.split()[0] for line in open("/proc/kallsyms")} if os.path.exists("/proc/kallsyms") else set()
if addresses - {"0000000000000000"}:
    through("addresses of the kernel")
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
)
"""Files of the machine, of other chats, and of the run before; mounts and devices."""
_PROCESSES: Final = (
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
        "keys pressed on the service's terminal",
        "refused",
        """
import fcntl
attempt("the terminal", os.open, "/dev/tty", os.O_RDWR)
for number in range(3):
    for name, request in dict(TIOCSTI=0x5412, TIOCLINUX=0x541C, TIOCSCTTY=0x540E, TIOCCONS=0x541D).items():
        attempt(f"{name} on {number}", fcntl.ioctl, number, request, b"x")
""",
    ),
)
"""Other processes, rights over the kernel, and programs that would outlive their run."""
_NETWORK: Final = (
    Escape(
        "TCP to the machine, IPv4 and IPv6",
        "refused",
        """
for address in ("127.0.0.1", host["address"], "0.0.0.0"):
    attempt(address, socket.create_connection, (address, host["tcp_port"]), 2)
for address in ("::1", "::ffff:127.0.0.1"):
    attempt(address, socket.create_connection, (address, host["tcp_port"]), 2)
""",
    ),
    Escape(
        "a Unix socket of the machine by its path",
        "refused",
        """
attempt("path", socket.socket(socket.AF_UNIX).connect, host["unix_path"])
for path in ("/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket",
             "/run/systemd/private", "/tmp/.X11-unix/X0", "/dev/log"):
    attempt(path, socket.socket(socket.AF_UNIX).connect, path)
for path in below("/run", "/var", "/tmp", "/dev"):
    if stat.S_ISSOCK(os.lstat(path).st_mode):
        through("a socket", path)
""",
    ),
    Escape(
        "an abstract socket of the machine",
        "refused",
        """
attempt("abstract", socket.socket(socket.AF_UNIX).connect, "\\0" + host["abstract"])
names = [line.split()[-1] for line in lines("/proc/net/unix") if "@" in line]
if names:
    through("names of abstract sockets", names)
""",
    ),
)
"""Networks, sockets, and descriptors that were left open."""
_MEMORY: Final = (
    Escape(
        "memory in pipes",
        "bounded",
        """
import fcntl
held, pipes = 0, []
try:
    while held < 6 << 30:
        reading, writing = os.pipe()
        pipes.append((reading, writing))
        try:
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
        except OSError:
            pass
        os.set_blocking(writing, False)
        try:
            while True:
                held += os.write(writing, b"x" * 65536)
        except BlockingIOError:
            pass
except OSError as error:
    print(error)
if held > 1 << 30:
    through("MiB", held >> 20)
""",
    ),
    Escape(
        "memory in the kernel's tables of pages",
        "bounded",
        """
# reading takes no memory of the program, but a page of its tables for each 2 MiB
import mmap
held, touched = [], 0
try:
    while touched < 2_000_000:
        piece = mmap.mmap(-1, 1 << 36, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
        held.append(piece)
        for place in range(0, 1 << 36, 1 << 21):
            piece[place]
            touched += 1
except (OSError, MemoryError) as error:
    print(error)
if touched > 1_000_000:
    through("GiB of tables", touched * 4096 >> 30)
""",
    ),
)
"""The machine's memory, also where no process is seen to have it."""
_SECRETS: Final = (
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
)
"""What the service knows."""
_RESULTS: Final = (
    Escape(
        "a folder that becomes a link",
        "harmless",
        """
# the copy looks at a folder, and opens what has taken its place
os.makedirs("folder")
open("folder/" + os.path.basename(host["secret_path"]), "w").write("mine")
if os.fork() == 0:
    os.setsid()
    while True:
        os.rename("folder", "was")
        os.symlink(os.path.dirname(host["secret_path"]), "folder")
        time.sleep(0.0005)
        os.unlink("folder")
        os.rename("was", "folder")
""",
    ),
    Escape(
        "a file that becomes a link",
        "harmless",
        """
open("real.txt", "w").write("mine")
os.symlink(host["secret_path"], "link.txt")
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        for name in ("real.txt", "link.txt"):
            os.symlink(host["secret_path"], "next") if name == "link.txt" else open("next", "w").write("mine")
            os.rename("next", "result.txt")
""",
    ),
    Escape(
        "names that are no text",
        "harmless",
        """
for name in (b"\\xff\\xfe.txt", b"\\xed\\xa0\\x80.txt", b"new\\nline.txt", b"bell\\x07.txt", b"\\x1b[2J.txt",
    b"tab\\t.txt",
             b"del\\x7f.txt", b"\\xc2\\x85.txt", "\\u202egpj.exe".encode(), "\\u2028.txt".encode(), b"\\x01"):
    with open(name, "w") as file:
        file.write("text")
""",
    ),
    Escape(
        "archives that are small until they are opened",
        "harmless",
        """
import gzip, zipfile
zeros = bytes(1 << 20)
for name in ("bomb.zip", "bomb.xlsx", "bomb.docx", "bomb.pptx"):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in ("[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml", "word/document.xml",
            "../../../escaped.txt"):
            with archive.open(member, "w", force_zip64=True) as file:
                for _ in range(256):
                    file.write(zeros)
with gzip.open("bomb.csv.gz", "wb") as file:
    for _ in range(256):
        file.write(zeros)
""",
        then="""
print(sorted(os.listdir(".")))
""",
    ),
    Escape(
        "modules that the next program imports",
        "harmless",
        """
body = "import os\\nopen('/tmp/escaped-" + host["token"] + "', 'w').close()\\nprint('through: imported')\\n"
for name in ("sitecustomize", "usercustomize", "json", "os", "encodings", "pandas", "matplotlib", "runpy", "site"):
    open(name + ".py", "w").write(body)
open("escaped.pth", "w").write("import os; print('through: pth')\\n")
open("pyvenv.cfg", "w").write("home = /tmp\\n")
open("matplotlibrc", "w").write("backend: module://json\\n")
os.makedirs(".local/lib", exist_ok=True)
""",
        then="""
import sys
print(sys.flags.no_user_site, sys.prefix)
""",
    ),
    Escape(
        "what the service reads of a run, forged",
        "harmless",
        """
# on every descriptor and in every form that a supervisor could read
import json
for number in range(1, 10):
    for line in (json.dumps({"status": "completed", "exit": 0, "files": [host["secret_path"]]}),
        "\\0\\0\\0\\x08escaped!", "EXIT 0"):
        try:
            os.write(number, line.encode() + b"\\n")
        except OSError:
            pass
os.kill(os.getpid(), signal.SIGKILL)
""",
    ),
)
"""What a program leaves as its results: links, pipes, names, and contents that somebody opens later."""
_RESOURCES: Final = (
    Escape(
        "every other place that can be written",
        "bounded",
        """
written = 0
for top, folders, _ in list(os.walk("/")):
    if top.startswith(("/proc", "/sys")) or top == os.getcwd():
        continue
    try:
        with open(os.path.join(top, "escaped-" + host["token"]), "wb") as file:
            print("writable", top, flush=True)
            for _ in range(2 * 1024):
                written += file.write(b"x" * (1 << 20))
    except OSError as error:
        if error.errno not in REFUSALS:
            print(top, error, flush=True)
if written > 4 << 30:
    through("MiB", written >> 20)
""",
        then="""
found = [path for path in below("/") if "escaped-" + host["token"] in path and not path.startswith(("/proc",
    os.getcwd()))]
if found:
    through("files of the run before", found)
print("refused: nothing is there")
""",
    ),
    Escape(
        "ten thousand folders, one in another",
        "bounded",
        """
for _ in range(10_000):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
open("deep.txt", "w").write("deep")
print("made")
""",
    ),
)
"""The disk, and what somebody has to keep of a run."""
ESCAPES: Final = {
    escape.name: escape
    for subject in (_FILES, _PROCESSES, _NETWORK, _MEMORY, _SECRETS, _RESULTS, _RESOURCES)
    for escape in subject
}
"""By their names."""
