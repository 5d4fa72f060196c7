"""What several benchmarks of a farm share."""
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def seconds(command, **options):
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, **options)
    return time.perf_counter() - start


def asked(farm, query):
    """What the farm's own PostgreSQL answers."""
    conninfo = subprocess.run([ROOT / "infra" / "postgres", "status", farm.dir / "pg"], check=True, capture_output=True,
                              text=True).stdout.splitlines()[-1]
    return subprocess.run(["psql", conninfo, "-Atc", query], check=True, capture_output=True, text=True).stdout


def write_weights(path, mib):
    """A product with as many MiB of random weights, in a file beside it."""
    import numpy
    import onnx
    from onnx import TensorProto, helper
    columns = (mib << 20) // 4 // 4096
    weights = onnx.TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4096, columns],
                               data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", str(4096 * columns * 4))):
        weights.external_data.add(key=key, value=value)
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "weights", [value("x", [1, 4096])],
                              [value("y", [1, columns])], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    with open(path.with_name("weights.bin"), "wb") as out:
        for _ in range(16):
            numpy.random.default_rng(1).random(4096 * columns // 16, numpy.float32).tofile(out)
