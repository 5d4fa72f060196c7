"""Programs for Cortex-M processors from Python tests: a firmware around one, run by QEMU, and what it takes of a device's memory."""
import json
import os
import pathlib
import shutil
import string
import subprocess

from compiled import Compiler, check

FIRMWARE = pathlib.Path(__file__).resolve().parent.parent / "compiler_core/bare_metal"
LLVM = pathlib.Path("/usr/lib/llvm-22/bin")
# How clang names the processor that a target stands for.
PROCESSORS = {"cpu:cortex-m55": ["--target=thumbv8.1m.main-none-eabihf", "-mcpu=cortex-m55"]}
# The board of QEMU that has it.
BOARDS = {"cpu:cortex-m55": "mps3-an547"}
TYPES = {"f32": "float", "f64": "double", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "f16": "uint16_t",
         "bf16": "uint16_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t"}
SECONDS = 120
LETTERS = string.ascii_lowercase  # of files, one for each tensor


def why_not():
    """Why firmwares cannot be built or run here; empty when they can."""
    for name in ("clang", "ld.lld", "llvm-size"):
        if not (LLVM / name).exists():
            return f"{LLVM / name} is missing (infra/setup)"
    return "" if shutil.which("qemu-system-arm") else "qemu-system-arm is missing (infra/setup)"


def members(tensors):
    """As cHeader() names them, for names of letters, digits and what becomes '_'."""
    return ["".join(c if c.isascii() and c.isalnum() else "_" for c in tensor["name"]) for tensor in tensors]


class Firmwares(Compiler):
    def firmware(self, artifact):
        """The artifact's program, its header and a firmware's sources as artifact/firmware.elf."""
        manifest = json.loads((artifact / "manifest.json").read_text())
        program, target = manifest["program"], manifest["spec"]["target"]["name"]
        (artifact / "model.h").write_text(self.call(self.compiler, "header", artifact, "--name", "model").stdout)
        lists = []
        counts = program.get("indexChecks", [])
        outputs = program["outputs"] + [{"name": "kiln_index_counts", "dtype": "i64"}] * bool(counts)
        for kind, tensors in (("IN", program["inputs"]), ("OUT", outputs)):
            lists += [f"{kind}({member}, {TYPES.get(tensor['dtype'], 'uint8_t')}, MODEL_{member.upper()}_ELEMENTS)"
                      for member, tensor in zip(members(tensors), tensors)]
        (artifact / "tensors.h").write_text("#define MODEL_TENSORS(IN, OUT) " + " ".join(lists) + "\n")
        self.call(LLVM / "clang", *PROCESSORS[target], "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib",
                  f"--ld-path={LLVM}/ld.lld", "-Wl,--gc-sections,--fatal-warnings", f"-Wl,-T,{FIRMWARE}/firmware.ld", "-I", artifact,
                  FIRMWARE / "firmware.c", artifact / program["file"]["path"], "-o", artifact / "firmware.elf")
        return artifact / "firmware.elf"

    def emulate(self, artifact, inputs):
        """Outputs as raw bytes, the counts of indices behind them, and the exit status of the model's function."""
        manifest = json.loads((artifact / "manifest.json").read_text())
        program, target = manifest["program"], manifest["spec"]["target"]["name"]
        for i, value in enumerate(inputs):
            (artifact / f"in_{LETTERS[i]}.bin").write_bytes(value.tobytes())
        done = subprocess.run(["qemu-system-arm", "-M", BOARDS[target], "-nographic", "-monitor", "none", "-serial", "none", "-nodefaults",
                               "-semihosting-config", "enable=on,target=native", "-kernel", self.firmware(artifact).name],
                              cwd=artifact, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=SECONDS,
                              env={**os.environ, "QEMU_AUDIO_DRV": "none"})
        check(done.returncode < 100, f"the firmware: exit {done.returncode}: {done.stderr[-2000:]}")
        count = len(program["outputs"]) + bool(program.get("indexChecks"))
        return [(artifact / f"out_{LETTERS[i]}.bin").read_bytes() for i in range(count)], done.returncode

    def footprint(self, artifact):
        """Bytes of code, of constants beside it, of weights and of memory, in the program as the compiler leaves it."""
        program = json.loads((artifact / "manifest.json").read_text())["program"]
        lines = self.call(LLVM / "llvm-size", "-A", artifact / program["file"]["path"]).stdout.splitlines()
        sizes = dict(code=0, constants=0, weights=0, arena=0)
        for line in lines:
            name, *rest = line.split() or [""]
            kind = ("weights" if name == ".rodata.kiln_weights" else "arena" if name == ".bss.kiln_arena" else
                    "code" if name.startswith(".text") else "constants" if name.startswith(".rodata") else "")
            if kind:
                sizes[kind] += int(rest[0])
        return sizes
