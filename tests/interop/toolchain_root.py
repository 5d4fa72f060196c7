"""A tree for kiln-root from the host's own compiler: gcc and binutils with what they load, the C and C++ headers, a shell."""
import os
import pathlib
import re
import shutil
import subprocess

PROGRAMS = ("bash", "sh", "env", "cat", "cp", "mkdir", "rm", "touch", "gcc", "g++", "cpp", "as", "ld", "ld.bfd", "ld.gold", "ar", "nm",
            "objcopy", "objdump", "strip", "gcov")
ARCH = "x86_64-linux-gnu"
# What programs are linked with.
LINKED = ("crt1.o", "crti.o", "crtn.o", "Scrt1.o", "libc.so", "libc.so.6", "libc_nonshared.a", "libm.so", "libm.so.6", "libmvec.so.1",
          "libpthread.a", "libdl.a", "librt.a", "libgcc_s.so.1", "libstdc++.so.6")


def libraries_of(program):
    done = subprocess.run(["ldd", program], capture_output=True, text=True)
    return [pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", done.stdout)]


def copy(source, root, at=None):
    """The file that `source` leads to, at the same path below `root` or at `at`. Nothing in the tree is a link."""
    target = root / str(at or source).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy2(pathlib.Path(source).resolve(), target)


def make(root):
    """Writes the tree below `root`, which is made."""
    programs = [shutil.which(name) for name in PROGRAMS]
    gcc = pathlib.Path(subprocess.run(["gcc", "-print-libgcc-file-name"], capture_output=True, text=True, check=True).stdout.strip()).parent
    inner = [path for path in gcc.iterdir() if path.is_file() and os.access(path, os.X_OK)]
    for program in filter(None, programs):
        copy(program, root, f"/usr/bin/{pathlib.Path(program).name}")
    for name in ("bash", "sh"):
        copy(f"/usr/bin/{name}", root, f"/bin/{name}")
    shutil.copytree(gcc, root / str(gcc).lstrip("/"), dirs_exist_ok=True, symlinks=False, ignore_dangling_symlinks=True,
                    ignore=shutil.ignore_patterns("plugin"))
    for program in [*filter(None, programs), *map(str, inner)]:
        for library in libraries_of(program):
            copy(library, root)
            copy(library, root, f"/usr/lib/{ARCH}/{library.name}")
    for name in LINKED:
        source = pathlib.Path(f"/usr/lib/{ARCH}/{name}")
        if source.exists():
            copy(source, root, f"/usr/lib/{ARCH}/{name}")
            copy(source, root, f"/lib/{ARCH}/{name}")
    shutil.copytree("/usr/include", root / "usr/include", symlinks=False, ignore_dangling_symlinks=True, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("llvm*", "clang*", "mlir*", "boost", "google", "grpc*", "absl", "onnx"))


def uploaded(remotetool, root, *how):
    """The tree's digest, as kiln-root takes it, once remotetool has brought it where `how`, its options, say."""
    make(root)
    done = subprocess.run([remotetool, *map(str, how), "-operation", "upload_dir", "-path", root, "-logtostderr"], capture_output=True,
                          text=True, timeout=1200)
    found = re.findall(r"\b[0-9a-f]{64}/\d+\b", done.stdout + done.stderr)
    assert done.returncode == 0 and found, done.stdout + done.stderr
    return f"sha256:{found[-1]}"
