#!/usr/bin/env python3
"""Writes small quantised decoders as onnxruntime-genai's model builder exports them, with ONNX Runtime's answers.

usage: make.py           (needs requirements.txt beside it)
A Llama of random weights goes through the builder for int4 on CPUs. Each becomes NAME/model.onnx with its data beside it, and
NAME/generation.npz: in each generation the prompt and then every step feeds the caches of the run before. Per generation G and run R
there are G.R.input_ids and G.R.attention_mask; G.R.logits, ONNX Runtime's answer with activations in f32, and G.R.logits_int8, its answer
to the model as it is (accuracy_level 4: it rounds activations to 8 bits); G.room, the length of the caches' buffers; and of the last
run, in f32, G.CACHE for each cache.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

HERE = pathlib.Path(__file__).parent
VOCABULARY, HEAD, KEY_HEADS, LAYERS = 96, 16, 2, 2
# The builder tells modules apart by their sizes: the vocabulary must be no other layer's width.
CONFIG = LlamaConfig(hidden_size=64, intermediate_size=80, num_hidden_layers=LAYERS, num_attention_heads=4, num_key_value_heads=KEY_HEADS,
                     vocab_size=VOCABULARY, max_position_embeddings=32, bos_token_id=1, eos_token_id=2, tie_word_embeddings=False,
                     initializer_range=0.2)
MODELS = {"llama_int4": [], "llama_int4_zero_points": ["--extra_options", "is_symmetric=false"]}
CACHES = [f"{layer}.{kind}" for layer in range(LAYERS) for kind in ("key", "value")]


def checkpoint(folder):
    torch.manual_seed(21)
    model = LlamaForCausalLM(CONFIG)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.uniform_(0.5, 1.5)
    model.save_pretrained(folder)
    words = Tokenizer(WordLevel({str(i): i for i in range(VOCABULARY)}, unk_token="0"))
    PreTrainedTokenizerFast(tokenizer_object=words, bos_token="1", eos_token="2").save_pretrained(folder)


def session_of(model, folder, f32):
    """Of the model as it is, or with activations in f32."""
    if f32:
        for node in model.graph.node:
            for attribute in node.attribute:
                if attribute.name == "accuracy_level":
                    attribute.i = 1
    path = folder / f"run{int(f32)}.onnx"
    onnx.save(model, path)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def generate(session, runs, room):
    """The outputs of each run by name; `runs` are (input_ids, attention_mask)."""
    batch = runs[0][0].shape[0]
    past = {cache: np.zeros((batch, KEY_HEADS, room, HEAD), np.float32) for cache in CACHES}
    names = [output.name for output in session.get_outputs()]
    for ids, mask in runs:
        feed = {"input_ids": ids, "attention_mask": mask, **{f"past_key_values.{cache}": value for cache, value in past.items()}}
        answer = dict(zip(names, session.run(None, feed)))
        past = {cache: answer[f"present.{cache}"] for cache in CACHES}
        yield answer


def generations():
    """Name -> (length of the buffers, [(input_ids, attention_mask)])."""
    draw = np.random.default_rng(21)

    def ids(batch, count):
        return draw.integers(3, VOCABULARY, (batch, count))

    def runs(prompt, lengths):
        total, made = lengths[0], [(prompt, np.ones((1, lengths[0]), np.int64))]
        for count in lengths[1:]:
            total += count
            made.append((ids(1, count), np.ones((1, total), np.int64)))
        return made

    # The second sample's prompt is one shorter: padded on the right, its next token stands in the padding's place.
    mask, padded = np.array([[1, 1, 1, 1], [1, 1, 1, 0]]), [(ids(2, 4), np.array([[1, 1, 1, 1], [1, 1, 1, 0]]))]
    for _ in range(3):
        mask = np.hstack([mask, np.ones((2, 1), np.int64)])
        padded.append((ids(2, 1), mask))
    return {"one": (16, runs(ids(1, 5), [5, 1, 1, 1, 3, 1])), "two": (20, padded)}


def keep(name, options, source, scratch):
    out = scratch / name
    subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", source, "-o", out, "-p", "int4", "-e", "cpu",
                    "-c", scratch / "cache", *options], check=True)
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    for file in ("model.onnx", "model.onnx.data"):
        shutil.copy(out / file, folder / file)
    as_it_is, exact = (session_of(onnx.load(out / "model.onnx"), scratch, f32) for f32 in (False, True))
    kept = {}
    for generation, (room, runs) in generations().items():
        kept[f"{generation}.room"] = np.array(room)
        answers = list(generate(exact, runs, room))
        for i, ((ids, mask), answer, rounded) in enumerate(zip(runs, answers, generate(as_it_is, runs, room))):
            kept |= {f"{generation}.{i}.input_ids": ids, f"{generation}.{i}.attention_mask": mask,
                     f"{generation}.{i}.logits": answer["logits"], f"{generation}.{i}.logits_int8": rounded["logits"]}
            print(name, generation, i, "largest", np.abs(answer["logits"]).max(), "rounding moves",
                  np.abs(answer["logits"] - rounded["logits"]).max())
        kept |= {f"{generation}.{cache}": answers[-1][f"present.{cache}"] for cache in CACHES}
    np.savez_compressed(folder / "generation.npz", **kept)


def main():
    with tempfile.TemporaryDirectory() as home:
        scratch = pathlib.Path(home)
        checkpoint(scratch / "checkpoint")
        for name, options in MODELS.items():
            keep(name, options, scratch / "checkpoint", scratch)


if __name__ == "__main__":
    main()
