"""Attempts of a few lines each: memory, disks, output, and what a supervisor reads."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

SHORT_BOMBS: Final = (
    Escape(
        "memory of no process",
        "refused",
        """
import mmap
denied(mmap.mmap, -1, 1 << 20)
denied(os.memfd_create, 'x')
syscall(numbers["shmget"], 0, 1 << 20, 0o1600)
syscall(numbers["msgget"], 0, 0o1600)
syscall(numbers["mq_open"], b'x', 0o102, 0o600, 0)
syscall(447, 0)
""",
    ),
    Escape(
        "locked memory",
        "refused",
        """
syscall(numbers["mlockall"], 3)
""",
    ),
    Escape(
        "a full disk",
        "refused",
        """
written = 0
try:
    with open('x', 'wb', 0) as file:
        while True: written += file.write(bytes(1 << 20))
except OSError as error: print('refused' if written < 300_000_000 else 'through:', written, error)
""",
    ),
    Escape(
        "many files that fill the disk",
        "refused",
        """
written = 0
try:
    for n in range(1000):
        with open(f'{n}', 'wb', 0) as file:
            written += file.write(bytes(9_000_000))
except OSError as error: print('refused' if written < 300_000_000 else 'through:', written, error)
""",
    ),
    Escape(
        "a full /tmp",
        "refused",
        """
written = 0
try:
    with open('/tmp/x', 'wb', 0) as file:
        while True: written += file.write(bytes(1 << 20))
except OSError as error: print('refused' if written < 80_000_000 else 'through:', written, error)
""",
    ),
    Escape(
        "empty files",
        "bounded",
        """
n = 0
while True:
    open(f'{n % 100}-{n}', 'w').close(); n += 1
""",
        ends=("files",),
    ),
    Escape(
        "a file of a terabyte",
        "refused",
        """
denied(os.truncate, os.open('x', os.O_CREAT | os.O_RDWR), 1 << 40)
""",
    ),
    Escape(
        "files of gigabytes that take no room",
        "refused",
        """
for n in range(200):
    os.truncate(os.open(f'{n}', os.O_CREAT | os.O_RDWR), 200_000_000)
    os.closerange(3, 9)
print('refused')
""",
    ),
    Escape(
        "output of gigabytes",
        "bounded",
        """
while True: print('x' * 1_000_000)
""",
        ends=("printed",),
    ),
    Escape(
        "output of gigabytes by many processes",
        "bounded",
        """
for n in range(5): os.fork()
while True: os.write(2, b'x' * 1_000_000)
""",
        ends=("printed",),
    ),
    Escape(
        "a program without end",
        "bounded",
        """
for each in range(1, 32):
    try: signal.signal(each, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
""",
        ends=("time",),
        seconds=1,
    ),
    Escape(
        "an exit that never comes",
        "bounded",
        """
import atexit, threading
threading.Thread(target=time.sleep, args=[99]).start()
""",
        ends=("time",),
        seconds=1,
    ),
    Escape(
        "a crash of the interpreter",
        "bounded",
        """
ctypes.string_at(0)
""",
        ends=("exit",),
    ),
    Escape(
        "results of another",
        "refused",
        """
for n in range(1, 64): denied(open, f'/files/{n}')
denied(os.listdir, '/proc/1/fd')
""",
    ),
    Escape(
        "rights of a file of the chat",
        "refused",
        """
denied(os.chmod, '/files/0', 0o777)
denied(os.utime, '/files/0', (0, 0))
denied(os.truncate, '/files/0', 0)
denied(os.unlink, '/files/0')
denied(os.setxattr, '/files/0', 'user.x', b'x')
""",
    ),
    Escape(
        "the interpreter in place of which",
        "refused",
        """
for path in ('/python/bin/python', '/python/supervisor.py', '/lib64', '/usr'):
    denied(os.rename, path, '/work/x')
""",
    ),
    Escape(
        "a helper of the kernel",
        "refused",
        """
for path in ('/proc/sys/fs/binfmt_misc/register', '/sys/kernel/security', '/sys/fs/bpf', '/dev/pts/ptmx'):
    denied(os.open, path, os.O_RDWR)
""",
    ),
    Escape(
        "pipes that are full",
        "refused",
        """
import fcntl
kept = 0
try:
    while True:
        a, b = os.pipe(); os.set_blocking(b, False)
        try: fcntl.fcntl(b, 1031, 1 << 20)
        except OSError: pass
        kept += os.write(b, bytes(1 << 20))
except OSError as error: print('refused' if kept < 80_000_000 else 'through:', kept, error)
""",
    ),
    Escape(
        "sockets that are full",
        "refused",
        """
kept = 0
try:
    while True:
        a, b = socket.socketpair(); b.setblocking(False); a.detach()
        b.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        kept += b.send(bytes(100_000)); b.detach()
except OSError as error: print('refused' if kept < 80_000_000 else 'through:', kept, error)
""",
    ),
    Escape(
        "a sibling instead of a child",
        "refused",
        """
found = libc.syscall(numbers["clone"], 0x8000 | 17, 0, 0, 0, 0)
if found == 0:
    while True: pass
print('refused', found)
""",
    ),
    Escape(
        "swapped out memory",
        "bounded",
        """
import mmap
for n in range(20):
    if os.fork() == 0:
        page = mmap.mmap(-1, 400_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for at in range(0, len(page), 4096): page[at] = 1
        page.madvise(21); time.sleep(60)
time.sleep(60)
""",
        ends=("memory",),
    ),
    Escape(
        "memory behind files",
        "bounded",
        """
import mmap
kept = []
try:
    for n in range(50):
        file = open(f'/tmp/{n}', 'w+b')
        file.truncate(10_000_000)
        page = mmap.mmap(file.fileno(), 0); os.unlink(f'/tmp/{n}')
        for at in range(0, len(page), 4096): page[at] = 1
        kept.append(page)
except OSError: pass
print('through:')
""",
        ends=("exit",),
    ),
    Escape(
        "folders without number",
        "bounded",
        """
n = 0
while True: os.mkdir(f'/tmp/{n}'); n += 1
""",
        ends=("files",),
    ),
    Escape(
        "names that reach outside",
        "refused",
        """
for name in ('..x', '...', 'a..b', '~', '-rf', 'C:x', 'aux'): open(name, 'w').close()
denied(open, '../x', 'w')
denied(os.mkdir, '..')
""",
    ),
    Escape(
        "a result that claims to be another",
        "refused",
        """
os.write(2, b'{"how": "exit", "code": 0}\\n{"path": "../canary.txt", "size": 3}\\nabc')
for handle in (0, 1, 2, 3, 4):
    try: os.write(handle, b'{"path": "forged", "size": 1}\\nx')
    except OSError: pass
""",
    ),
    Escape(
        "an audit hook that never returns",
        "refused",
        """
def hook(event, given):
    if event == 'open': raise RuntimeError('no')
sys.addaudithook(hook)
denied(open, 'x', 'w')
os._exit(0)
""",
    ),
    Escape(
        "an exit handler that hangs",
        "bounded",
        """
class Hangs:
    def __del__(self):
        while True: pass
sys.stdout.flush()
kept = Hangs(); del kept
""",
        ends=("time",),
        seconds=1,
    ),
    Escape(
        "a stopped program",
        "bounded",
        """
os.kill(os.getpid(), signal.SIGSTOP)
""",
        ends=("time",),
        seconds=1,
    ),
    Escape(
        "calls of 32 bits",
        "bounded",
        """
import mmap
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
page.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')
place = ctypes.addressof(ctypes.c_char.from_buffer(page))
print('through:', ctypes.CFUNCTYPE(ctypes.c_int)(place)())
""",
        ends=("exit",),
    ),
    Escape(
        "calls of the x32 kind",
        "refused",
        """
syscall(0x40000000 | 41, 2, 1, 0)
syscall(0x40000000 | 319, b'x', 0)
""",
    ),
)
