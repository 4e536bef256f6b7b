"""Ways out by what a program leaves as its results: links, pipes, names, and contents that somebody opens later."""

from __future__ import annotations

from typing import Final

from tests.nightly.escapes import Escape

RESULTS: Final = (
    Escape(
        "symbolic links as results",
        "harmless",
        """
for name, target in {"shadow.txt": "/etc/shadow", "secret.txt": host["secret_path"],
    "up.txt": "../" * 20 + host["secret_path"],
                     "data": host["data"], "root": "/", "loop.txt": "loop.txt", "dangling.txt": "/nowhere",
                     "environ.txt": "/proc/self/environ", "input.txt": "/proc/self/fd/0",
                         "zero.bin": "/dev/zero"}.items():
    os.symlink(target, name)
os.makedirs("folder")
os.symlink(os.path.dirname(host["secret_path"]), "folder/inner")
""",
    ),
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
        "a file that grows while it is copied",
        "harmless",
        """
if os.fork() == 0:
    os.setsid()
    with open("growing.txt", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 65536)
time.sleep(0.3)
""",
    ),
    Escape(
        "hard links as results",
        "refused",
        """
for target in (host["secret_path"], "/etc/passwd", "/etc/shadow", os.path.realpath(sys.executable),
    "/proc/self/environ",
               *[path for path in below("/") if path.endswith(".sqlite3")][:3]):
    attempt(target, os.link, target, "linked.txt")
""",
    ),
    Escape(
        "a pipe as a result",
        "harmless",
        """
os.mkfifo("pipe.txt")
os.makedirs("folder")
os.mkfifo("folder/pipe.csv")
print("who opens it waits for ever")
""",
    ),
    Escape(
        "a socket as a result",
        "harmless",
        """
server = socket.socket(socket.AF_UNIX)
server.bind("socket.txt")
server.listen()
""",
    ),
    Escape(
        "results that cannot be read",
        "harmless",
        """
open("closed.txt", "w").write("closed")
os.chmod("closed.txt", 0)
os.makedirs("folder/inner")
open("folder/inner/a.txt", "w").write("a")
os.chmod("folder/inner", 0)
os.chmod("folder", 0o111)
os.chmod(".", 0)
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
        "names that mean something elsewhere",
        "harmless",
        """
for name in ("-rf", "--help", "~", "$HOME", "`id`", "a;b", "a|b", "a&b", "*", "?", "..txt", "...", " ", ". ",
    "trailing ", "trailing.",
             "C:", "CON", "nul.txt", "a\\\\..\\\\b.txt", "%2e%2e%2fa.txt", "\\u2025\\u2215a.txt", "a:stream",
                 "<script>.html",
             "A.txt", "a.txt", "caf\\u00e9.txt", "cafe\\u0301.txt", "AGENTS.md ", "'quoted'", '"quoted"'):
    with open(name, "w") as file:
        file.write(name)
""",
    ),
    Escape(
        "names as long as they may be",
        "harmless",
        """
open("n" * 255, "w").write("one")
open("\\u00e4" * 127, "w").write("two")
open("\\U0001f600" * 63 + ".t", "w").write("three")
top = os.getcwd()
for _ in range(20):
    os.mkdir("p" * 250)
    os.chdir("p" * 250)
open("n" * 250 + ".txt", "w").write("four")
""",
    ),
    Escape(
        "a folder where a file was",
        "harmless",
        """
os.makedirs("twice.txt/twice.txt/twice.txt")
open("twice.txt/twice.txt/twice.txt/a", "w").write("a")
os.makedirs("empty/empty/empty")
""",
    ),
    Escape(
        "rights and attributes of results",
        "harmless",
        """
for name, mode in {"program": 0o6755, "sticky": 0o1777, "group": 0o2777}.items():
    open(name, "w").write("#!/bin/sh\\nid\\n")
    os.chmod(name, mode)
for attribute in ("user.escaped", "security.capability", "trusted.escaped"):
    try:
        os.setxattr("program", attribute, b"\\x01\\0\\0\\x02\\xff\\xff\\xff\\xff" + bytes(12))
    except OSError as error:
        print(error)
os.utime("program", (2 ** 40, 2 ** 40))
os.utime("sticky", (-2 ** 31, -2 ** 31))
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
        "pictures and documents that are hostile",
        "harmless",
        """
import zlib

def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

with open("huge.png", "wb") as file:
    head = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    file.write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT",
        zlib.compress(bytes(1 << 20))) + chunk(b"IEND", b""))
open("entities.svg", "w").write('<!DOCTYPE s [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {b} "{("&" + a + ";") * 10}">' for a, b in zip("abcdefghi", "bcdefghij")) +
    f'<!ENTITY x SYSTEM "file://{host["secret_path"]}">]><svg xmlns="http://www.w3.org/2000/svg"><text>&j;&x;</text><script>1</script></svg>')
open("page.html",
    "w").write(f'<script>fetch("http://127.0.0.1:{host["tcp_port"]}/")</script><iframe src="file:///etc/passwd"></iframe>')
open("deep.json", "w").write("[" * 1_000_000)
open("cut.pdf", "wb").write(b"%PDF-1.7\\n1 0 obj<</Length 9999999999>>stream\\n")
""",
    ),
    Escape(
        "a pickle that runs a program",
        "harmless",
        """
import pickle

class Payload:
    def __reduce__(self):
        return os.system, ("touch /tmp/escaped-" + host["token"],)

for name in ("model.pkl", "table.pickle", "frame.parquet", "array.npy"):
    with open(name, "wb") as file:
        pickle.dump(Payload(), file)
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
        "the interpreter and its packages changed",
        "refused",
        """
import json, sysconfig
paths = {*sysconfig.get_paths().values(), os.path.dirname(json.__file__),
    os.path.dirname(os.path.realpath(sys.executable)),
         "/usr/lib", "/usr/bin", "/lib", "/lib64", "/etc", "/opt", "/usr/local", "/usr/share/fonts",
             "/etc/ld.so.preload"}
for path in sorted(paths):
    if os.path.isdir(path):
        attempt(path, open, os.path.join(path, "escaped-" + host["token"]), "w")
    elif os.path.exists(path):
        attempt(path, open, path, "a")
attempt("the interpreter", os.open, os.path.realpath(sys.executable), os.O_WRONLY)
attempt("a module", os.open, json.__file__, os.O_WRONLY)
attempt("a module removed", os.unlink, json.__file__)
""",
    ),
    Escape(
        "files of the chat changed and removed",
        "harmless",
        """
for name in os.listdir("."):
    try:
        os.unlink(name)
        open(name, "w").write("changed by the program")
    except OSError as error:
        print(error)
""",
    ),
    Escape(
        "the folder of results removed",
        "harmless",
        """
import shutil
here = os.getcwd()
shutil.rmtree(here, ignore_errors=True)
try:
    os.rename(here, here + "-away")
    os.symlink(os.path.dirname(host["secret_path"]), here)
except OSError as error:
    print(error)
""",
    ),
    Escape(
        "a program that is no program",
        "harmless",
        """
exec(compile("(" * 150 + ")" * 150, "<deep>", "exec"))
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
