#!/usr/bin/env python3
"""Proves that the runtime links neither MLIR, LLVM, gRPC nor the farm.

usage: dependencies_test.py PROGRAM NM READELF
PROGRAM is linked with the whole of libkiln_runtime: its shared libraries must be on the list below, and no symbol of
its own or of what it needs may belong to a forbidden namespace.
"""
import re
import subprocess
import sys

ALLOWED = re.compile(r"^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|libcrypto|ld-linux[-\w]*)\.so(\.\d+)*$")
# Mangled: N4mlir.., N4llvm.., N4grpc.., N6google8protobuf..; C: grpc_, LLVM; Kiln's own: storage, coordinator, worker.
FORBIDDEN = re.compile(r"N4(mlir|llvm|grpc)[0-9E]|N3lld|N6google8protobuf|\b(grpc_|gpr_|LLVM|mlir[A-Z])|"
                       r"N4kiln(7storage|11coordinator|6worker|6client|7gateway)|\bPQ[a-z]")


def main(program, nm, readelf):
    dynamic = subprocess.run([readelf, "-d", program], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic)
    strangers = [name for name in needed if not ALLOWED.match(name)]
    symbols = subprocess.run([nm, program], check=True, capture_output=True, text=True).stdout
    found = sorted({line for line in symbols.splitlines() if FORBIDDEN.search(line)})
    if "kiln_session_run" not in symbols:
        print("the program does not contain the runtime: nothing was tested")
        return 1
    if strangers or found or not needed:
        print("libraries that do not belong:", strangers, "of", needed)
        print("\n".join(found[:20]))
        return 1
    print("links", ", ".join(needed))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
