"""Ways out by a network, a socket, or a descriptor that was left open."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

NETWORK: Final = (
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
        "UDP to the machine",
        "harmless",
        """
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, host["address"]), (socket.AF_INET6, "::1")):
    try:
        socket.socket(family, socket.SOCK_DGRAM).sendto(b"escaped", (address, host["udp_port"]))
    except OSError as error:
        print(error)
""",
    ),
    Escape(
        "a route to the metadata address and to other networks",
        "refused",
        """
def reach(family, address):
    "connect() of UDP asks for a route and sends nothing"
    socket.socket(family, socket.SOCK_DGRAM).connect(address)

for address in ("169.254.169.254", "192.0.2.1", "10.0.0.1", "198.51.100.7"):
    attempt(address, reach, socket.AF_INET, (address, 80))
for address in ("fd00:ec2::254", "2001:db8::1", "fe80::1"):
    attempt(address, reach, socket.AF_INET6, (address, 80))
""",
    ),
    Escape(
        "names by DNS",
        "refused",
        """
attempt("a name", socket.getaddrinfo, "name.invalid", 80)
for line in lines("/etc/resolv.conf"):
    if line.startswith("nameserver") and ":" not in line:
        attempt(line, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect((line.split()[1], 53)))
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
    Escape(
        "raw and packet sockets",
        "refused",
        """
attempt("raw", socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
attempt("raw 6", socket.socket, socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
attempt("packet", socket.socket, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
""",
    ),
    Escape(
        "a socket to the hypervisor",
        "refused",
        """
# vsock belongs to no network namespace; the socket alone is enough to speak with the host of a virtual machine
attempt("vsock", socket.socket, socket.AF_VSOCK, socket.SOCK_STREAM)
attempt("vsock datagrams", socket.socket, socket.AF_VSOCK, socket.SOCK_DGRAM)
attempt("device", os.open, "/dev/vsock", os.O_RDONLY)
""",
    ),
    Escape(
        "sockets of rare families",
        "refused",
        """
# each is code of the kernel that loads as a module when asked for, and a row of its security notices
for name, family in dict(ax25=3, ipx=4, appletalk=5, netrom=6, x25=9, key=15, rds=21, irda=23, pppox=24, llc=26,
                         can=29, tipc=30, bluetooth=31, ieee802154=36, alg=38, nfc=39, kcm=41, qrtr=42, smc=43,
                         xdp=44).items():
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        attempt(name, socket.socket, family, kind, 0)
""",
    ),
    Escape(
        "messages to the kernel by netlink",
        "refused",
        """
def add_interface():
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    name = struct.pack("HH", 8, 3) + b"esc\\0"
    kind = struct.pack("HH", 10, 1) + b"dummy\\0\\0\\0"
    body = struct.pack("BxHiII", 0, 0, 0, 0, 0) + name + struct.pack("HH", 4 + len(kind), 18) + kind
    link.send(struct.pack("IHHII", 16 + len(body), 16, 0x605, 1, 0) + body)
    code = -struct.unpack_from("i", link.recv(4096), 16)[0]
    if code:
        raise OSError(code, os.strerror(code))

def bound(protocol, groups):
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    link.bind((0, groups))

attempt("a new interface", add_interface)
attempt("audit", bound, 9, 1)
attempt("events of processes", bound, 11, 1)
attempt("tun", os.open, "/dev/net/tun", os.O_RDWR)
""",
    ),
    Escape(
        "descriptors that were left open",
        "refused",
        """
for number in range(3, 1024):
    try:
        kind = os.fstat(number).st_mode
        target = os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        continue
    through("descriptor", number, stat.filemode(kind), target)
for number in range(3):
    if stat.S_ISSOCK(os.fstat(number).st_mode) or os.isatty(number):
        through("a socket or a terminal as descriptor", number)
    attempt(f"listing a folder beside {number}", os.listdir, f"/proc/self/fd/{number}/..")
""",
    ),
    Escape(
        "listening for the machine",
        "harmless",
        """
# the same port as a listener of the machine: it is another network
for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
    try:
        server = socket.create_server((address, host["tcp_port"]), family=family)
    except OSError as error:
        print(error)
    else:
        server.settimeout(1)
        try:
            through("somebody called", server.accept())
        except TimeoutError:
            print("nobody called")
""",
    ),
)
