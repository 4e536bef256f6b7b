"""Attempts of a few lines each: networks, processes, `/proc`, links, and mounts."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

SHORT_OUTSIDE: Final = (
    Escape(
        "a service on loopback",
        "refused",
        """
denied(socket.create_connection, ('127.0.0.1', host["tcp_port"]), 2)
""",
    ),
    Escape(
        "a service on IPv6 loopback",
        "refused",
        """
denied(socket.create_connection, ('::1', host["tcp_port"]), 2)
""",
    ),
    Escape(
        "a name server",
        "refused",
        """
denied(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53)))
""",
    ),
    Escape(
        "a web page",
        "refused",
        """
import urllib.request
denied(urllib.request.urlopen, 'http://1.1.1.1/', None, 3)
""",
    ),
    Escape(
        "raw, netlink and virtual machines' sockets",
        "refused",
        """
for family in (16, 17, 40, 38, 44): denied(socket.socket, family, socket.SOCK_RAW)
""",
    ),
    Escape(
        "an abstract socket of this machine",
        "refused",
        """
denied(socket.socket(socket.AF_UNIX).connect, "\\0" + host["abstract"])
""",
    ),
    Escape(
        "a socket in a folder of this machine",
        "refused",
        """
denied(socket.socket(socket.AF_UNIX).connect, host["data"] + "/socket")
""",
    ),
    Escape(
        "a signal to a process of this machine",
        "refused",
        """
denied(os.kill, host["service_pid"], 0)
""",
    ),
    Escape(
        "signals to every number",
        "refused",
        """
seen = []
for pid in range(1, 40000):
    try: os.kill(pid, 0); seen.append(pid)
    except PermissionError: seen.append(pid)
    except ProcessLookupError: pass
print('refused' if set(seen) <= {1, os.getpid()} else 'through:', seen)
""",
    ),
    Escape(
        "an end of the first process",
        "refused",
        """
for each in (signal.SIGSTOP, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV):
    try: os.kill(1, each)
    except PermissionError: pass
time.sleep(.2)
print('refused')
""",
    ),
    Escape(
        "an end of all",
        "bounded",
        """
os.kill(-1, 9) if os.fork() else time.sleep(60)
""",
        ends=("exit",),
    ),
    Escape(
        "a debugger of the first process",
        "refused",
        """
for ask in (16, 0x4206): syscall(numbers["ptrace"], ask, 1, 0, 0)
""",
    ),
    Escape(
        "memory of the first process",
        "refused",
        """
buffer = ctypes.create_string_buffer(64)
syscall(numbers["process_vm_readv"], 1, buffer, 1, buffer, 1, 0)
""",
    ),
    Escape(
        "limits of the first process",
        "bounded",
        """
import resource
for name in ('RLIMIT_AS', 'RLIMIT_NOFILE', 'RLIMIT_CPU'):
    try: resource.prlimit(1, getattr(resource, name), (1, 1))
    except PermissionError: pass
time.sleep(.3)
print('refused')
""",
        ends=("exit",),
    ),
    Escape(
        "a better place in the queue",
        "refused",
        """
denied(os.sched_setscheduler, 0, os.SCHED_BATCH, os.sched_param(0))
denied(os.nice, -20)
""",
    ),
    Escape(
        "handles of the supervisor",
        "refused",
        """
for handle in range(3, 1024):
    try: found = os.fstat(handle)
    except OSError: continue
    print('through:', handle, found)
print('refused' if os.path.sameopenfile(1, 2) and stat.S_ISCHR(os.fstat(0).st_mode) else 'through:')
""",
    ),
    Escape(
        "the list of processes",
        "refused",
        """
denied(os.listdir, '/proc')
denied(open, '/proc/self/mountinfo')
""",
    ),
    Escape(
        "the environment of a process",
        "refused",
        """
denied(open, '/proc/1/environ')
denied(open, f"/proc/{host['service_pid']}/environ")
""",
    ),
    Escape(
        "settings of the kernel",
        "refused",
        """
for path in ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/sys/kernel/uevent_helper',
    '/sys/fs/cgroup/release_agent'):
    denied(open, path, 'w')
""",
    ),
    Escape(
        "a new /proc",
        "refused",
        """
os.mkdir('p')
syscall(numbers["mount"], b'proc', b'/work/p', b'proc', 0, 0)
""",
    ),
    Escape(
        "a link to a file of this machine as a result",
        "refused",
        """
os.symlink(host["secret_path"], 'a.txt'); print('refused')
""",
    ),
    Escape(
        "a link to a folder as a result",
        "refused",
        """
os.symlink('/', 'all'); os.symlink(host["data"], 'b'); print('refused')
""",
    ),
    Escape(
        "a link that changes while it is read",
        "refused",
        """
if os.fork() == 0:
    while True:
        open('x', 'w').close(); os.unlink('x')
        os.symlink(host["secret_path"], 'x')
        os.unlink('x')
time.sleep(.3)
print('refused')
""",
    ),
    Escape(
        "a hard link to a file of the chat",
        "refused",
        """
denied(os.link, '/files/0', 'a.txt')
""",
    ),
    Escape(
        "a pipe, a socket and a device as results",
        "refused",
        """
os.mkfifo('a.csv')
socket.socket(socket.AF_UNIX).bind('b.csv')
print('refused')
""",
    ),
    Escape(
        "a folder in place of the working folder",
        "refused",
        """
denied(os.rename, '/work', '/tmp/w')
denied(os.rmdir, '/work')
""",
    ),
    Escape(
        "folders deeper than paths",
        "refused",
        """
for n in range(5000):
    os.mkdir('d'); os.chdir('d')
open('x', 'w').close()
print('refused')
""",
    ),
    Escape(
        "names that are no text, shortly",
        "refused",
        """
for name in (b'\\xff\\xfe', b'a\\nb', b'\\x1b[2J', '\\u202etxt.exe'.encode(), b'\\\\..\\\\x', b'x' * 255):
    open(name, 'w').close()
print('refused')
""",
    ),
    Escape(
        "a mount",
        "refused",
        """
os.mkdir('m')
syscall(numbers["mount"], b'none', b'/work/m', b'tmpfs', 0, 0)
syscall(numbers["umount2"], b'/work', 2)
""",
    ),
    Escape(
        "what is read-only made writable",
        "refused",
        """
syscall(numbers["mount"], 0, b'/', 0, 0x1020, 0)
syscall(442, -100, b'/', 0, ctypes.create_string_buffer(32), 32)
""",
    ),
    Escape(
        "a change of what is read-only",
        "refused",
        """
for path in ('/x', '/python/x', "/python/lib/python" + host["version"] + "/os.py", '/python/packages/pandas/x.py',
    '/usr/x', '/usr/lib/x', '/files/0', '/files/x', '/dev/x', '/tmp/matplotlib/../../x'):
    denied(open, path, 'ab')
""",
    ),
)
