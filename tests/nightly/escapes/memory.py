"""Ways to take the machine's memory, also where no process is seen to have it."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

MEMORY: Final = (
    Escape(
        "memory by one allocation",
        "bounded",
        """
held = bytearray(6 << 30)
held[::4096] = bytes(len(held[::4096]))
through("6 GiB")
""",
    ),
    Escape(
        "memory piece by piece",
        "bounded",
        """
held = []
for _ in range(6 * 64):
    held.append(b"x" * (16 << 20))
through("6 GiB")
""",
    ),
    Escape(
        "memory by many processes",
        "bounded",
        """
reading, writing = os.pipe()
for _ in range(24):
    try:
        if os.fork() == 0:
            held = b"x" * (256 << 20)
            os.write(writing, b"x")
            time.sleep(1000)
    except OSError as error:
        print(error)
os.close(writing)
time.sleep(5)
os.set_blocking(reading, False)
try:
    filled = len(os.read(reading, 24))
except BlockingIOError:
    filled = 0
if filled == 24:
    through("24 processes of 256 MiB")
""",
    ),
    Escape(
        "memory shared by mmap",
        "bounded",
        """
import mmap
held = []
for _ in range(96):
    piece = mmap.mmap(-1, 64 << 20)
    for place in range(0, len(piece), 4096):
        piece[place] = 1
    held.append(piece)
through("6 GiB")
""",
    ),
    Escape(
        "memory in files that no folder names",
        "bounded",
        """
# written, never mapped: no process's own memory shows it
held, piece = 0, b"x" * (1 << 20)
try:
    for number in range(200):
        image = os.memfd_create(f"escaped-{number}")
        try:
            for _ in range(64):
                held += os.write(image, piece)
        except OSError as error:
            print(error)
except OSError as error:
    print(error)
if held > 4 << 30:
    through("MiB", held >> 20)
time.sleep(3)
""",
    ),
    Escape(
        "memory in System V segments",
        "bounded",
        """
libc.shmat.restype = ctypes.c_void_p
held = 0
try:
    for _ in range(96):
        segment = call("shmget", 0, ctypes.c_size_t(64 << 20), 0o1600)
        address = libc.shmat(segment, None, 0)
        if address in (None, 2 ** 64 - 1):
            raise OSError(ctypes.get_errno(), "shmat")
        ctypes.memset(address, 1, 64 << 20)
        call("shmdt", ctypes.c_void_p(address))  # it stays, and belongs to no process
        held += 64 << 20
except OSError as error:
    print(error)
if held > 4 << 30:
    through("MiB", held >> 20)
time.sleep(3)
""",
        then="""
found = [line for line in lines("/proc/sysvipc/shm")][1:]
if found:
    through("segments of the run before", found)
print("refused: nothing is there")
""",
    ),
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
        "memory in sockets",
        "bounded",
        """
held, pairs = 0, []
try:
    while held < 6 << 30:
        pair = socket.socketpair()
        pairs.append(pair)
        pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
        pair[0].setblocking(False)
        try:
            while True:
                held += pair[0].send(b"x" * 65536)
        except BlockingIOError:
            pass
except OSError as error:
    print(error)
if held > 1 << 30:
    through("MiB", held >> 20)
""",
    ),
    Escape(
        "memory in sockets of many processes",
        "bounded",
        """
# 60 MB each: seldom more than a machine has, and more than they may have together
reading, writing = os.pipe()
for _ in range(24):
    try:
        if os.fork():
            continue
    except OSError as error:
        print(error)
        break
    held, pairs = 0, []
    try:
        while held < 60_000_000:
            pairs.append(socket.socketpair())
            for end in pairs[-1]:
                try:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
                except OSError:
                    pass
                end.setblocking(False)
                try:
                    while held < 60_000_000:
                        held += end.send(b"x" * 65536)
                except BlockingIOError:
                    pass
    except OSError:
        pass
    os.write(writing, struct.pack("q", held))
    time.sleep(1000)
held = sum(struct.unpack("q", os.read(reading, 8))[0] for _ in range(24))
print("MiB", held >> 20)
if held > 1 << 30:
    through("MiB", held >> 20)
""",
        seconds=20,
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
    Escape(
        "memory in message queues",
        "bounded",
        """
held = 0
try:
    for number in range(10_000):
        queue = call("msgget", 0, 0o1600)
        message = ctypes.create_string_buffer(struct.pack("l", 1) + b"x" * 8000)
        for _ in range(8):
            call("msgsnd", queue, message, 8000, 0o4000)
            held += 8000
except OSError as error:
    print(error)
if held > 1 << 30:
    through("MiB", held >> 20)
""",
    ),
)
