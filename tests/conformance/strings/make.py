#!/usr/bin/env python3
"""Writes pipelines of scikit-learn with strings at their edges, as skl2onnx exports them, with ONNX Runtime's answers.

usage: make.py           (needs ../pipelines/requirements.txt)
Each case is NAME/model.onnx and NAME/case.json: {"dims": [NAME, ...], "inputs": {NAME: [[...], ...]}, "outputs": {NAME: [...]}}, the
dimensions all as long as the first input. Before it is kept, ONNX Runtime's answers are held against scikit-learn's own.
"""
import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

HERE = pathlib.Path(__file__).parent
OPSETS = {"": 18, "ai.onnx.ml": 3}
COLOURS = ["red", "green", "blue", "Zürich blue", ""]
SIZES = ["S", "M", "XL"]


def table(rows=40):
    generator = np.random.default_rng(7)
    colours = np.array(COLOURS, dtype=object)[generator.integers(0, len(COLOURS), rows)]
    sizes = np.array(SIZES, dtype=object)[generator.integers(0, len(SIZES), rows)]
    weight = generator.normal(size=(rows, 2)).astype(np.float32)
    label = np.where((colours == "red") | (weight[:, 0] > 0.5), "buy", np.where(sizes == "XL", "hold", "sell"))
    return colours, sizes, weight, label


def dims_of(model):
    """What profiles call the dimensions that the model leaves open."""
    return sorted({dim.dim_param or f"{value.name}.{i}" for value in model.graph.input
                   for i, dim in enumerate(value.type.tensor_type.shape.dim) if not dim.HasField("dim_value")})


def keep(name, model, inputs, expected):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    answers = dict(zip(names, session.run(None, inputs)))
    for output, own in expected.items():
        if np.asarray(own).dtype.kind in "OU":
            assert (answers[output].ravel() == np.asarray(own).ravel()).all(), name
        else:
            np.testing.assert_allclose(np.asarray(answers[output]).reshape(np.shape(own)), own, rtol=2e-4, atol=2e-5, err_msg=name)
    folder = HERE / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    case = {"dims": dims_of(model), "inputs": {key: np.asarray(value).tolist() for key, value in inputs.items()},
            "outputs": {key: np.asarray(value).tolist() for key, value in answers.items()}}
    (folder / "case.json").write_text(json.dumps(case, ensure_ascii=False, sort_keys=True) + "\n")
    print(name, sorted({node.op_type for node in model.graph.node}), (folder / "model.onnx").stat().st_size)


def exported(model, types, **options):
    return to_onnx(model, initial_types=types, options={id(model): options} if options else None, target_opset=OPSETS)


def pipelines():
    colours, sizes, weight, label = table()
    texts = [("colour", StringTensorType([None, 1]))]
    column = colours.reshape(-1, 1)
    unseen = np.vstack([column[:6], [["never seen"]]])
    hot = OneHotEncoder(handle_unknown="ignore").fit(column)
    model = exported(hot, texts)
    keep("one_hot_of_texts", model, {"colour": unseen}, {model.graph.output[0].name: hot.transform(unseen).toarray()})
    ordinal = OrdinalEncoder().fit(column)
    model = exported(ordinal, texts)
    keep("ordinal_of_texts", model, {"colour": column[:8]}, {model.graph.output[0].name: ordinal.transform(column[:8])})

    reals = [("X", FloatTensorType([None, 2]))]
    for name, classifier in (("logistic_labels", LogisticRegression()), ("tree_labels", DecisionTreeClassifier(max_depth=4, random_state=0)),
                             ("svc_labels", SVC(random_state=0))):
        classifier.fit(weight, label)
        model = exported(classifier, reals, zipmap=False)
        keep(name, model, {"X": weight[:10]}, {model.graph.output[0].name: classifier.predict(weight[:10])})

    whole = make_pipeline(
        ColumnTransformer([("text", OneHotEncoder(handle_unknown="ignore"), [0, 1]), ("number", StandardScaler(), [2, 3])]),
        LogisticRegression(max_iter=500))
    frame = np.column_stack([colours, sizes, weight.astype(object)])
    whole.fit(frame, label)
    types = [("colour", StringTensorType([None, 1])), ("size", StringTensorType([None, 1])), ("a", FloatTensorType([None, 1])),
             ("b", FloatTensorType([None, 1]))]
    model = to_onnx(whole, initial_types=types, options={id(whole): {"zipmap": False}}, target_opset=OPSETS)
    few = frame[:12]
    inputs = {"colour": few[:, :1], "size": few[:, 1:2], "a": few[:, 2:3].astype(np.float32), "b": few[:, 3:].astype(np.float32)}
    keep("table_of_texts_and_numbers", model, inputs,
         {model.graph.output[0].name: whole.predict(few), model.graph.output[1].name: whole.predict_proba(few)})

    encoder = LabelEncoder().fit(label)
    model = exported(encoder, [("label", StringTensorType([None]))])
    keep("label_encoder", model, {"label": label[:9].astype(object)}, {model.graph.output[0].name: encoder.transform(label[:9])})


def names_of_numbers():
    """What detection networks end in: the names of classes by their number."""
    names = np.array(["person", "car", "traffic light"], dtype=object)
    graph = helper.make_graph(
        [helper.make_node("ArgMax", ["scores"], ["best"], axis=1, keepdims=0), helper.make_node("Gather", ["names", "best"], ["name"]),
         helper.make_node("Equal", ["name", "wanted"], ["found"])],
        "names", [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 3]),
                  helper.make_tensor_value_info("wanted", TensorProto.STRING, [1])],
        [helper.make_tensor_value_info("name", TensorProto.STRING, ["N"]), helper.make_tensor_value_info("found", TensorProto.BOOL, ["N"])],
        [helper.make_tensor("names", TensorProto.STRING, [3], [name.encode() for name in names])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.checker.check_model(model)
    scores = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    keep("names_of_classes", model, {"scores": scores, "wanted": np.array(["car"], dtype=object)}, {"name": names[scores.argmax(1)]})


if __name__ == "__main__":
    pipelines()
    names_of_numbers()
