"""Attempts of a few lines each: namespaces, places of this machine, devices, rights, and bombs."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

SHORT_RIGHTS: Final = (
    Escape(
        "a user namespace",
        "refused",
        """
syscall(numbers["unshare"], 0x10000000)
syscall(numbers["clone"], 0x10000000 | 17, 0, 0, 0, 0)
""",
    ),
    Escape(
        "other namespaces",
        "refused",
        """
for flag in (0x20000, 0x40000000, 0x8000000, 0x2000000): syscall(numbers["unshare"], flag)
""",
    ),
    Escape(
        "the newer call for namespaces",
        "refused",
        """
syscall(435, ctypes.create_string_buffer(88), 88)
""",
    ),
    Escape(
        "another root, shortly",
        "refused",
        """
syscall(numbers["chroot"], b'/work')
syscall(numbers["pivot_root"], b'/work', b'/work')
syscall(numbers["setns"], 0, 0)
""",
    ),
    Escape(
        "a file by its handle",
        "refused",
        """
syscall(numbers["open_by_handle_at"], 0, ctypes.create_string_buffer(64), 0)
""",
    ),
    Escape(
        "the service's environment",
        "refused",
        """
print('through:' if any(host["secret"] in one for one in os.environ.values()) else 'refused', sorted(os.environ))
""",
    ),
    Escape(
        "files of this machine by their names",
        "refused",
        """
for path in ('/etc/passwd', '/etc/shadow', '/root', '/home', '/var', '/run', '/boot', '/usr/bin', '/bin/sh', '/sbin',
    '/opt', '/srv', '/mnt', host["secret_path"], host["data"]):
    denied(os.stat, path)
""",
    ),
    Escape(
        "the canary anywhere",
        "refused",
        """
for folder, _, names in os.walk('/'):
    for name in names:
        if name.startswith('canary'): print('through:', folder, name)
print('refused')
""",
    ),
    Escape(
        "a folder that stayed open",
        "refused",
        """
for n in range(64):
    try: print('through:', os.listdir(n))
    except OSError: pass
denied(os.stat, '/work/../../../../etc/passwd')
""",
    ),
    Escape(
        "a shell",
        "refused",
        """
import subprocess
denied(subprocess.run, ['/bin/sh', '-c', 'id'])
denied(subprocess.run, ['ls'])
""",
    ),
    Escape(
        "paths of this machine in a traceback",
        "refused",
        """
import pandas, traceback
try: pandas.read_csv('none.csv')
except OSError: said = traceback.format_exc()
print('through:' if host["packages"] in said or host["data"] in said else 'refused', said)
""",
    ),
    Escape(
        "devices of this machine",
        "refused",
        """
for name in ('mem', 'kmsg', 'kvm', 'fuse', 'sda', 'vda', 'tty', 'console', 'ptmx', 'zero', 'shm'):
    denied(os.stat, '/dev/' + name)
""",
    ),
    Escape(
        "a device of one's own",
        "refused",
        """
for kind, major in ((stat.S_IFCHR, 1), (stat.S_IFBLK, 8), (stat.S_IFBLK, 254)):
    denied(os.mknod, f'dev{major}', kind | 0o666, os.makedev(major, 1))
""",
    ),
    Escape(
        "typing into the terminal",
        "refused",
        """
import fcntl, termios
for handle in (0, 1, 2): denied(fcntl.ioctl, handle, termios.TIOCSTI, b'x')
""",
    ),
    Escape(
        "root",
        "refused",
        """
import shutil
for act in (os.setuid, os.seteuid, os.setgid): denied(act, 0)
denied(os.setgroups, [0])
denied(os.chown, '/work', 0, 0)
""",
    ),
    Escape(
        "a set-uid program",
        "refused",
        """
import shutil
shutil.copy('/python/bin/python', 'p'); os.chmod('p', 0o6777)
before = os.getresuid() + os.getresgid()
for folder, _, names in os.walk('/usr/lib'):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.stat(path).st_mode & 0o6000 and os.access(path, os.X_OK):
            os.spawnl(os.P_WAIT, path, name)
same = os.getresuid() + os.getresgid() == before
print('refused' if same and libc.prctl(39, 0, 0, 0, 0) == 1 else 'through:')
""",
    ),
    Escape(
        "capabilities",
        "refused",
        """
found = (ctypes.c_uint32 * 6)()
head = (ctypes.c_uint32 * 2)(0x20080522, 0)
libc.syscall(numbers["capget"], head, found)
print('through:' if any(found[n] for n in (0, 1, 3, 4)) else 'refused', list(found))
""",
    ),
    Escape(
        "a filter taken off",
        "refused",
        """
print('refused' if libc.prctl(21, 0, 0, 0, 0) == 2 and libc.prctl(22, 0, 0, 0, 0) == -1 else 'through:')
""",
    ),
    Escape(
        "parts of the kernel",
        "refused",
        """
for number in (numbers["bpf"], numbers["perf_event_open"], numbers["userfaultfd"], 425, numbers["add_key"],
    numbers["keyctl"], numbers["init_module"], numbers["syslog"]):
    syscall(number, 0, 0, 0, 0, 0)
""",
    ),
    Escape(
        "limits raised, shortly",
        "refused",
        """
import resource
for name in ('AS', 'NPROC', 'FSIZE', 'NOFILE', 'CORE', 'MEMLOCK'):
    denied(resource.setrlimit, getattr(resource, 'RLIMIT_' + name), (1 << 40, 1 << 40))
""",
    ),
    Escape(
        "a fork bomb, shortly",
        "bounded",
        """
while True:
    try: os.fork()
    except OSError: pass
""",
        ends=("time", "processes", "memory"),
        seconds=3,
    ),
    Escape(
        "a fork bomb whose first process ends",
        "bounded",
        """
if os.fork(): os._exit(0)
while True:
    try: os.fork()
    except OSError: time.sleep(.01)
""",
    ),
    Escape(
        "processes that leave their session",
        "refused",
        """
for n in range(10):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)
print('refused')
""",
    ),
    Escape(
        "threads",
        "refused",
        """
import threading
started = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=[9], daemon=True).start(); started += 1
except (RuntimeError, MemoryError): print('refused' if started < 40 else 'through:', started)
os._exit(0)
""",
    ),
    Escape(
        "memory",
        "refused",
        """
denied(bytearray, 1 << 34)
""",
    ),
    Escape(
        "memory of many processes",
        "bounded",
        """
for n in range(20):
    if os.fork() == 0:
        kept = bytearray(400_000_000)
        for at in range(0, len(kept), 4096): kept[at] = 1
        time.sleep(60)
time.sleep(60)
""",
        ends=("memory",),
    ),
)
