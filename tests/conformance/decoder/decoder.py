#!/usr/bin/env python3
"""Quantised decoders with a cache of keys and values, compiled once, generating beside ONNX Runtime.

usage: decoder.py BIN      BIN: the folder of kiln-cc and run_artifact
One artifact takes the prompts and all steps of all generations, each run on the caches that the run before gave. Caches that grow
with every run, which need an artifact for the prompt and one for a step, have to give the same. Ends with
`N passed, M failed, 0 skipped`. Exits 77 where numpy is not there.
"""
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
try:
    import numpy

    from compiled import Compiler, Failure, check
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TARGET, HEAD, KEY_HEADS = "cpu:x86-64-v3", 16, 2
# The caches lie in buffers that have room for every token, so no total is longer than a past: so the exporter's own runtime keeps them
# (past_present_share_buffer), and so one artifact serves prompt and steps.
PROFILE = ["batch_size=1:1:2", "sequence_length=1:1:8", "past_sequence_length=16:16:24", "total_sequence_length=1:8:16",
           "kv_cache_dim=16"]
# Caches without room to spare: the prompt stands on empty ones, and whether a past has room for what is new has to show before a run.
GROWING = [["batch_size=1", "sequence_length=1:5:8", "past_sequence_length=0", "total_sequence_length=1:5:8", "kv_cache_dim=16"],
           ["batch_size=1", "sequence_length=1", "past_sequence_length=5", "total_sequence_length=6", "kv_cache_dim=16"]]
# Of the largest logit: how far ONNX Runtime's rounding of activations to 8 bits (accuracy_level 4) may move one. Kiln rounds none.
ROUNDING = 0.05


def near(name, got, wanted, absolute):
    off = numpy.abs(got - wanted)
    check((off <= absolute + 1e-4 * numpy.abs(wanted)).all(), f"{name}: {off.max()} from ONNX Runtime's answer")


class Decoder:
    def __init__(self, compiler, artifact):
        self.compiler, self.artifact = compiler, artifact
        self.program = json.loads((artifact / "manifest.json").read_text())["program"]
        names = [tensor["name"] for tensor in self.program["outputs"]]
        self.caches = [name.removeprefix("present.") for name in names if name != "logits"]

    def empty(self, batch, room):
        return {cache: numpy.zeros((batch, KEY_HEADS, room, HEAD), "f4") for cache in self.caches}

    def run(self, ids, mask, past):
        """The logits and the caches that result."""
        given = {"input_ids": ids, "attention_mask": mask, **{f"past_key_values.{cache}": value for cache, value in past.items()}}
        results, _ = self.compiler.run(self.artifact, [given[tensor["name"]] for tensor in self.program["inputs"]], [1, 2])
        made = {tensor["name"]: numpy.frombuffer(data, "f4") for data, tensor in zip(results, self.program["outputs"])}
        present = {cache: made[f"present.{cache}"].reshape(*value.shape[:2], -1, HEAD) for cache, value in past.items()}
        return made["logits"].reshape(*ids.shape, -1), present


def step(decoder, answers, run, past):
    """The run `run` on the caches `past`, its logits compared; returns the caches that result."""
    mask = answers[f"{run}.attention_mask"]
    logits, present = decoder.run(answers[f"{run}.input_ids"], mask, past)
    exact, rounded = answers[f"{run}.logits"], answers[f"{run}.logits_int8"]
    # What stands at a padded token is nobody's.
    real = mask[:, -logits.shape[1]:] == 1
    near(f"{run} logits", logits[real], exact[real], 1e-4)
    near(f"{run} logits beside rounded activations", logits[real], rounded[real], ROUNDING * numpy.abs(rounded).max())
    return present


def generate(decoder, answers, name):
    """Prompt and steps of one generation; returns their number."""
    batch, room = len(answers[f"{name}.0.input_ids"]), int(answers[f"{name}.room"])
    past, count = decoder.empty(batch, room), 0
    while f"{name}.{count}.input_ids" in answers.files:
        past = step(decoder, answers, f"{name}.{count}", past)
        count += 1
    for cache, value in past.items():
        near(f"{name} {cache}", value, answers[f"{name}.{cache}"], 1e-4)
    return count


def compare(compiler, folder, home):
    compiler.compile(folder / "model.onnx", TARGET, home / "out", profiles=PROFILE)
    answers, decoder = numpy.load(folder / "generation.npz"), Decoder(compiler, home / "out")
    names = sorted({name.split(".")[0] for name in answers.files})
    counts = [generate(decoder, answers, name) for name in names]
    check(len(counts) == 2 and min(counts) >= 4, f"too few runs: {dict(zip(names, counts))}")
    past = decoder.empty(1, 0)
    for i, profile in enumerate(GROWING):
        compiler.compile(folder / "model.onnx", TARGET, home / f"growing{i}", profiles=profile)
        past = step(Decoder(compiler, home / f"growing{i}"), answers, f"one.{i}", past)
        check({value.shape[2] for value in past.values()} == {5 + i}, "the caches have not grown by what is new")
    return sum(counts) + len(GROWING)


def main(bin_folder):
    compiler, passed, failed = Compiler(bin_folder), 0, 0
    for folder in sorted(path.parent for path in HERE.glob("*/model.onnx")):
        with tempfile.TemporaryDirectory() as home:
            try:
                print(f"ok   {folder.name}: {compare(compiler, folder, pathlib.Path(home))} runs", flush=True)
                passed += 1
            except Failure as failure:
                failed += 1
                print(f"FAIL {folder.name}: {failure}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
