#!/usr/bin/env python3
"""Writes the sample models' outputs over the test set as ONNX Runtime computes them: goldens that no code of ours made.

usage: golden.py           (needs requirements.txt beside it)
Writes digits_cnn_logits.npy [297,10] and digits_mlp_probability.npy [297,10], f32.
"""
import pathlib

import numpy as np
import onnxruntime

HERE = pathlib.Path(__file__).parent

cnn = onnxruntime.InferenceSession(HERE / "digits_cnn.onnx", providers=["CPUExecutionProvider"])
images = np.load(HERE / "digits_images.npy")
np.save(HERE / "digits_cnn_logits.npy", np.concatenate([cnn.run(None, {"image": image[None]})[0] for image in images]))

mlp = onnxruntime.InferenceSession(HERE / "digits_mlp.onnx", providers=["CPUExecutionProvider"])
np.save(HERE / "digits_mlp_probability.npy", mlp.run(None, {"pixels": np.load(HERE / "digits_pixels.npy")})[0])
