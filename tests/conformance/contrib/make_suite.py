#!/usr/bin/env python3
"""Cases of com.microsoft's operators with ONNX Runtime's answers, laid out like the ONNX backend suite's.

usage: make_suite.py FOLDER [--only TEXT]   (needs requirements.txt beside it)
Writes FOLDER/node/<case>/{model.onnx,data.json,test_data_set_0}. What ONNX Runtime does not run is named and fails.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import attention
import quantised
import transformer
from case import Fixed


def model_of(case, results):
    """`results`: the answers, for the outputs' types, or None."""
    inputs, names, held = [], [], []
    for i, value in enumerate(case.inputs):
        if value is None:
            names.append("")
            continue
        names.append(f"x{i}")
        if isinstance(value, Fixed):
            held.append(numpy_helper.from_array(value.array, names[-1]))
        else:
            inputs.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    while names and not names[-1]:
        names.pop()
    wanted = [o for o in case.outputs if o]
    outputs = [onnx.ValueInfoProto(name=name) for name in wanted] if results is None else [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(result.dtype), result.shape)
        for name, result in zip(wanted, results)]
    node = helper.make_node(case.operator, names, case.outputs, name="node", domain=case.domain, **case.attributes)
    graph = helper.make_graph([node], case.folder, inputs, outputs, held)
    sets = [helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def answers(case):
    if case.answer:
        return case.answer(answers)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model_of(case, None).SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {f"x{i}": v for i, v in enumerate(case.inputs) if isinstance(v, np.ndarray)}
    return session.run(None, feeds)


def write(case, results, folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model_of(case, results).SerializeToString())
    (folder / "data.json").write_text(json.dumps({"rtol": case.relative, "atol": case.absolute}) + "\n")
    given = [(f"x{i}", v) for i, v in enumerate(case.inputs) if isinstance(v, np.ndarray)]
    for kind, tensors in (("input", given), ("output", zip([o for o in case.outputs if o], results))):
        for i, (name, array) in enumerate(tensors):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def main(arguments):
    root, only = pathlib.Path(arguments[0]), arguments[2] if arguments[1:2] == ["--only"] else ""
    made, failed = 0, 0
    for case in [c for family in (transformer, attention, quantised) for c in family.cases()]:
        if only not in case.folder:
            continue
        try:
            results = answers(case)
        except Exception as error:  # what ONNX Runtime raises has no common type
            failed += 1
            print(f"{case.folder}: {str(error).strip().splitlines()[-1][:300]}")
            continue
        write(case, results, root / "node" / case.folder)
        made += 1
    print(f"{made} cases with the answers of ONNX Runtime {onnxruntime.__version__}, {failed} without")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
