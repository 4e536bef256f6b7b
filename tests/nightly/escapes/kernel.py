"""Ways out by asking the kernel: namespaces, mounts, devices, rights, and its rarer system calls."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

KERNEL: Final = (
    Escape(
        "a user namespace of its own",
        "refused",
        """
# in one a program has every right over its new namespaces: the usual way to the kernel's faults
for name, flag in dict(user=0x10000000, mount=0x20000, pid=0x20000000, net=0x40000000, ipc=0x8000000, uts=0x4000000,
                       cgroup=0x2000000, time=0x80).items():
    attempt(name, call, "unshare", flag)
    attempt(name + " with user", call, "unshare", flag | 0x10000000)
""",
    ),
    Escape(
        "a user namespace by clone and clone3",
        "refused",
        """
def cloned(number, *args):
    child = call(number, *args)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child

attempt("clone", cloned, 56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
arguments = ctypes.create_string_buffer(struct.pack("Q" * 11, 0x10000000, 0, 0, 0, signal.SIGCHLD, *[0] * 6))
attempt("clone3", cloned, 435, arguments, 88)
""",
    ),
    Escape(
        "the same calls by the old ways into the kernel",
        "refused",
        """
# a filter that looks at x86-64's numbers alone lets int 0x80 and the numbers of x32 through
import mmap, platform

def by_interrupt(number, first):
    code = b"\\x53\\xb8" + struct.pack("I", number) + b"\\xbb" + struct.pack("I", first) + b"\\xcd\\x80\\x5b\\xc3"
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if result >= 0:
        through("int 0x80", number, result)

def by_x32(number, first):
    attempt("x32", call, 0x40000000 | number, first)

if platform.machine() == "x86_64":
    in_child(by_interrupt, 310, 0x10000000)  # unshare
    in_child(by_interrupt, 288, 0)  # keyctl
    in_child(by_x32, 272, 0x10000000)
    in_child(by_x32, 250, 0)
print("refused: all, or the children were killed")
""",
    ),
    Escape(
        "mounts",
        "refused",
        """
os.makedirs("mounted", exist_ok=True)
for kind in (b"tmpfs", b"proc", b"sysfs", b"cgroup", b"cgroup2", b"devtmpfs", b"overlay", b"debugfs", b"bpf"):
    attempt(kind.decode(), call, "mount", b"none", b"mounted", kind, 0, None)
attempt("bind", call, "mount", b"/", b"mounted", None, 4096 | 16384, None)
attempt("writable", call, "mount", None, b"/usr", None, 32 | 4096, None)
attempt("shared", call, "mount", None, b"/", None, 1 << 20, None)
for place in (b"/proc", b"/tmp", b"/dev", b"/usr", b"/"):
    attempt("umount " + place.decode(), call, "umount2", place, 2)
""",
    ),
    Escape(
        "mounts by the newer calls",
        "refused",
        """
attempt("fsopen", call, 430, b"tmpfs", 0)
attempt("fspick", call, 433, -100, b"/", 0)
attempt("open_tree as a copy", call, 428, -100, b"/", 1)
attempt("move_mount", call, 429, -100, b"/tmp", -100, b"/", 0)
attempt("mount_setattr", call, 442, -100, b"/usr", 0, struct.pack("QQQQ", 0, 1, 0, 0), 32)
""",
    ),
    Escape(
        "another root",
        "refused",
        """
folder = os.open(".", os.O_RDONLY)
attempt("chroot", os.chroot, ".")
attempt("pivot_root", call, 155, b".", b".")
os.fchdir(folder)
for _ in range(100):
    os.chdir("..")
if "agentsvc" in str(os.listdir(".")) or os.path.exists(host["data"]):
    through("the root of the machine", os.listdir("."))
""",
    ),
    Escape(
        "into other namespaces",
        "refused",
        """
for name in listed("/proc/self/ns") or ("user", "mnt", "pid", "net"):
    for process in ("self", 1, os.getppid()):
        path = f"/proc/{process}/ns/{name}"
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            print("refused:", path, error)
        else:
            attempt(path, call, "setns", descriptor, 0)
            try:  # the namespace that owns it, by an ioctl
                import fcntl
                through("the owner of " + path, fcntl.ioctl(descriptor, 0xB701))
            except OSError as error:
                print("refused:", error)
""",
    ),
    Escape(
        "rare system calls",
        "refused",
        """
empty = ctypes.create_string_buffer(256)
attempt("bpf", call, 321, 0, empty, 120)
attempt("perf_event_open", call, 298, empty, 0, -1, -1, 0)
attempt("userfaultfd", call, 323, 0)
attempt("userfaultfd for user mode", call, 323, 1)
attempt("io_uring", call, 425, 8, ctypes.create_string_buffer(256))
attempt("kcmp", call, 312, os.getpid(), 1, 0, 0, 0)
attempt("name_to_handle_at", call, 303, -100, b"/", empty, empty, 0)
attempt("quotactl", call, 179, 0x80000100, b"/dev/vda", 0, empty)
attempt("fanotify", call, 300, 0, 0)
attempt("lookup of a handle", call, 304, -100, struct.pack("Ii", 8, 1) + struct.pack("II", 2, 0), 0)
""",
    ),
    Escape(
        "keys of the kernel",
        "refused",
        """
# rings of keys belong to a user, not to a namespace: what one run leaves another finds, and the service, too
attempt("add_key", call, 248, b"user", b"escaped", b"text", 4, -4)
attempt("add_key of the session", call, 248, b"user", b"escaped", b"text", 4, -3)
attempt("request_key", call, 249, b"user", b"escaped", None, -4)
attempt("keyctl", call, 250, 0, -4, 1)
attempt("join a session", call, 250, 1, b"escaped")
""",
        then="""
attempt("what the run before left", call, 249, b"user", b"escaped", None, -4)
""",
    ),
    Escape(
        "what only the machine's administrator may",
        "refused",
        """
attempt("init_module", call, 175, b"", 0, b"")
attempt("finit_module", call, 313, 0, b"", 0)
attempt("kexec", call, 246, 0, 0, 0, 0)
attempt("reboot", call, "reboot", 0)
attempt("swapon", call, "swapon", b"none", 0)
attempt("acct", call, "acct", b"escaped")
attempt("the kernel's log", call, "klogctl", 3, ctypes.create_string_buffer(4096), 4096)
attempt("its size", call, "klogctl", 5, None, 0)
attempt("iopl", call, 172, 3)
attempt("ioperm", call, 173, 0, 1, 1)
attempt("vhangup", call, "vhangup")
""",
    ),
    Escape(
        "clock and names of the machine",
        "refused",
        """
attempt("clock_settime", time.clock_settime, time.CLOCK_REALTIME, time.time())
attempt("settimeofday", call, "settimeofday", struct.pack("qq", int(time.time()), 0), None)
attempt("adjtimex", call, "adjtimex", ctypes.create_string_buffer(struct.pack("I", 0x4000), 512))
attempt("hostname", socket.sethostname, socket.gethostname())
attempt("domain", call, "setdomainname", b"x", 1)
""",
    ),
    Escape(
        "devices",
        "refused",
        """
for name, kind, major, minor in (("disk", stat.S_IFBLK, 254, 0), ("memory", stat.S_IFCHR, 1, 1), ("null",
    stat.S_IFCHR, 1, 3)):
    for place in (".", "/tmp", "/dev", "/dev/shm"):
        attempt(f"{name} in {place}", os.mknod, f"{place}/{name}-escaped", 0o666 | kind, os.makedev(major, minor))
for name in ("mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "loop0", "loop-control", "fuse", "kvm",
    "vhost-net",
             "mapper/control", "dri/card0", "input/event0", "uinput", "snapshot", "watchdog", "hpet", "console",
                 "ptmx0"):
    attempt(name, os.open, "/dev/" + name, os.O_RDWR)
allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
for path in below("/dev"):
    kind = os.lstat(path).st_mode
    if stat.S_ISBLK(kind) or (stat.S_ISCHR(kind) and os.path.basename(path) not in allowed):
        through("a device", path)
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
    Escape(
        "rights",
        "refused",
        """
status = dict(line.rstrip().split(":\\t", 1) for line in lines("/proc/self/status") if ":\\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
    if int(status.get(name, "0"), 16):
        through(name, status[name])
if libc.prctl(39, 0, 0, 0, 0) != 1:
    through("new rights are allowed")
if libc.prctl(21, 0, 0, 0, 0) != 2:
    through("no filter of system calls")
outside = [line.split() for line in lines("/proc/self/uid_map")]
if any(int(row[1]) == 0 for row in outside):
    through("root of the machine", outside)
for change in (os.setuid, os.setgid, os.seteuid):
    try:
        change(0)
    except OSError as error:  # also as there is no such user in this namespace
        print("refused:", error)
if 0 in os.getresuid() + os.getresgid():
    through("root", os.getresuid(), os.getresgid())
attempt("setgroups", os.setgroups, [0])
attempt("a map of users", open, "/proc/self/uid_map", "w")
attempt("capset", call, "capset", struct.pack("II", 0x20080522, 0), struct.pack("IIIIII", *[0xFFFFFFFF] * 6))
attempt("bounding", call, "prctl", 24, 0, 0, 0, 0)
""",
    ),
    Escape(
        "set-user-id programs",
        "refused",
        """
import shutil, subprocess
shutil.copy(os.path.realpath(sys.executable), "shell")
os.chmod("shell", 0o6755)
found = subprocess.run(["./shell", "-I", "-S", "-c", "import os; print(os.geteuid(), os.getuid())"],
    capture_output=True, text=True)
effective = found.stdout.split()
if effective and effective[0] != effective[1]:
    through("another user", found.stdout)
for path in below("/usr", "/bin", "/sbin", "/opt"):
    kind = os.lstat(path).st_mode
    if stat.S_ISREG(kind) and kind & (stat.S_ISUID | stat.S_ISGID):
        attempt(path, os.setxattr, path, "user.escaped", b"x")
        for name in ("su", "sudo", "mount", "newuidmap", "pkexec", "unix_chkpwd"):
            if path.endswith("/" + name):
                one = subprocess.run([path, "-c", "id -u"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
                if one.stdout.strip() == "0" and os.getuid():
                    through(path)
print("refused: no right was won")
""",
    ),
    Escape(
        "limits raised",
        "refused",
        """
import resource
for name in ("RLIMIT_AS", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CPU", "RLIMIT_CORE",
    "RLIMIT_MEMLOCK"):
    number = getattr(resource, name)
    soft, hard = resource.getrlimit(number)
    if hard != resource.RLIM_INFINITY:
        try:
            resource.setrlimit(number, (soft, resource.RLIM_INFINITY))
        except ValueError as error:
            print("refused:", name, error)
        else:
            through(name, hard)
attempt("nice", os.nice, -5)
attempt("real time", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
attempt("of process 1", resource.prlimit, 1, resource.RLIMIT_NPROC, (9999, 9999)) if os.getpid() != 1 else None

def spared():
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")

attempt("spared when memory runs out", spared)
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
        "groups of processes (cgroups)",
        "refused",
        """
os.makedirs("group", exist_ok=True)
for kind in (b"cgroup", b"cgroup2"):
    for options in (b"memory", b"rdma", None):
        attempt(f"mount {kind} {options}", call, "mount", b"none", b"group", kind, 0, options)
attempt("a new group", os.mkdir, "/sys/fs/cgroup/escaped")
for path in below("/sys/fs/cgroup"):
    if os.path.basename(path) in ("cgroup.procs", "tasks", "release_agent", "memory.max", "notify_on_release"):
        attempt(path, os.open, path, os.O_WRONLY)
for line in lines("/proc/self/cgroup"):
    if host["token"] in line:
        through("the group's name", line)
""",
    ),
    Escape(
        "code that is made while it runs",
        "harmless",
        """
import mmap
# a program in memory alone has the same rights as one on the disk
image = os.memfd_create("escaped")
with open(os.path.realpath(sys.executable), "rb") as file:
    while piece := file.read(1 << 20):
        os.write(image, piece)
child = os.fork()
if child == 0:
    os.execve(image, ["python", "-I", "-S", "-c", "import os; print(os.getuid(), os.path.exists('/etc/shadow'))"], {})
print(os.waitpid(child, 0))

def jump(address):
    ctypes.CFUNCTYPE(ctypes.c_int)(address)()

print(in_child(jump, 0xFFFFFFFFFF600000), "vsyscall")
print(in_child(jump, 0), "nowhere")
call("personality", 0x0400000 | 0x0040000)
""",
    ),
)
