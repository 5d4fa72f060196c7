#!/usr/bin/env python3
"""Writes affine.jax_export: relu(x W + b) as jax.export has it, its weights arguments of the program.

usage: affine_export.py    (needs JAX 0.10.2; tests/bench/requirements-peers.txt has it)
The weights are those of affine.safetensors; the program is that of affine.mlir.
"""
import pathlib

import jax
import jax.numpy as jnp
from jax import export


def affine(params, x):
    return {"y": jax.nn.relu(x @ params["w"] + params["b"])}


if __name__ == "__main__":
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no path of this machine in the export
    params = {"w": jax.ShapeDtypeStruct((4, 3), jnp.float32), "b": jax.ShapeDtypeStruct((3,), jnp.float32)}
    made = export.export(jax.jit(affine))(params, jax.ShapeDtypeStruct((2, 4), jnp.float32))
    pathlib.Path(__file__).with_name("affine.jax_export").write_bytes(made.serialize())
