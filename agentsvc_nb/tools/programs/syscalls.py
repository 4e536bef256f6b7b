"""Build a filter for system calls in the sandbox with libseccomp, so that the kernel rejects calls that computations
never need.

Namespaces already isolate programs from the machine. In addition, the filter rejects three groups of calls: those that
allocate memory that belongs to no process (`memfd_create`, shared anonymous memory), those that access other processes,
and those that use the parts of the kernel in which most sandbox escapes were found.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import tempfile
from functools import cache
from typing import Final

MACHINES: Final = ("x86_64", "aarch64")
"""The supported CPU architectures. On some others, the arguments of `clone` or `mmap` have a different order."""
MEMORY_OF_NO_PROCESS: Final = (
    "memfd_create memfd_secret shmget shmat msgget semget mq_open vmsplice remap_file_pages mlock mlock2 mlockall"
)
OTHER_PROCESSES: Final = (
    "ptrace process_vm_readv process_vm_writev kcmp process_madvise pidfd_getfd move_pages migrate_pages "
    "sched_setscheduler sched_setparam sched_setattr"
)
NAMESPACES_AND_MOUNTS: Final = (
    "unshare setns mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr"
)
KERNEL: Final = (
    "keyctl add_key request_key bpf perf_event_open userfaultfd fanotify_init io_uring_setup io_uring_enter "
    "io_uring_register kexec_load kexec_file_load init_module finit_module delete_module swapon swapoff quotactl "
    "quotactl_fd reboot acct iopl ioperm personality syslog lookup_dcookie name_to_handle_at open_by_handle_at "
    "settimeofday clock_settime clock_adjtime adjtimex vhangup"
)
_NEW_NAMESPACES: Final = (0x20000, *(1 << bit for bit in range(25, 31)))
"""The flags with which `clone` creates new namespaces. There is none for time namespaces."""
_SHARED_AND_ANONYMOUS: Final = 0x21
_UNIX: Final = 1
_SEND_BUFFERS: Final = (7, 32)
"""The socket options `SO_SNDBUF` and `SO_SNDBUFFORCE`, which change the size of send buffers."""
# Constants from `seccomp.h` of libseccomp.
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_OTHER_ARCHITECTURES: Final = 2
_DIFFERS, _EQUAL_UNDER_MASK = 1, 7
_INT: Final = 0xFFFFFFFF


class _Test(ctypes.Structure):
    """A condition on an argument of a system call (`struct scmp_arg_cmp` of libseccomp)."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("comparison", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


@cache
def filter_here() -> bytes | None:
    """Return the filter as a BPF program.

    Return None if libseccomp is missing or older than 2.5.4, or if the CPU is not supported.
    """
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(library.seccomp_init(_ALLOW))
    faults = [library.seccomp_attr_set(rules, _OTHER_ARCHITECTURES, ctypes.c_uint32(_KILL))]

    def refuse(call: str, *tests: _Test, error: int = errno.EPERM) -> None:
        """Add a rule: reject the system call if all conditions on its arguments are true."""
        number = library.seccomp_syscall_resolve_name(call.encode())
        faults.append(library.seccomp_rule_add_array(rules, _ERROR | error, number, len(tests), (_Test * 1)(*tests)))

    for call in f"{MEMORY_OF_NO_PROCESS} {OTHER_PROCESSES} {NAMESPACES_AND_MOUNTS} {KERNEL}".split():
        refuse(call)
    # Reject `clone3` as unknown, because a filter can't read its flags, which are in memory. The C library then calls
    # `clone`.
    refuse("clone3", error=errno.ENOSYS)
    for flag in _NEW_NAMESPACES:
        refuse("clone", _Test(0, _EQUAL_UNDER_MASK, flag, flag))
    refuse("mmap", _Test(3, _EQUAL_UNDER_MASK, _SHARED_AND_ANONYMOUS, _SHARED_AND_ANONYMOUS))
    # Allow changes only to the calling process itself, because the supervisor runs as the same user.
    refuse("prlimit64", _Test(0, _DIFFERS, 0))
    refuse("sched_setaffinity", _Test(0, _DIFFERS, 0))
    refuse("setpriority", _Test(0, _DIFFERS, 0))
    refuse("setpriority", _Test(1, _DIFFERS, 0))
    refuse("socket", _Test(0, _DIFFERS, _UNIX), error=errno.EAFNOSUPPORT)
    refuse("socketpair", _Test(0, _DIFFERS, _UNIX), error=errno.EAFNOSUPPORT)
    # Forbid larger socket buffers, because `running.measure_usage` assumes the default size for each.
    for option in _SEND_BUFFERS:
        refuse("setsockopt", _Test(2, _EQUAL_UNDER_MASK, _INT, option))
    with tempfile.TemporaryFile() as file:
        faults.append(library.seccomp_export_bpf(rules, file.fileno()))
        library.seccomp_release(rules)
        file.seek(0)
        return None if any(faults) or platform.machine() not in MACHINES else file.read()
