#!/usr/bin/env python3
"""PyTorch's models from random weights, as exported and decomposed to Core ATen: compiled, run, and equal to eager's answers.

usage: torch_models.py BIN [NAME...]    BIN: the folder of kiln-cc and run_artifact; NAME: models of zoo.py, default all
Ends with "N passed, M failed, K skipped"; exits 77 (skipped) where torch is not installed. Models of torchvision are left out
where that is not.
"""
import copy
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
try:
    import numpy
    import random_graphs
    import torch
    import zoo

    from compiled import Compiler, Failure, check
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RANDOM = 40  # models
TOLERANCE = {torch.bfloat16: (2e-2, 2e-2), torch.float16: (2e-3, 2e-3)}


def array(tensor):
    tensor = tensor.detach().contiguous()
    return tensor.view(torch.int16).numpy() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor.numpy()


def exported(case):
    return torch.export.export(case.model, case.inputs, dynamic_shapes=case.dynamic)


def flat(value):
    return [value] if isinstance(value, torch.Tensor) else [one for part in value for one in flat(part)]


def expected(model, inputs, manifest):
    """What eager makes of the inputs: inputs and outputs by the program's names, state that is written included."""
    model, inputs = copy.deepcopy(model), [one.clone() for one in inputs]  # both are written in place
    buffers = dict(model.named_buffers())
    names = [tensor["name"] for tensor in manifest["inputs"]]
    given = [array(one.clone()) for one in inputs] + [array(buffers[name].clone()) for name in names[len(inputs):]]
    given = [one.copy() for one in given]
    with torch.no_grad():
        results = flat(model(*inputs))
    state = dict(zip(names, inputs)) | buffers
    return given, results + [state[tensor["name"]] for tensor in manifest["outputs"][len(results):]]


def renamed(profiles, program):
    """Profiles by the names that kiln-cc knows: of the one symbolic dimension that each model here has."""
    if not profiles:
        return ()
    found = []
    for spec in program.graph_signature.user_inputs:
        value = next(node for node in program.graph.nodes if node.name == spec).meta["val"]
        for i, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if not isinstance(size, int) and not str(size).isdigit():
                text = str(size)
                found.append(text if text.isalnum() else f"{spec}.{i}")
    names = list(dict.fromkeys(found))[:1]
    return tuple(f"{name}={profile.split('=')[1]}" for name, profile in zip(names, profiles))


def compare(compiler, case, program, home):
    """Compiles and runs one program; returns the number of results that agree with eager's."""
    model, out = home / "model.pt2", home / "artifact"
    torch.export.save(program, model)
    compiler.compile(model, "cpu:x86-64-v3", out, profiles=renamed(case.profiles, program))
    manifest = json.loads((out / "manifest.json").read_text())["program"]
    agreed = 0
    for inputs in (case.inputs, *case.more):
        given, wanted = expected(case.model, inputs, manifest)
        results, _ = compiler.run(out, given, [1])
        check(len(results) == len(wanted), f"{len(results)} results where eager has {len(wanted)}")
        for i, (data, want) in enumerate(zip(results, wanted)):
            check(len(data) == want.numel() * want.element_size(), f"result {i} has another size or type than eager's")
            got = torch.frombuffer(bytearray(data), dtype=want.dtype).reshape(want.shape)
            relative, absolute = TOLERANCE.get(want.dtype, (1e-3, 1e-4))
            scale = float(want.abs().max()) if want.is_floating_point() and want.numel() else 1.0
            close = torch.isclose(got, want, rtol=relative, atol=absolute * max(1.0, scale), equal_nan=True)
            check(bool(close.all()), f"result {i}: {int((~close).sum())} of {want.numel()} elements differ from eager's, "
                                     f"at most by {float((got.double() - want.double()).abs().max())}")
            agreed += 1
    return agreed


def run(compiler, made, names):
    passed, failed, skipped = 0, 0, 0
    for name, make in made.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        case = make()
        for form in ("exported", "decomposed"):
            try:
                program = exported(case)
                program = program.run_decompositions() if form == "decomposed" else program
                with tempfile.TemporaryDirectory() as home:
                    agreed = compare(compiler, case, program, pathlib.Path(home))
            except (Failure, RuntimeError, torch._dynamo.exc.UserError) as failure:
                failed += 1
                print(f"FAIL {name} {form}: {failure}", flush=True)
                continue
            passed += 1
            print(f"ok   {name} {form}: {agreed} results", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


def main(bin_folder, *names):
    made = zoo.cases() | random_graphs.cases(RANDOM)
    try:
        made |= zoo.torchvision_cases()
    except ImportError as missing:
        print(f"skip models of torchvision: {missing}")
    return run(Compiler(bin_folder), made, names)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
