#!/usr/bin/env python3
"""One engine beside Kiln, run on request as bench_session is: `peers.py ENGINE MODEL THREADS`. MODEL is an ONNX file; of jax a
.jax_export with its first arguments in an .npz beside it, of torch a .pt2.

Says "ready LOAD_SECONDS RESIDENT_KIB COMPILE_SECONDS", then answers each line "N" with N times in seconds. The inputs are
normal random numbers, or any bytes. An engine that is not installed, or cannot take the model, ends with exit 77 and says why.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy


def resident():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def values(shape, dtype=numpy.float32):
    generator, shape = numpy.random.default_rng(1), [max(int(dim), 1) if not isinstance(dim, str) else 1 for dim in shape]
    if numpy.issubdtype(dtype, numpy.integer):
        return generator.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max, shape, dtype, endpoint=True)
    return generator.standard_normal(shape).astype(dtype)


def onnx_runtime(model, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    load = time.perf_counter() - start
    types = {"tensor(float16)": numpy.float16, "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8}
    given = {one.name: values(one.shape, types.get(one.type, numpy.float32)) for one in session.get_inputs()}
    return lambda: session.run(None, given), load, 0.0


def openvino(model, threads):
    import openvino

    core = openvino.Core()
    start = time.perf_counter()
    compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
                                                "PERFORMANCE_HINT": "LATENCY"})
    load = time.perf_counter() - start
    request = compiled.create_infer_request()
    given = [values(one.shape) for one in compiled.inputs]
    return lambda: request.infer(given), load, 0.0


def iree(model, threads):
    import iree.compiler.tools
    import iree.runtime
    import onnx
    from onnx import version_converter

    network = onnx.load(model)
    # It takes few operators as operator sets before 17 have them.
    if network.opset_import[0].version < 17:
        network = version_converter.convert_version(network, 17)
    shapes = [[d.dim_value for d in one.type.tensor_type.shape.dim] for one in network.graph.input]
    with tempfile.TemporaryDirectory() as work:
        text, newer = pathlib.Path(work, "model.mlir"), pathlib.Path(work, "model.onnx")
        onnx.save(network, newer)
        del network
        subprocess.run([sys.executable, "-m", "iree.compiler.tools.import_onnx", newer, "-o", text], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        start = time.perf_counter()
        binary = iree.compiler.tools.compile_file(
            str(text), input_type="onnx", target_backends=["llvm-cpu"],
            extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"])
        compiled = time.perf_counter() - start
    start = time.perf_counter()
    if threads == 1:
        driver = iree.runtime.get_driver("local-sync")
    else:
        iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        driver = iree.runtime.get_driver("local-task")
    config = iree.runtime.Config(device=driver.create_default_device())
    module = iree.runtime.load_vm_module(iree.runtime.VmModule.copy_buffer(config.vm_instance, binary), config)
    load = time.perf_counter() - start
    names = [name for name in module.vm_module.function_names if not name.startswith("__") and not name.endswith("async")]
    given = [iree.runtime.asdevicearray(config.device, values(shape)) for shape in shapes]
    return lambda: getattr(module, names[0])(*given).to_host(), load, compiled


def limit_xla(threads):
    """Read when JAX begins."""
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'} intra_op_parallelism_threads={threads}"


def xla(model, threads):
    """The graph's operators written in JAX, for the operators of tests/models/blocks.py."""
    limit_xla(threads)
    import jax
    import jax_graph

    function, shapes = jax_graph.load(model)
    given = [jax.numpy.asarray(values(shape)) for shape in shapes]
    start = time.perf_counter()
    compiled = jax.jit(function).lower(*given).compile()
    took = time.perf_counter() - start
    return lambda: jax.block_until_ready(compiled(*given)), took, took


def jax_export(model, threads):
    """An export under jit, its weights arguments, as JAX's users call it; other arguments are normal numbers, or zeros."""
    limit_xla(threads)
    import jax

    path = pathlib.Path(model)
    start = time.perf_counter()
    exported = jax.export.deserialize(bytearray(path.read_bytes()))
    with numpy.load(path.with_suffix(".npz")) as file:
        leaves = [file[name] for name in file.files]
    for one in exported.in_avals[len(leaves):]:
        real = numpy.issubdtype(one.dtype, numpy.floating)
        leaves.append(values(one.shape, one.dtype) if real else numpy.zeros(one.shape, one.dtype))
    given, _ = jax.tree_util.tree_unflatten(exported.in_tree, [jax.numpy.asarray(leaf) for leaf in leaves])
    begin = time.perf_counter()
    compiled = jax.jit(exported.call).lower(*given).compile()
    end = time.perf_counter()
    return lambda: jax.block_until_ready(compiled(*given)), end - start, end - begin


def torch_export(model, threads):
    """An export under torch.compile with its weights frozen, as Kiln has them, on the inputs that it was exported with."""
    # Two copies of OpenMP are loaded, PyTorch's and that of the code it compiles: spinning, their threads would keep each other waiting.
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    import torch
    import torch._inductor.config

    torch.set_num_threads(threads)
    torch._inductor.config.freezing = True
    start = time.perf_counter()
    program = torch.export.load(model)
    given, _ = program.example_inputs
    compiled = torch.compile(program.module())

    @torch.no_grad()
    def run():
        return compiled(*given)

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as cache:  # a compilation of its own, which nothing of another run shortens
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
        run()
    end = time.perf_counter()
    return run, end - start, end - begin


ENGINES = {"onnxruntime": onnx_runtime, "openvino": openvino, "iree": iree, "xla": xla, "jax": jax_export, "torch": torch_export}


def main():
    name, model, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        run, load, compiled = ENGINES[name](model, threads)
        run()
    except Exception as error:  # whatever a foreign engine throws, the row says so
        print(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:300])
        return 77
    print(f"ready {load:.6f} {resident()} {compiled:.6f}", flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        print(" ".join(f"{value:.9f}" for value in times), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
