"""Ways out of the sandbox of programs, each a program that tries one (`test_program_escapes.py`)."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Final

PRELUDE: Final = """
import ctypes, errno, os, signal, socket, stat, sys, time
libc = ctypes.CDLL(None, use_errno=True)

def attempt(act, *given):
    try:
        found = act(*given)
    except BaseException as error:
        print("refused", type(error).__name__, error)
    else:
        print("ESCAPED", found)

def syscall(number, *given):
    found = libc.syscall(number, *given)
    print("refused" if found == -1 else "ESCAPED", number, found, errno.errorcode.get(ctypes.get_errno()))
"""


@dataclass(frozen=True)
class Escape:
    """A program in which numbers of system calls and what is known of this machine are filled in. It prints `ESCAPED`
    where it got what it wanted. `ways`: how it may end (`Ending.how`)."""

    code: str
    ways: tuple[str, ...] = ("exit",)
    seconds: float = 20.0
    exit_codes: tuple[int, ...] = (0,)


ESCAPES: Final = {
    "a service on loopback": Escape("attempt(socket.create_connection, ('127.0.0.1', {port}), 2)"),
    "a service on IPv6 loopback": Escape("attempt(socket.create_connection, ('::1', {port}), 2)"),
    "a name server": Escape(
        "attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53)))"
    ),
    "a web page": Escape("import urllib.request\nattempt(urllib.request.urlopen, 'http://1.1.1.1/', None, 3)"),
    "raw, netlink and virtual machines' sockets": Escape(
        "for family in (16, 17, 40, 38, 44): attempt(socket.socket, family, socket.SOCK_RAW)"
    ),
    "an abstract socket of this machine": Escape("attempt(socket.socket(socket.AF_UNIX).connect, '\\0{abstract}')"),
    "a socket in a folder of this machine": Escape("attempt(socket.socket(socket.AF_UNIX).connect, '{folder}/socket')"),
    # Processes
    "a signal to a process of this machine": Escape("attempt(os.kill, {pid}, 0)"),
    "signals to every number": Escape(
        "seen = []\nfor pid in range(1, 40000):\n    try: os.kill(pid, 0); seen.append(pid)\n"
        "    except PermissionError: seen.append(pid)\n    except ProcessLookupError: pass\n"
        "print('refused' if set(seen) <= {{1, os.getpid()}} else 'ESCAPED', seen)"
    ),
    "an end of the first process": Escape(
        "for each in (signal.SIGSTOP, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV):\n"
        "    try: os.kill(1, each)\n    except PermissionError: pass\n"
        "time.sleep(.2)\nprint('refused')"
    ),
    "an end of all": Escape("os.kill(-1, 9) if os.fork() else time.sleep(60)", exit_codes=(0, 1, -9)),
    "a debugger of the first process": Escape("for ask in (16, 0x4206): syscall({ptrace}, ask, 1, 0, 0)"),
    "memory of the first process": Escape(
        "buffer = ctypes.create_string_buffer(64)\nsyscall({process_vm_readv}, 1, buffer, 1, buffer, 1, 0)"
    ),
    "limits of the first process": Escape(
        "import resource\nfor name in ('RLIMIT_AS', 'RLIMIT_NOFILE', 'RLIMIT_CPU'):\n"
        "    try: resource.prlimit(1, getattr(resource, name), (1, 1))\n    except PermissionError: pass\n"
        "time.sleep(.3)\nprint('refused')",
        ways=("exit", "lost"),
        exit_codes=(0, 1),
    ),
    "a better place in the queue": Escape(
        "attempt(os.sched_setscheduler, 0, os.SCHED_BATCH, os.sched_param(0))\nattempt(os.nice, -20)"
    ),
    "handles of the supervisor": Escape(
        "for handle in range(3, 1024):\n    try: found = os.fstat(handle)\n    except OSError: continue\n"
        "    print('ESCAPED', handle, found)\n"
        "print('refused' if os.path.sameopenfile(1, 2) and stat.S_ISCHR(os.fstat(0).st_mode) else 'ESCAPED')"
    ),
    # /proc and /sys
    "the list of processes": Escape("attempt(os.listdir, '/proc')\nattempt(open, '/proc/self/mountinfo')"),
    "the environment of a process": Escape("attempt(open, '/proc/1/environ')\nattempt(open, '/proc/{pid}/environ')"),
    "settings of the kernel": Escape(
        "for path in ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/sys/kernel/uevent_helper',"
        " '/sys/fs/cgroup/release_agent'):\n    attempt(open, path, 'w')"
    ),
    "a new /proc": Escape("os.mkdir('p')\nsyscall({mount}, b'proc', b'/work/p', b'proc', 0, 0)"),
    # Links
    "a link to a file of this machine as a result": Escape("os.symlink('{secret}', 'a.txt'); print('refused')"),
    "a link to a folder as a result": Escape("os.symlink('/', 'all'); os.symlink('{folder}', 'b'); print('refused')"),
    "a link that changes while it is read": Escape(
        "if os.fork() == 0:\n    while True:\n        open('x', 'w').close(); os.unlink('x')\n"
        "        os.symlink('{secret}', 'x')\n"
        "        os.unlink('x')\ntime.sleep(.3)\nprint('refused')"
    ),
    "a hard link to a file of the chat": Escape("attempt(os.link, '/files/0', 'a.txt')"),
    "a pipe, a socket and a device as results": Escape(
        "os.mkfifo('a.csv')\nsocket.socket(socket.AF_UNIX).bind('b.csv')\nprint('refused')"
    ),
    "a folder in place of the working folder": Escape(
        "attempt(os.rename, '/work', '/tmp/w')\nattempt(os.rmdir, '/work')"
    ),
    "folders deeper than paths": Escape(
        "for n in range(5000):\n    os.mkdir('d'); os.chdir('d')\nopen('x', 'w').close()\nprint('refused')"
    ),
    "names that are no text": Escape(
        "for name in (b'\\xff\\xfe', b'a\\nb', b'\\x1b[2J', '\\u202etxt.exe'.encode(), b'\\\\..\\\\x', b'x' * 255):\n"
        "    open(name, 'w').close()\nprint('refused')"
    ),
    # Mounts and namespaces
    "a mount": Escape(
        "os.mkdir('m')\nsyscall({mount}, b'none', b'/work/m', b'tmpfs', 0, 0)\nsyscall({umount2}, b'/work', 2)"
    ),
    "what is read-only made writable": Escape(
        "syscall({mount}, 0, b'/', 0, 0x1020, 0)\nsyscall(442, -100, b'/', 0, ctypes.create_string_buffer(32), 32)"
    ),
    "a change of what is read-only": Escape(
        "for path in ('/x', '/python/x', '/python/lib/python{version}/os.py', '/python/packages/pandas/x.py', '/usr/x',"
        " '/usr/lib/x', '/files/0', '/files/x', '/dev/x', '/tmp/matplotlib/../../x'):\n    attempt(open, path, 'ab')"
    ),
    "a user namespace": Escape("syscall({unshare}, 0x10000000)\nsyscall({clone}, 0x10000000 | 17, 0, 0, 0, 0)"),
    "other namespaces": Escape("for flag in (0x20000, 0x40000000, 0x8000000, 0x2000000): syscall({unshare}, flag)"),
    "the newer call for namespaces": Escape("syscall(435, ctypes.create_string_buffer(88), 88)"),
    "another root": Escape(
        "syscall({chroot}, b'/work')\nsyscall({pivot_root}, b'/work', b'/work')\nsyscall({setns}, 0, 0)"
    ),
    "a file by its handle": Escape("syscall({open_by_handle_at}, 0, ctypes.create_string_buffer(64), 0)"),
    # Environment and places
    "the service's environment": Escape(
        "print('ESCAPED' if any('{canary}' in one for one in os.environ.values()) else 'refused', sorted(os.environ))"
    ),
    "files of this machine by their names": Escape(
        "for path in ('/etc/passwd', '/etc/shadow', '/root', '/home', '/var', '/run', '/boot', '/usr/bin', '/bin/sh',"
        " '/sbin', '/opt', '/srv', '/mnt', '{secret}', '{folder}'):\n    attempt(os.stat, path)"
    ),
    "the canary anywhere": Escape(
        "for folder, _, names in os.walk('/'):\n    for name in names:\n        if name.startswith('canary'):"
        " print('ESCAPED', folder, name)\nprint('refused')"
    ),
    "a folder that stayed open": Escape(
        "for n in range(64):\n    try: print('ESCAPED', os.listdir(n))\n    except OSError: pass\n"
        "attempt(os.stat, '/work/../../../../etc/passwd')"
    ),
    "a shell": Escape(
        "import subprocess\nattempt(subprocess.run, ['/bin/sh', '-c', 'id'])\nattempt(subprocess.run, ['ls'])"
    ),
    "paths of this machine in a traceback": Escape(
        "import pandas, traceback\ntry: pandas.read_csv('none.csv')\nexcept OSError: said = traceback.format_exc()\n"
        "print('ESCAPED' if '{packages}' in said or '{folder}' in said else 'refused', said)"
    ),
    # Devices
    "devices of this machine": Escape(
        "for name in ('mem', 'kmsg', 'kvm', 'fuse', 'sda', 'vda', 'tty', 'console', 'ptmx', 'zero', 'shm'):\n"
        "    attempt(os.stat, '/dev/' + name)"
    ),
    "a device of one's own": Escape(
        "for kind, major in ((stat.S_IFCHR, 1), (stat.S_IFBLK, 8), (stat.S_IFBLK, 254)):\n"
        "    attempt(os.mknod, f'dev{{major}}', kind | 0o666, os.makedev(major, 1))"
    ),
    "typing into the terminal": Escape(
        "import fcntl, termios\nfor handle in (0, 1, 2): attempt(fcntl.ioctl, handle, termios.TIOCSTI, b'x')"
    ),
    # Rights
    "root": Escape(
        "import shutil\nfor act in (os.setuid, os.seteuid, os.setgid): attempt(act, 0)\nattempt(os.setgroups, [0])\n"
        "attempt(os.chown, '/work', 0, 0)"
    ),
    "a set-uid program": Escape(
        "import shutil\nshutil.copy('/python/bin/python', 'p'); os.chmod('p', 0o6777)\n"
        "before = os.getresuid() + os.getresgid()\n"
        "for folder, _, names in os.walk('/usr/lib'):\n    for name in names:\n"
        "        path = os.path.join(folder, name)\n"
        "        if os.path.isfile(path) and os.stat(path).st_mode & 0o6000 and"
        " os.access(path, os.X_OK):\n            os.spawnl(os.P_WAIT, path, name)\n"
        "same = os.getresuid() + os.getresgid() == before\n"
        "print('refused' if same and libc.prctl(39, 0, 0, 0, 0) == 1 else 'ESCAPED')"
    ),
    "capabilities": Escape(
        "found = (ctypes.c_uint32 * 6)()\nhead = (ctypes.c_uint32 * 2)(0x20080522, 0)\n"
        "libc.syscall({capget}, head, found)\n"
        "print('ESCAPED' if any(found[n] for n in (0, 1, 3, 4)) else 'refused', list(found))"
    ),
    "a filter taken off": Escape(
        "print('refused' if libc.prctl(21, 0, 0, 0, 0) == 2 and libc.prctl(22, 0, 0, 0, 0) == -1 else 'ESCAPED')"
    ),
    "parts of the kernel": Escape(
        "for number in ({bpf}, {perf_event_open}, {userfaultfd}, 425, {add_key}, {keyctl}, {init_module}, {syslog}):\n"
        "    syscall(number, 0, 0, 0, 0, 0)"
    ),
    "limits raised": Escape(
        "import resource\nfor name in ('AS', 'NPROC', 'FSIZE', 'NOFILE', 'CORE', 'MEMLOCK'):\n"
        "    attempt(resource.setrlimit, getattr(resource, 'RLIMIT_' + name), (1 << 40, 1 << 40))"
    ),
    # Bombs
    "a fork bomb": Escape(
        "while True:\n    try: os.fork()\n    except OSError: pass", ways=("time", "processes", "memory"), seconds=3.0
    ),
    "a fork bomb whose first process ends": Escape(
        "if os.fork(): os._exit(0)\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(.01)",
    ),
    "processes that leave their session": Escape(
        "for n in range(10):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork(): os._exit(0)\n"
        "        signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)\nprint('refused')"
    ),
    "threads": Escape(
        "import threading\nstarted = 0\ntry:\n    while True:\n"
        "        threading.Thread(target=time.sleep, args=[9], daemon=True).start(); started += 1\n"
        "except (RuntimeError, MemoryError): print('refused' if started < 40 else 'ESCAPED', started)\nos._exit(0)"
    ),
    "memory": Escape("attempt(bytearray, 1 << 34)"),
    "memory of many processes": Escape(
        "for n in range(20):\n    if os.fork() == 0:\n        kept = bytearray(400_000_000)\n"
        "        for at in range(0, len(kept), 4096): kept[at] = 1\n        time.sleep(60)\ntime.sleep(60)",
        ways=("memory",),
    ),
    "memory of no process": Escape(
        "import mmap\nattempt(mmap.mmap, -1, 1 << 20)\nattempt(os.memfd_create, 'x')\n"
        "syscall({shmget}, 0, 1 << 20, 0o1600)\n"
        "syscall({msgget}, 0, 0o1600)\nsyscall({mq_open}, b'x', 0o102, 0o600, 0)\nsyscall(447, 0)"
    ),
    "locked memory": Escape("syscall({mlockall}, 3)"),
    "a full disk": Escape(
        "written = 0\ntry:\n    with open('x', 'wb', 0) as file:\n"
        "        while True: written += file.write(bytes(1 << 20))\n"
        "except OSError as error: print('refused' if written < 300_000_000 else 'ESCAPED', written, error)"
    ),
    "many files that fill the disk": Escape(
        "written = 0\ntry:\n    for n in range(1000):\n        with open(f'{{n}}', 'wb', 0) as file:\n"
        "            written += file.write(bytes(9_000_000))\n"
        "except OSError as error: print('refused' if written < 300_000_000 else 'ESCAPED', written, error)"
    ),
    "a full /tmp": Escape(
        "written = 0\ntry:\n    with open('/tmp/x', 'wb', 0) as file:\n"
        "        while True: written += file.write(bytes(1 << 20))\n"
        "except OSError as error: print('refused' if written < 80_000_000 else 'ESCAPED', written, error)"
    ),
    "empty files": Escape("n = 0\nwhile True:\n    open(f'{{n % 100}}-{{n}}', 'w').close(); n += 1", ways=("files",)),
    "a file of a terabyte": Escape("attempt(os.truncate, os.open('x', os.O_CREAT | os.O_RDWR), 1 << 40)"),
    "files of gigabytes that take no room": Escape(
        "for n in range(200):\n    os.truncate(os.open(f'{{n}}', os.O_CREAT | os.O_RDWR), 200_000_000)\n"
        "    os.closerange(3, 9)\n"
        "print('refused')"
    ),
    "output of gigabytes": Escape("while True: print('x' * 1_000_000)", ways=("printed",)),
    "output of gigabytes by many processes": Escape(
        "for n in range(5): os.fork()\nwhile True: os.write(2, b'x' * 1_000_000)", ways=("printed",)
    ),
    "a program without end": Escape(
        "for each in range(1, 32):\n    try: signal.signal(each, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "while True: pass",
        ways=("time",),
        seconds=1.0,
    ),
    "an exit that never comes": Escape(
        "import atexit, threading\nthreading.Thread(target=time.sleep, args=[99]).start()", ways=("time",), seconds=1.0
    ),
    "a crash of the interpreter": Escape("ctypes.string_at(0)", exit_codes=(-11,)),
}
AFTERTHOUGHTS: Final = {
    "results of another": Escape(
        "for n in range(1, 64): attempt(open, f'/files/{{n}}')\nattempt(os.listdir, '/proc/1/fd')"
    ),
    "rights of a file of the chat": Escape(
        "attempt(os.chmod, '/files/0', 0o777)\nattempt(os.utime, '/files/0', (0, 0))\n"
        "attempt(os.truncate, '/files/0', 0)\n"
        "attempt(os.unlink, '/files/0')\nattempt(os.setxattr, '/files/0', 'user.x', b'x')"
    ),
    "the interpreter in place of which": Escape(
        "for path in ('/python/bin/python', '/python/supervisor.py', '/lib64', '/usr'):\n"
        "    attempt(os.rename, path, '/work/x')"
    ),
    "a helper of the kernel": Escape(
        "for path in ('/proc/sys/fs/binfmt_misc/register', '/sys/kernel/security', '/sys/fs/bpf', '/dev/pts/ptmx'):\n"
        "    attempt(os.open, path, os.O_RDWR)"
    ),
    "pipes that are full": Escape(
        "import fcntl\nkept = 0\ntry:\n    while True:\n        a, b = os.pipe(); os.set_blocking(b, False)\n"
        "        try: fcntl.fcntl(b, 1031, 1 << 20)\n        except OSError: pass\n"
        "        kept += os.write(b, bytes(1 << 20))\n"
        "except OSError as error: print('refused' if kept < 80_000_000 else 'ESCAPED', kept, error)"
    ),
    "sockets that are full": Escape(
        "kept = 0\ntry:\n    while True:\n        a, b = socket.socketpair(); b.setblocking(False); a.detach()\n"
        "        b.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)\n"
        "        kept += b.send(bytes(100_000)); b.detach()\n"
        "except OSError as error: print('refused' if kept < 80_000_000 else 'ESCAPED', kept, error)"
    ),
    "a sibling instead of a child": Escape(
        "found = libc.syscall({clone}, 0x8000 | 17, 0, 0, 0, 0)\nif found == 0:\n"
        "    while True: pass\nprint('refused', found)"
    ),
    "swapped out memory": Escape(
        "import mmap\nfor n in range(20):\n    if os.fork() == 0:\n"
        "        page = mmap.mmap(-1, 400_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "        for at in range(0, len(page), 4096): page[at] = 1\n"
        "        page.madvise(21); time.sleep(60)\ntime.sleep(60)",
        ways=("memory",),
    ),
    "memory behind files": Escape(
        "import mmap\nkept = []\ntry:\n    for n in range(50):\n        file = open(f'/tmp/{{n}}', 'w+b')\n"
        "        file.truncate(10_000_000)\n"
        "        page = mmap.mmap(file.fileno(), 0); os.unlink(f'/tmp/{{n}}')\n"
        "        for at in range(0, len(page), 4096): page[at] = 1\n        kept.append(page)\nexcept OSError: pass\n"
        "print('ESCAPED')",
        exit_codes=(-7,),
    ),
    "folders without number": Escape("n = 0\nwhile True: os.mkdir(f'/tmp/{{n}}'); n += 1", ways=("files",)),
    "names that reach outside": Escape(
        "for name in ('..x', '...', 'a..b', '~', '-rf', 'C:x', 'aux'): open(name, 'w').close()\n"
        "attempt(open, '../x', 'w')\nattempt(os.mkdir, '..')"
    ),
    "a result that claims to be another": Escape(
        'os.write(2, b\'{{"how": "exit", "code": 0}}\\n{{"path": "../canary.txt", "size": 3}}\\nabc\')\n'
        'for handle in (0, 1, 2, 3, 4):\n    try: os.write(handle, b\'{{"path": "forged", "size": 1}}\\nx\')\n'
        "    except OSError: pass"
    ),
    "an audit hook that never returns": Escape(
        "def hook(event, given):\n    if event == 'open': raise RuntimeError('no')\nsys.addaudithook(hook)\n"
        "attempt(open, 'x', 'w')\nos._exit(0)"
    ),
    "an exit handler that hangs": Escape(
        "class Hangs:\n    def __del__(self):\n        while True: pass\nsys.stdout.flush()\nkept = Hangs(); del kept",
        ways=("time",),
        seconds=1.0,
    ),
    "a stopped program": Escape("os.kill(os.getpid(), signal.SIGSTOP)", ways=("time",), seconds=1.0),
}
"""A second set, written after the sandbox was there, by somebody who looks at it from outside."""
MACHINE_CODE: Final = (
    "import mmap\npage = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)\n"
    "page.write({code})\nplace = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
)
OF_X86: Final = {
    "calls of 32 bits": Escape(
        MACHINE_CODE.replace("{code}", "b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3'")
        + "print('ESCAPED', ctypes.CFUNCTYPE(ctypes.c_int)(place)())",
        exit_codes=(-31,),
    ),
    "calls of the x32 kind": Escape("syscall(0x40000000 | 41, 2, 1, 0)\nsyscall(0x40000000 | 319, b'x', 0)"),
}
EVERY: Final = {**ESCAPES, **AFTERTHOUGHTS, **(OF_X86 if platform.machine() == "x86_64" else {})}
