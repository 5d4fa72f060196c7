"""A user's code as a type checker sees it."""
import asyncio

import kiln


def digest_of(path: str) -> str:
    verdict: kiln.Verdict = kiln.fetch("sha256:" + 64 * "0", path, endpoint="https://mirror.example.org")
    with kiln.load(verdict.directory, threads=1) as model:
        results = model.run({"x": kiln.empty((1, 4))}, out=None)
        asyncio.run(model.run_async({"x": bytearray(16)}))
        first: kiln.TensorInfo = model.inputs[0]
        print(first.name, model.counters.runs + 1, results["y"])
    return verdict.digest


def targets(farm: kiln.Farm) -> list[str]:
    try:
        job = farm.build("model.onnx", targets=["cpu:x86-64-v3"], profiles=["N=1:4:16"])
    except kiln.Error as error:
        raise SystemExit(error.exit_code) from error
    return [one.target for one in job.artifacts] + [one.statement for one in farm.affected(toolchain="label")]
