#!/usr/bin/env python3
"""kiln-cc as a program: outputs, exit codes, error lines, same bytes from anywhere.

usage: cli_test.py KILN_CC MODELS TOOLCHAIN_LIB
"""
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

KILN_CC, MODELS, TOOLCHAIN_LIB = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
MLP = MODELS / "digits_mlp.onnx"
CNN = MODELS / "digits_cnn.onnx"


def run(*arguments, **kwargs):
    return subprocess.run([str(KILN_CC), *map(str, arguments)], capture_output=True, text=True, timeout=120, **kwargs)


def tree(folder):
    """Path -> digest of every file below a folder."""
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(pathlib.Path(folder).rglob("*")) if p.is_file()}


def field(number, payload):
    """One length-delimited protobuf field."""
    size, out = len(payload), b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + out + bytes([size]) + payload


def varint(number, value):
    return bytes([number << 3, value])


def tensor_info(name, dims):
    shape = b"".join(field(1, varint(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, varint(1, 1) + field(2, shape)))


def model(nodes, opset=17):
    """A float[2] -> float[2] model of (op, domain) nodes in a chain."""
    body, last = b"", b"x"
    for index, (op, domain) in enumerate(nodes):
        out = b"y" if index + 1 == len(nodes) else b"t%d" % index
        body += field(1, field(1, last) + field(2, out) + field(3, b"node%d" % index) + field(4, op) + field(7, domain))
        last = out
    graph = body + field(2, b"g") + field(11, tensor_info(b"x", [2])) + field(12, tensor_info(b"y", [2]))
    return varint(1, 8) + field(7, graph) + field(8, field(1, b"") + varint(2, opset)) + field(8, field(1, b"com.example") + varint(2, 1))


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kiln cc "))
        self.addCleanup(shutil.rmtree, self.folder)

    def spec(self, path, *profile, **changes):
        out = self.folder / "spec.json"
        made = run("spec", "--model", path, "--out", out, *[a for p in profile for a in ("--profile", p)])
        self.assertEqual(made.returncode, 0, made.stderr)
        if changes:
            document = json.loads(out.read_text())
            for name, value in changes.items():
                document[name] = {**document[name], **value} if isinstance(value, dict) else value
            out.write_text(json.dumps(document, sort_keys=True, separators=(",", ":")))
        return out

    def expect_error(self, done, exit_code, code, *texts):
        self.assertEqual(done.returncode, exit_code, done.stderr)
        error = json.loads(done.stderr.strip().splitlines()[-1])["error"]
        self.assertEqual(error["code"], code)
        for text in texts:
            self.assertIn(text, error["message"])
        return error

    def test_compile_writes_the_artifact(self):
        out = self.folder / "out"
        done = run("compile", "--model", MLP, "--spec", self.spec(MLP, "N=4"), "--out", out, "--emit-ir", self.folder / "ir")
        self.assertEqual(done.returncode, 0, done.stderr)
        stages = [l.removeprefix("stage: ") for l in done.stderr.splitlines() if l.startswith("stage: ")]
        self.assertEqual(stages, ["capture", "analyse", "rewrite", "partition", "schedule", "plan", "codegen", "package"])
        manifest = json.loads((out / "manifest.json").read_text())
        evidence = json.loads((out / "evidence.json").read_text())
        self.assertEqual(manifest["program"], evidence["program"])
        self.assertEqual(set(manifest["stages"]), set(stages))
        for file in [manifest["program"]["file"], *manifest["program"]["weights"]]:
            data = (out / file["path"]).read_bytes()
            self.assertEqual(file["digest"], "sha256:" + hashlib.sha256(data).hexdigest())
            self.assertEqual(file["size"], str(len(data)))
        self.assertEqual(set(tree(out)), {"program.so", "manifest.json", "evidence.json",
                                          *(w["path"] for w in manifest["program"]["weights"])})
        kernels = manifest["stages"]["schedule"]["kernels"]
        self.assertTrue(kernels and all(k["nodes"] and k["schedule"]["tile"] for k in kernels), kernels)
        names = sorted(p.name for p in (self.folder / "ir").iterdir())
        self.assertEqual(names[0], "01-capture.mlir")
        self.assertIn("linalg.generic", (self.folder / "ir" / "03-linalg.mlir").read_text())
        self.assertTrue(names[-1].endswith("program.ll"))

    def test_same_bytes_from_anywhere(self):
        spec = self.spec(CNN)
        first = self.folder / "a"
        self.assertEqual(run("compile", "--model", CNN, "--spec", spec, "--out", first).returncode, 0)
        other = self.folder / "a much longer path" / "nested"
        other.mkdir(parents=True)
        copy = other / "renamed.onnx"
        shutil.copy(CNN, copy)
        environment = {"PATH": "/nonexistent", "LC_ALL": "C", "TZ": "Pacific/Apia", "HOME": "/nonexistent", "JUNK": "x" * 4000}
        for attempt in range(4):  # each run has its own address layout
            done = run("compile", "--model", "renamed.onnx", "--spec", spec, "--out", f"b{attempt}", cwd=other, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(tree(first), tree(other / f"b{attempt}"))
        if shutil.which("setarch") and subprocess.run(["setarch", "-R", "true"]).returncode == 0:
            subprocess.run(["setarch", "-R", KILN_CC, "compile", "--model", CNN, "--spec", spec, "--out", other / "c"],
                           check=True, capture_output=True)
            self.assertEqual(tree(first), tree(other / "c"))

    def test_runs_in_an_empty_root(self):
        if not shutil.which("bwrap"):
            self.skipTest("no bubblewrap")
        spec = self.spec(MLP, "N=1")
        root = self.folder / "root"
        (root / "toolchain" / "bin").mkdir(parents=True)
        (root / "input").mkdir()
        (root / "output").mkdir()
        shutil.copy(KILN_CC, root / "toolchain" / "bin" / "kiln-cc")
        shutil.copytree(TOOLCHAIN_LIB, root / "toolchain" / "lib")
        shutil.copy(MLP, root / "input" / "model.onnx")
        shutil.copy(spec, root / "input" / "spec.json")
        probe = ["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"]
        if subprocess.run(probe, capture_output=True).returncode != 0:
            self.skipTest("no user namespaces here")
        done = subprocess.run(
            ["bwrap", "--unshare-all", "--ro-bind", root, "/work", "--bind", root / "output", "/work/output", "--chdir",
             "/work", "--clearenv", "--setenv", "GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4", "toolchain/bin/kiln-cc",
             "compile", "--model", "input/model.onnx", "--spec", "input/spec.json", "--out", "output"],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        by_hand = self.folder / "by hand"
        self.assertEqual(run("compile", "--model", MLP, "--spec", spec, "--out", by_hand).returncode, 0)
        self.assertEqual(tree(root / "output"), tree(by_hand))

    def test_is_static(self):
        header = KILN_CC.read_bytes()[:1 << 16]
        offset, = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        kinds = {struct.unpack_from("<I", header, offset + i * size)[0] for i in range(count)}
        self.assertNotIn(3, kinds, "an interpreter is named: the program is not static")

    def test_reference_makes_fixtures(self):
        out = self.folder / "fixtures"
        spec = self.spec(MLP, "N=3")
        done = run("reference", "--model", MLP, "--spec", spec, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        fixtures = json.loads((out / "fixtures.json").read_text())
        self.assertEqual(fixtures["version"], "1")
        profile, = fixtures["profiles"]
        for path in profile["inputs"] + profile["outputs"]:
            self.assertTrue((out / path).read_bytes().startswith(b"\x93NUMPY"))
        again = self.folder / "again"
        run("reference", "--model", MLP, "--spec", spec, "--out", again)
        self.assertEqual(tree(out), tree(again))

    def test_explain(self):
        done = run("explain", CNN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("convolution", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^memory +profile default: arena [1-9]\d* bytes")
        self.assertRegex(done.stdout, r"(?m)^value +\S+ f32\[1,")
        document = json.loads(run("explain", CNN, "--json").stdout)
        self.assertIn("kernels", document["schedule"])
        self.assertIn("peakBytes", document["plan"]["profiles"][0])

    def test_version(self):
        self.assertIn("LLVM", run("--version").stdout)
        self.assertEqual(json.loads(run("--version", "--json").stdout)["programAbi"], 2)

    def test_usage(self):
        self.expect_error(run(), 2, "INVALID_ARGUMENT", "--help")
        self.expect_error(run("compile", "--model", MLP), 2, "INVALID_ARGUMENT")
        self.expect_error(run("compile", "--model", MLP, "--spec", "/none", "--out", self.folder), 6, "NOT_FOUND", "/none")
        bad = self.folder / "bad.json"
        bad.write_text('{"apiVersion":')
        self.expect_error(run("compile", "--model", MLP, "--spec", bad, "--out", self.folder), 2, "INVALID_ARGUMENT")
        self.expect_error(run("spec", "--model", MLP, "--profile", "N=x"), 2, "INVALID_ARGUMENT", "--profile N=x")
        self.expect_error(run("spec", "--model", MLP, "--target", "native"), 2, "INVALID_ARGUMENT", "native")
        self.assertEqual(run("--help").returncode, 0)

    def test_files_that_cannot_be_what_they_are_given_for(self):
        """What is not there is exit 6, nothing is waited for, and the message names the file once."""
        spec = self.folder / "spec.json"
        self.assertEqual(run("spec", "--model", MLP, "--out", spec).returncode, 0)
        out = ("--out", self.folder / "out")
        tables = [lambda f: ("spec", "--model", f, *out), lambda f: ("explain", f), lambda f: ("disassemble", f, "kernel_0"),
                  lambda f: ("compile", "--model", f, "--spec", spec, *out), lambda f: ("compile", "--model", MLP, "--spec", f, *out),
                  lambda f: ("compile", "--model", MLP, "--spec", spec, "--tuning", f, *out),
                  lambda f: ("reference", "--model", f, "--spec", spec, *out), lambda f: ("reference", "--model", MLP, "--spec", f, *out),
                  lambda f: ("plan", "--model", f, "--spec", spec, *out), lambda f: ("plan", "--model", MLP, "--spec", f, *out)]
        files = {name: self.folder / f"a-{name}" for name in ("missing", "folder", "empty", "garbage", "fifo")}
        files["folder"].mkdir()
        files["empty"].touch()
        files["garbage"].write_text("garbage")
        os.mkfifo(files["fifo"])
        for arguments in tables:
            for name, file in files.items():
                with self.subTest(command=arguments(file)[0], file=name):
                    done = run(*arguments(file))
                    # In a folder without one there is no model either.
                    self.assertIn(done.returncode, {"missing": (6,), "folder": (2, 3, 6)}.get(name, (2, 3)))
                    message = json.loads(done.stderr.splitlines()[-1])["error"]["message"]
                    self.assertEqual(message.count(str(file)), 1, message)

    def test_a_kernel_of_a_module_is_disassembled(self):
        module = MODELS.parent / "fuzz/corpus/spirv_check/kernels.spv"
        done = run("disassemble", module, "kiln_k1_blocks")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual(lines[0], ["0x0", "", "%0 = Function TypeVoid 0 TypeFunction<TypeVoid> LocalSize 32 1 1"])
        self.assertEqual(lines[-1][2], "FunctionEnd")
        self.expect_error(run("disassemble", module, "kiln_k9_none"), 6, "NOT_FOUND", "has no function kiln_k9_none")
        cut = self.folder / "cut.spv"
        cut.write_bytes(module.read_bytes()[:-4])
        self.expect_error(run("disassemble", cut, "kiln_k1_blocks"), 2, "INVALID_ARGUMENT", "a function without an end")

    def test_files_beside_the_model_that_are_not_there(self):
        """Parameters and external data are exit 6 as a missing model is, with the path and the next step."""
        spec, out, missing = self.spec(CNN), self.folder / "out", self.folder / "no such.npz"
        for command in (("spec", "--model", CNN), ("explain", CNN), ("compile", "--model", CNN, "--spec", spec, "--out", out),
                        ("plan", "--model", CNN, "--spec", spec, "--out", out), ("reference", "--model", CNN, "--spec", spec, "--out", out)):
            with self.subTest(command=command[0]):
                self.expect_error(run(*command, "--params", missing), 6, "NOT_FOUND", f"--params {missing}: no such file; give one")
        entry = field(13, field(1, b"location") + field(2, b"w.bin"))
        weight = field(5, varint(1, 2) + varint(2, 1) + field(8, b"w") + entry + varint(14, 1))
        add = field(1, field(1, b"x") + field(1, b"w") + field(2, b"y") + field(3, b"sum") + field(4, b"Add"))
        graph = add + field(2, b"g") + weight + field(11, tensor_info(b"x", [2])) + field(12, tensor_info(b"y", [2]))
        path = self.folder / "outside.onnx"
        path.write_bytes(varint(1, 8) + field(7, graph) + field(8, field(1, b"") + varint(2, 17)))
        for command in (("spec", "--model", path), ("explain", path)):
            with self.subTest(command=command[0], what="external data"):
                self.expect_error(run(*command), 6, "NOT_FOUND", f"{self.folder / 'w.bin'}")
        (self.folder / "w.bin").write_bytes(bytes(8))
        self.assertEqual(run("explain", path).returncode, 0)

    def test_a_model_cannot_write_to_the_terminal(self):
        """Names turn no text around, move no cursor and begin no line; in JSON they are escaped."""
        path = self.folder / "turned.onnx"
        path.write_bytes(model([(b"Relu", b""), (b"Frobnicate", b"")]).replace(b"node1", "\u202en1".encode()))
        error = self.expect_error(run("explain", path), 4, "UNIMPLEMENTED")
        self.assertIn("\u202e", error["message"])
        self.assertNotIn("\u202e", run("explain", path).stderr.splitlines()[0])
        path.write_bytes(model([(b"Relu", b""), (b"Abs", b"")]).replace(b"node1", "\u202en1".encode()))
        explained = run("explain", path)
        self.assertEqual(explained.returncode, 0, explained.stderr)
        self.assertIn("?n1", explained.stdout)
        self.assertNotIn("\u202e", explained.stdout)
        path.write_text('func.func @main(%a: tensor<f32>) -> tensor<f32> {\n'
                        '  %0 = stablehlo.custom_call @"f\\1B[2J\\0Aerror: forged"(%a) : (tensor<f32>) -> tensor<f32>\n'
                        '  return %0 : tensor<f32>\n}\n')
        done = run("explain", path)
        self.expect_error(done, 4, "UNIMPLEMENTED", "\x1b")
        self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        # What is no UTF-8 at all still has its code in JSON.
        self.expect_error(run("explain", os.fsdecode(os.fsencode(self.folder) + b"/m\xff.onnx")), 6, "NOT_FOUND", "m?.onnx")

    def test_a_target_nobody_serves(self):
        self.expect_error(run("spec", "--model", MLP, "--target", "cuda:sm_86"), 4, "UNIMPLEMENTED", "cuda:sm_86")
        self.expect_error(run("spec", "--model", MLP, "--target", "cuda:sm_80,cuda:sm_90a"), 4, "UNIMPLEMENTED", "two GPUs")

    def test_invalid_models(self):
        good = CNN.read_bytes()
        for name, data in {"empty": b"", "text": b"not a model", "cut": good[:len(good) // 2]}.items():
            path = self.folder / name
            path.write_bytes(data)
            self.assertEqual(run("spec", "--model", path).returncode, 3, name)
        # Specs of an intact file do not fit a cut one: the command line is wrong.
        spec = self.spec(CNN)
        self.expect_error(run("compile", "--model", self.folder / "cut", "--spec", spec, "--out", self.folder / "o"), 2,
                          "FAILED_PRECONDITION", "spec is for")

    def test_a_pass_that_is_not_there(self):
        self.expect_error(run("compile", "--model", CNN, "--spec", self.spec(CNN), "--out", self.folder / "o", "--disable-pass", "nope"),
                          2, "FAILED_PRECONDITION", "nope", "kiln-decompose")

    def test_every_unsupported_node_is_named(self):
        path = self.folder / "custom.onnx"
        path.write_bytes(model([(b"Relu", b""), (b"Frobnicate", b""), (b"Thing", b"com.example")]))
        done = run("compile", "--model", path, "--spec", self.spec(path), "--out", self.folder / "o")
        error = self.expect_error(done, 4, "UNIMPLEMENTED")
        listed = {(n["node"], n["op"], n["domain"]) for n in error["details"]["unsupported"]}
        self.assertEqual({op for _, op, _ in listed}, {"Frobnicate", "Thing"})
        self.assertIn(("node1", "Frobnicate"), {(n, o) for n, o, _ in listed})

    def test_symbolic_dimensions_need_a_profile(self):
        self.expect_error(run("explain", MLP), 4, "UNIMPLEMENTED", "N", "--profile")
        ranged = run("explain", MLP, "--profile", "N=1:2:4", "--profile", "large:N=5:8:64")
        self.assertEqual(ranged.returncode, 0, ranged.stderr)
        self.assertIn("profile default", ranged.stdout)
        self.assertIn("profile large", ranged.stdout)
        self.assertIn("f32[N,", ranged.stdout.replace(" ", ""))

    def test_sizes_that_a_node_cannot_have_are_named(self):
        """A window larger than the image: the model is fine, the sizes are not."""
        image = b"".join(field(1, d) for d in (varint(1, 1), varint(1, 1), field(2, b"H"), field(2, b"W")))
        info = lambda name: field(1, name) + field(2, field(1, varint(1, 1) + field(2, image)))  # noqa: E731
        window = field(5, field(1, b"kernel_shape") + varint(8, 5) + varint(8, 5) + b"\xa0\x01\x07")
        pool = field(1, field(1, b"x") + field(2, b"y") + field(3, b"pool") + field(4, b"MaxPool") + window)
        path = self.folder / "pool.onnx"
        path.write_bytes(varint(1, 8) + field(7, pool + field(2, b"g") + field(11, info(b"x")) + field(12, info(b"y"))) +
                         field(8, varint(2, 17)))
        small = run("explain", path, "--profile", "H=3", "--profile", "W=64")
        self.expect_error(small, 3, "INVALID_ARGUMENT", "'pool'", "(with H=3, W=64; if the model is right, other sizes fit it)")
        for other in ("H=6,W=64", "H=5:8:9,W=64"):
            mixed = run("explain", path, "--profile", other, "--profile", "low:H=3,W=64:65:66")
            self.expect_error(mixed, 3, "INVALID_ARGUMENT", "'pool'", "(with H=3, W=64; if")
        ranged = self.spec(path, "H=3:8:9,W=64")
        self.expect_error(run("reference", "--model", path, "--spec", ranged, "--out", self.folder / "r"), 3, "INVALID_ARGUMENT",
                          "'pool'", "(with H=3, W=64; if")
        self.assertEqual(run("explain", path, "--profile", "H=5,W=64").returncode, 0)

    def test_a_pin_that_no_size_fits_is_named(self):
        """Reshape to a pinned shape: the model is fine, the pin is not, whatever is said of sizes."""
        pair = field(1, b"shape") + field(2, field(1, varint(1, 7) + field(2, field(1, varint(1, 2)))))
        dims = field(1, varint(1, 2)) + field(1, field(2, b"N"))
        image = field(1, b"x") + field(2, field(1, varint(1, 1) + field(2, dims)))
        free = field(1, b"y") + field(2, field(1, varint(1, 1) + field(2, field(1, field(2, b"a")) + field(1, field(2, b"b")))))
        node = field(1, field(1, b"x") + field(1, b"shape") + field(2, b"y") + field(3, b"turn") + field(4, b"Reshape"))
        path, spec = self.folder / "turn.onnx", self.folder / "turn.json"
        path.write_bytes(varint(1, 8) + field(7, node + field(2, b"g") + field(11, image) + field(11, pair) + field(12, free)) +
                         field(8, varint(2, 17)))
        for verb in ("compile", "reference"):
            with self.subTest(verb=verb):
                for pin, code in (("3,4", 0), ("3,5", 4)):
                    made = run("spec", "--model", path, "--profile", "N=6", "--pin", f"shape={pin}", "--out", spec)
                    self.assertEqual(made.returncode, 0, made.stderr)
                    done = run(verb, "--model", path, "--spec", spec, "--out", self.folder / verb)
                    self.assertEqual(done.returncode, code, done.stderr)
                self.expect_error(done, 4, "UNIMPLEMENTED", "'turn'", "(with N=6, --pin shape=3,5; if the model is right, other values fit it)")

    def test_a_fault_of_the_model_alone_is_not_blamed_on_sizes(self):
        dims = b"".join(field(1, d) for d in (field(2, b"N"), varint(1, 2)))
        info = lambda name: field(1, name) + field(2, field(1, varint(1, 1) + field(2, dims)))  # noqa: E731
        cut = varint(1, 2) + varint(2, 1) + field(8, b"w") + field(9, b"cut")
        add = field(1, field(1, b"x") + field(1, b"w") + field(2, b"y") + field(3, b"sum") + field(4, b"Add"))
        path = self.folder / "cut.onnx"
        path.write_bytes(varint(1, 8) + field(7, add + field(2, b"g") + field(5, cut) + field(11, info(b"x")) +
                                              field(12, info(b"y"))) + field(8, varint(2, 17)))
        error = self.expect_error(run("explain", path, "--profile", "N=3"), 3, "INVALID_ARGUMENT", "raw_data has 3 bytes")
        self.assertNotIn("other sizes", error["message"])

    def test_a_program_of_several_profiles(self):
        out = self.folder / "o"
        spec = self.spec(MLP, "N=1:2:4", "large:N=5:8:64")
        done = run("compile", "--model", MLP, "--spec", spec, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        program = json.loads((out / "manifest.json").read_text())["program"]
        self.assertEqual([p["name"] for p in program["profiles"]], ["default", "large"])
        self.assertGreaterEqual(int(program["profiles"][1]["arenaBytes"]), int(program["profiles"][0]["arenaBytes"]))
        self.assertEqual([s["name"] for s in program["symbols"]], ["N"])
        reference = run("reference", "--model", MLP, "--spec", spec, "--out", self.folder / "r")
        self.assertEqual(reference.returncode, 0, reference.stderr)
        fixtures = json.loads((self.folder / "r" / "fixtures.json").read_text())
        self.assertEqual([p["name"] for p in fixtures["profiles"]],
                         ["default", "default/min", "default/max", "large", "large/min", "large/max"])
        for profile, rows in zip(fixtures["profiles"], (2, 1, 4, 8, 5, 64)):
            header = (self.folder / "r" / profile["inputs"][0]).read_bytes()[:128]
            self.assertIn(b"'shape': (%d," % rows, header)
        # A check runs all of them.
        (self.folder / "r").rename(out / "fixtures")
        (self.folder / "check.json").write_text("{}")
        report = self.folder / "report"
        report.mkdir()
        checked = subprocess.run([str(KILN_CC.parent / "kiln-check"), "--artifact", out, "--plan", self.folder / "check.json",
                                  "--out", report], capture_output=True, text=True, timeout=120)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        items = json.loads((report / "report.json").read_text())["items"]
        self.assertTrue(all(item["passed"] for item in items), items)
        names = {item["name"].rsplit(":", 1)[0] for item in items if item["kind"] == "fixture"}
        self.assertEqual(names, {"profile " + p["name"] for p in fixtures["profiles"]})
        # How exact the artifact is beside the reference evaluator.
        for item in items:
            if item["kind"] == "fixture":
                self.assertEqual(set(item["measured"]), {"maxAbsolute", "maxRelative", "rmsRelative"}, item)
                self.assertLess(float(item["measured"]["rmsRelative"]), 1e-5, item)

    def test_budgets(self):
        out = self.folder / "o"
        for member, changes in {"artifactBytes": {"artifactBytes": "100"}, "plannedBytes": {"plannedBytes": "1"}}.items():
            spec = self.spec(CNN, budgets=changes)
            error = self.expect_error(run("compile", "--model", CNN, "--spec", spec, "--out", out), 4, "RESOURCE_EXHAUSTED", member)
            self.assertEqual(error["details"]["budget"], member)

    def test_the_number_of_threads_changes_no_byte(self):
        spec, made = self.spec(CNN), []
        for jobs in ("1", "2", "5"):
            out = self.folder / jobs
            done = run("compile", "--model", CNN, "--spec", spec, "--out", out, "--jobs", jobs)
            self.assertEqual(done.returncode, 0, done.stderr)
            made.append({path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()})
        self.assertEqual(made[0], made[1])
        self.assertEqual(made[0], made[2])

    def test_two_targets_in_one_artifact(self):
        both = ["--target", "cpu:x86-64-v4,cpu:x86-64-v3"]
        rules = ["--exclude", "op:MaxPool=cpu:x86-64-v4", "--fallback", "cpu", "--fallback-allow", "MaxPool",
                 "--fallback-allow", "Relu", "--fallback-allow", "Conv"]
        spec, out = self.folder / "s.json", self.folder / "o"
        made = run("spec", "--model", CNN, *both, *rules, "--out", spec)
        self.assertEqual(made.returncode, 0, made.stderr)
        done = run("compile", "--model", CNN, "--spec", spec, "--out", out, "--timing")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("pass: kiln-partition", done.stderr)
        for step in ("translate", "split", "complete", "optimize", "emit", "link"):
            self.assertRegex(done.stderr, rf"(?m)^pass: llvm:{step} \d+\.\d+ s$")
        self.assertRegex(done.stderr, r"(?m)^processor time: capture \d.*, package \d.*, rest \d.*, total \d+\.\d+ s$")
        manifest = json.loads((out / "manifest.json").read_text())
        partition = manifest["stages"]["partition"]
        self.assertEqual(partition["targets"], ["cpu:x86-64-v4", "cpu:x86-64-v3"])
        self.assertEqual({p["target"] for p in partition["partitions"]}, set(partition["targets"]))
        self.assertTrue(any(f["op"] == "MaxPool" and "excluded" in f["reason"] for f in partition["fallback"]))
        self.assertEqual(sum(int(t["bytes"]) for t in partition["transfers"]), int(partition["transferBytes"]))
        self.assertEqual(manifest["program"]["profiles"][0]["transferBytes"], partition["transferBytes"])
        explained = run("explain", CNN, *both, *rules)
        self.assertEqual(explained.returncode, 0, explained.stderr)
        for line in ("partition cpu:x86-64-v3", "transfer  ", "fallback  "):
            self.assertIn(line, explained.stdout)

    def gpu_spec(self, *options):
        spec = self.folder / "gpu.json"
        made = run("spec", "--model", CNN, "--target", "cuda:sm_90a", *options, "--out", spec)
        self.assertEqual(made.returncode, 0, made.stderr)
        return spec

    def test_a_gpu_is_explained_without_an_assembler(self):
        explained = run("explain", CNN, "--target", "cuda:sm_90a", "--precision", "tf32")
        self.assertEqual(explained.returncode, 0, explained.stderr)
        for text in ("partition cuda:sm_90a", "from host to cuda:sm_90a", "on the device", " threads, "):
            self.assertIn(text, explained.stdout)
        stages = json.loads(run("explain", CNN, "--target", "cuda:sm_90a", "--json").stdout)
        self.assertTrue(all(k["device"]["threads"] % 32 == 0 for k in stages["schedule"]["kernels"]))
        self.assertEqual(len(stages["plan"]["profiles"][0]["devicePeakBytes"]), 1)
        self.expect_error(run("explain", CNN, "--precision", "tf32"), 4, "UNIMPLEMENTED", "tf32")
        self.expect_error(run("explain", CNN, "--target", "cuda:sm_90a", "--exclude", "op:MaxPool=cuda:sm_90a"), 4, "UNIMPLEMENTED")

    @unittest.skipUnless((TOOLCHAIN_LIB.parent / "bin/ptxas").exists(), "no ptxas")
    def test_a_gpu_artifact_has_its_kernels_beside_the_program(self):
        spec, outs = self.gpu_spec(), [self.folder / "a", self.folder / "other" / "b"]
        emulation = self.folder / "emulation"
        for out, options in zip(outs, (["--emulation", emulation], [])):
            done = run("compile", "--model", CNN, "--spec", spec, "--out", out, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(tree(outs[0]), tree(outs[1]))
        manifest = json.loads((outs[0] / "manifest.json").read_text())
        self.assertEqual(manifest["program"]["abi"], 3)
        [device] = manifest["program"]["devices"]
        image = (outs[0] / device["image"]["path"]).read_bytes()
        self.assertEqual(device["image"]["digest"], "sha256:" + hashlib.sha256(image).hexdigest())
        self.assertEqual(list(tree(emulation)), [hashlib.sha256(image).hexdigest() + ".so"])
        self.assertTrue(all(w["space"] == 1 for w in manifest["program"]["weights"]))
        self.assertEqual({k["target"] for k in manifest["stages"]["schedule"]["kernels"]}, {"cuda:sm_90a"})

    @unittest.skipUnless((TOOLCHAIN_LIB.parent / "bin/ptxas").exists(), "no ptxas")
    def test_budgets_count_what_lies_on_the_device(self):
        out = self.folder / "o"
        for member in ("artifactBytes", "plannedBytes"):
            spec = self.gpu_spec()
            document = json.loads(spec.read_text())
            document["budgets"][member] = "1000"
            spec.write_text(json.dumps(document, sort_keys=True, separators=(",", ":")))
            error = self.expect_error(run("compile", "--model", CNN, "--spec", spec, "--out", out), 4, "RESOURCE_EXHAUSTED", member)
            self.assertEqual(error["details"]["budget"], member)

    def test_fallback_is_refused_by_name(self):
        both = ["--target", "cpu:x86-64-v4,cpu:x86-64-v3", "--exclude", "op:MaxPool=cpu:x86-64-v4"]
        error = self.expect_error(run("explain", CNN, *both), 4, "UNIMPLEMENTED")
        self.assertTrue(error["details"]["unsupported"])
        self.expect_error(run("explain", CNN, *both, "--fallback", "cpu", "--fallback-allow", "Conv"), 4, "UNIMPLEMENTED",
                          "may not fall back, only Conv may")
        for option, name in (("--affinity", "op:Con=cpu:x86-64-v3"), ("--exclude", "cnv1=cpu:x86-64-v3"), ("--fallback-allow", "Add")):
            self.expect_error(run("explain", CNN, *both, "--fallback", "cpu", option, name), 2, "FAILED_PRECONDITION", option)
        self.expect_error(run("explain", CNN, *both, "--fallback", "cpu", "--fallback-permille", "10"), 4, "UNIMPLEMENTED",
                          "the spec allows 10")
        self.expect_error(run("explain", CNN, *both, "--affinity", "x=cuda:sm_80"), 2, "INVALID_ARGUMENT", "x=cuda:sm_80")
        self.expect_error(run("explain", CNN, "--target", "cpu:x86-64-v3,cpu:aarch64"), 4, "UNIMPLEMENTED", "architectures")

    def test_what_is_not_served_is_said(self):
        spec = self.spec(CNN, numerics={"precision": "bf16"})
        self.expect_error(run("compile", "--model", CNN, "--spec", spec, "--out", self.folder), 4, "UNIMPLEMENTED", "bf16")
        # Only devices have products of tf32.
        spec = self.spec(CNN, numerics={"precision": "tf32"})
        self.expect_error(run("compile", "--model", CNN, "--spec", spec, "--out", self.folder), 4, "UNIMPLEMENTED", "tf32")

        self.expect_error(run("explain", CNN, "--target", "cuda:sm_90a", "--reassociation", "on"), 4, "UNIMPLEMENTED",
                          "numerics.reassociation", "cuda:sm_90a")

    def test_sums_are_added_in_the_order_of_the_schedule_unless_the_spec_says_otherwise(self):
        spec = self.folder / "spec.json"
        for target in ("cpu:x86-64-v3", "cuda:sm_90a"):
            self.assertEqual(run("spec", "--model", CNN, "--target", target, "--out", spec).returncode, 0)
            self.assertEqual(json.loads(spec.read_text())["numerics"]["reassociation"], "deterministic")
        self.assertEqual(run("explain", CNN, "--target", "cuda:sm_90a").returncode, 0)
        self.assertEqual(run("spec", "--model", CNN, "--reassociation", "some").returncode, 2)

    def test_the_default_order_has_the_signatures_of_tuned_ones(self):
        kernels = {}
        for value in ("deterministic", "on"):
            spec, out = self.folder / f"{value}.json", self.folder / value
            self.assertEqual(run("spec", "--model", CNN, "--reassociation", value, "--out", spec).returncode, 0)
            for again in (out, self.folder / "again"):
                done = run("compile", "--model", CNN, "--spec", spec, "--out", again)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(tree(out), tree(self.folder / "again"))
            kernels[value] = json.loads((out / "manifest.json").read_text())["stages"]["schedule"]["kernels"]
        signatures = {value: [k.get("signature") for k in of] for value, of in kernels.items()}
        self.assertEqual(signatures["deterministic"], signatures["on"])

    def test_reassociation_changes_signatures_and_no_default(self):
        kernels, programs = {}, {}
        for value in ("off", "on"):
            spec, out = self.folder / f"{value}.json", self.folder / value
            self.assertEqual(run("spec", "--model", CNN, "--reassociation", value, "--out", spec).returncode, 0)
            self.assertEqual(json.loads(spec.read_text())["numerics"]["reassociation"], value)
            done = run("compile", "--model", CNN, "--spec", spec, "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            programs[value] = (out / "program.so").read_bytes()
            kernels[value] = json.loads((out / "manifest.json").read_text())["stages"]["schedule"]["kernels"]
        self.assertEqual(programs["off"], programs["on"])
        signatures = {value: {k["signature"] for k in of if "signature" in k} for value, of in kernels.items()}
        self.assertEqual(len(signatures["off"]), len(signatures["on"]))
        self.assertFalse(signatures["off"] & signatures["on"])

    def test_contraction_off_changes_the_program(self):
        spec = self.spec(CNN)
        run("compile", "--model", CNN, "--spec", spec, "--out", self.folder / "on")
        spec = self.spec(CNN, numerics={"contraction": "off"})
        done = run("compile", "--model", CNN, "--spec", spec, "--out", self.folder / "off")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(tree(self.folder / "on")["program.so"], tree(self.folder / "off")["program.so"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
