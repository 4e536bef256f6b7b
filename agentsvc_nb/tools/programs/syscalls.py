"""The sandbox's filter of system calls: what a program that computes never needs, the kernel refuses.

Namespaces already keep a program from the machine. The filter refuses what would make memory that no process is seen to
use (`memfd_create`, shared anonymous memory), what reaches into other processes, and the parts of the kernel in which
most ways out of sandboxes were found.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor: its audit number, and where its numbers of system calls stand in the pairs below."""

    audit: int
    column: int


MACHINES: Final = {"x86_64": Machine(0xC000003E, 0), "aarch64": Machine(0xC00000B7, 1)}
_NONE: Final = -1
_TABLE: Final = """
# Memory that belongs to no process.
memfd_create 319 279, memfd_secret 447 447, shmget 29 194, shmat 30 196
msgget 68 186, semget 64 190, mq_open 240 180, vmsplice 278 75
remap_file_pages 216 234, mlock 149 228, mlock2 325 284, mlockall 151 230
# Other processes.
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272
process_madvise 440 440, pidfd_getfd 438 438, move_pages 279 239, migrate_pages 256 238
sched_setscheduler 144 119, sched_setparam 142 118, sched_setattr 314 274
# Namespaces and mounts.
unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41
chroot 161 51, open_tree 428 428, move_mount 429 429, fsopen 430 430
fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442
# The kernel.
keyctl 250 219, add_key 248 217, request_key 249 218, bpf 321 280
perf_event_open 298 241, userfaultfd 323 282, fanotify_init 300 262
io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427
kexec_load 246 104, kexec_file_load 320 294, init_module 175 105, finit_module 313 273
delete_module 176 106, swapon 167 224, swapoff 168 225, quotactl 179 60
quotactl_fd 443 443, reboot 169 142, acct 163 89, iopl 172 -
ioperm 173 -, personality 135 92, syslog 103 116, lookup_dcookie 212 18
name_to_handle_at 303 264, open_by_handle_at 304 265, settimeofday 164 170
clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, vhangup 153 58
"""
"""System calls that are refused, with their numbers on x86_64 and aarch64."""
REFUSED: Final = [
    tuple(_NONE if number == "-" else int(number) for number in entry.split()[1:])
    for line in _TABLE.splitlines()
    for entry in line.split(", ")
    if entry and not line.startswith("#")
]
_CLONE3: Final = (435, 435)
_CLONE: Final = (56, 220)
_SOCKETS: Final = ((41, 198), (53, 199))
_SETSOCKOPT: Final = (54, 208)
_BUFFERS: Final = (7, 32)
"""`SO_SNDBUF` and `SO_SNDBUFFORCE`."""
_MMAP: Final = (9, 222)
_PRLIMIT: Final = (302, 261)
_NEW_NAMESPACE: Final = 0x7E020000
"""The flags of `clone` that make a namespace of any kind but of time, which `clone` has none for."""
_SHARED_AND_ANONYMOUS: Final = 0x21
_UNIX: Final = 1
_X32: Final = 0x40000000

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Where they stand in the kernel's `seccomp_data`; arguments have 8 bytes each, here the lower half first."""


def filter_here() -> bytes | None:
    """The filter as a BPF program; None on a processor whose system calls are not known."""
    found = MACHINES.get(platform.machine())
    if found is None:
        return None
    program = _Program(found.column)
    program.unless(_EQUAL, found.audit, at=_ARCHITECTURE, verdict=_KILL)
    program.when(_AT_LEAST, _X32, at=_NUMBER, verdict=_ERROR | errno.EPERM)
    for numbers in REFUSED:
        program.refuse(numbers)
    # Its flags lie in memory, where a filter can't look; the C library then uses `clone`.
    program.refuse(_CLONE3, errno.ENOSYS)
    program.refuse_argument(_CLONE, 0, _ANY_BIT, _NEW_NAMESPACE)
    program.refuse_argument(_MMAP, 3, _EQUAL, _SHARED_AND_ANONYMOUS, mask=_SHARED_AND_ANONYMOUS)
    # Limits of other processes: the supervisor may be of the same user.
    program.refuse_argument(_PRLIMIT, 0, _EQUAL, 0, inverted=True)
    for numbers in _SOCKETS:
        program.refuse_argument(numbers, 0, _EQUAL, _UNIX, error=errno.EAFNOSUPPORT, inverted=True)
    # What a socket holds belongs to no process. The service counts each as the default buffer (`running.used_by`).
    for option in _BUFFERS:
        program.refuse_argument(_SETSOCKOPT, 2, _EQUAL, option)
    return program.code + _instruction(_RETURN, _ALLOW)


class _Program:
    """Checks of system calls, one after the other. Each loads anew what it compares."""

    def __init__(self, column: int) -> None:
        self.code = b""
        self._column = column

    def when(self, test: int, value: int, *, at: int, verdict: int) -> None:
        self.code += _instruction(_LOAD, at) + _instruction(test, value, 0, 1) + _instruction(_RETURN, verdict)

    def unless(self, test: int, value: int, *, at: int, verdict: int) -> None:
        self.code += _instruction(_LOAD, at) + _instruction(test, value, 1, 0) + _instruction(_RETURN, verdict)

    def refuse(self, numbers: Sequence[int], error: int = errno.EPERM) -> None:
        number = numbers[self._column]
        if number != _NONE:
            self.when(_EQUAL, number, at=_NUMBER, verdict=_ERROR | error)

    def refuse_argument(
        self,
        numbers: Sequence[int],
        argument: int,
        test: int,
        value: int,
        *,
        mask: int = 0xFFFFFFFF,
        error: int = errno.EPERM,
        inverted: bool = False,
    ) -> None:
        """Refuse the call when the test of its argument holds; `inverted`: when it does not."""
        jumps = (1, 0) if inverted else (0, 1)
        self.code += _instruction(_LOAD, _NUMBER) + _instruction(_EQUAL, numbers[self._column], 0, 4)
        self.code += _instruction(_LOAD, _ARGUMENTS + 8 * argument) + _instruction(_AND, mask)
        self.code += _instruction(test, value, *jumps) + _instruction(_RETURN, _ERROR | error)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction of classic BPF (`struct sock_filter`)."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
