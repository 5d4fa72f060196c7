#!/usr/bin/env python3
"""Writes pipelines of scikit-learn, XGBoost and LightGBM as their exporters write them, with ONNX Runtime's answers.

usage: make.py           (needs requirements.txt beside it)
Each becomes a case of onnx_backend: NAME/model.onnx, and tensors below NAME/test_data_set_0. Before it is kept, ONNX Runtime's
answers are held against the framework's own. A sequence of maps (ZipMap) is kept as the tensor of its values.
"""
import pathlib
import warnings

import lightgbm
import numpy as np
import onnx
import onnxruntime
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, Normalizer, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).parent
OPSETS = {"": 18, "ai.onnx.ml": 3}
FLOWERS = load_iris(return_X_y=True)
CELLS = load_breast_cancer(return_X_y=True)
PATIENTS = load_diabetes(return_X_y=True)
CODES = np.array([[1, 20], [3, 20], [5, 70], [1, 70]])


def rows(features, count=12):
    return features[:: max(1, len(features) // count)][:count]


def plain(answer):
    """Maps by label as a tensor, columns in the order of the labels."""
    if not isinstance(answer, list):
        return np.asarray(answer)
    return np.array([[row[label] for label in sorted(row)] for row in answer], dtype=np.float32)


def keep(name, model, x, expected):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    answers = [plain(answer) for answer in session.run(None, {session.get_inputs()[0].name: x})]
    for answer, own in zip(answers, expected):
        np.testing.assert_allclose(answer.reshape(np.shape(own)), own, rtol=2e-4, atol=2e-5, err_msg=name)
    folder = HERE / name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (data / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(x).SerializeToString())
    for i, answer in enumerate(answers):
        (data / f"output_{i}.pb").write_bytes(onnx.numpy_helper.from_array(answer).SerializeToString())
    print(name, sorted({node.op_type for node in model.graph.node}), (folder / "model.onnx").stat().st_size)


def answers_of(model, x):
    if hasattr(model, "predict_proba"):
        return [model.predict(x), model.predict_proba(x)]
    return [model.predict(x)] if hasattr(model, "predict") else [model.transform(x)]


def scikit(name, model, x, zipmap=False, expected=None, **options):
    x = np.ascontiguousarray(x)
    if hasattr(model, "predict_proba"):
        options["zipmap"] = zipmap
    exported = to_onnx(model, x[:1], options={id(model): options} if options else None, target_opset=OPSETS)
    own = answers_of(model, x) if expected is None else expected
    keep(name, exported, x, [answer.toarray() if hasattr(answer, "toarray") else answer for answer in own])


def boosted(name, convert, model, x, missing=True, **options):
    x = x.astype(np.float32)
    if missing:
        x[1::3, ::2] = np.nan
    exported = convert(model, initial_types=[("X", FloatTensorType([None, x.shape[1]]))], target_opset=15, **options)
    keep(name, exported, x, answers_of(model, x))


def trees():
    flowers, cells, patients = (rows(data[0]).astype(np.float32) for data in (FLOWERS, CELLS, PATIENTS))
    few = dict(n_estimators=4, max_depth=3, random_state=0)
    scikit("forest_three_classes_zipmap", RandomForestClassifier(**few).fit(*FLOWERS), flowers, zipmap=True)
    scikit("forest_two_classes", RandomForestClassifier(**few).fit(*CELLS), cells)
    scikit("forest_regressor", RandomForestRegressor(**few).fit(*PATIENTS), patients)
    scikit("forest_two_targets", RandomForestRegressor(**few).fit(PATIENTS[0], PATIENTS[0][:, :2]), patients)
    scikit("tree", DecisionTreeClassifier(max_depth=5, random_state=0).fit(*FLOWERS), flowers)
    scikit("boosting_three_classes", GradientBoostingClassifier(**few).fit(*FLOWERS), flowers)
    scikit("boosting_two_classes", GradientBoostingClassifier(**few).fit(*CELLS), cells)
    isolation = IsolationForest(n_estimators=3, max_samples=32, random_state=0).fit(FLOWERS[0])
    scikit("isolation_forest", isolation, flowers, expected=[isolation.predict(flowers)])
    few = dict(n_estimators=4, max_depth=3)
    boosted("xgboost_two_classes", convert_xgboost, xgboost.XGBClassifier(**few).fit(*CELLS), cells)
    boosted("xgboost_three_classes", convert_xgboost, xgboost.XGBClassifier(**few).fit(*FLOWERS), flowers)
    boosted("xgboost_regressor", convert_xgboost, xgboost.XGBRegressor(**few).fit(*PATIENTS), patients)
    few["verbose"] = -1
    boosted("lightgbm_two_classes_zipmap", convert_lightgbm, lightgbm.LGBMClassifier(**few).fit(*CELLS), cells)
    boosted("lightgbm_three_classes", convert_lightgbm, lightgbm.LGBMClassifier(**few).fit(*FLOWERS), flowers, zipmap=False)
    boosted("lightgbm_regressor", convert_lightgbm, lightgbm.LGBMRegressor(**few).fit(*PATIENTS), patients)


def others():
    flowers, cells, patients = (rows(data[0]).astype(np.float32) for data in (FLOWERS, CELLS, PATIENTS))
    gaps = flowers.copy()
    gaps[1::3, ::2] = np.nan
    scikit("imputed_scaled_logistic", make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(*FLOWERS), gaps)
    scikit("logistic_two_classes", make_pipeline(StandardScaler(), LogisticRegression()).fit(*CELLS), cells)
    scikit("normalized_regression", make_pipeline(RobustScaler(), Normalizer(), LinearRegression()).fit(*PATIENTS), patients)
    scikit("binarized", Binarizer(threshold=0.01).fit(PATIENTS[0]), patients)
    scikit("one_hot", OneHotEncoder(handle_unknown="ignore").fit(CODES), np.vstack([CODES, [[9, 20]]]))
    scikit("ordinal", OrdinalEncoder().fit(CODES), CODES)
    scikit("neighbours", KNeighborsClassifier(3).fit(FLOWERS[0][::5], FLOWERS[1][::5]), flowers)
    small = CELLS[0][::8, :6], CELLS[1][::8]
    for kernel in ["rbf", "poly", "sigmoid", "linear"]:
        scikit(f"svc_{kernel}", make_pipeline(StandardScaler(), SVC(kernel=kernel, probability=True, random_state=0)).fit(*small),
               cells[:, :6])
    scikit("svc_three_classes", make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)).fit(*FLOWERS), flowers)
    scores = make_pipeline(StandardScaler(), SVC()).fit(*FLOWERS)
    scikit("svc_decisions", scores, flowers, expected=[scores.predict(flowers), scores.decision_function(flowers)])
    scikit("svr", make_pipeline(StandardScaler(), SVR()).fit(PATIENTS[0][::6], PATIENTS[1][::6]), patients)


if __name__ == "__main__":
    trees()
    others()
