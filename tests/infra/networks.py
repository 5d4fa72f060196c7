"""The networks that whole-farm runs build, as they come to a user: samples, blocks of our own, the light ones of the ONNX data."""
import sys

from farm import MODELS

sys.path.insert(0, str(MODELS))


class Failure(Exception):
    pass


class Skipped(Exception):
    """What this machine lacks."""


def check(condition, what):
    if not condition:
        raise Failure(what)


def done(result):
    check(result.returncode == 0, f"{' '.join(map(str, result.args[:3]))}: exit {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result


def networks(directory, names, blocks_wanted, light_wanted, suite):
    """(name, model, options of kiln build) of each network. Models of blocks.py and the light ones, with seeded random weights, are
    written to `directory`; `names`: parts of the names wanted, None for all."""
    try:
        import blocks
        import light
    except ImportError as missing:
        raise Skipped(f"{missing} (infra/setup installs the Python tools of the tests)")
    wanted = lambda name: any(part in name for part in names or [name])
    found = [one for one in [("digits_cnn", MODELS / "digits_cnn.onnx", []),
                             ("digits_mlp", MODELS / "digits_mlp.onnx", ["--profile", "N=1:8:64"])] if wanted(one[0])]
    for name in filter(wanted, blocks_wanted):
        path = directory / f"{name}.onnx"
        path.write_bytes(blocks.MODELS[name]())
        found.append((name, path, []))
    if light_wanted:
        unpacked = light.unpacked(suite, directory)
        if not unpacked:
            raise Skipped("set KILN_ONNX_SUITE to the unpacked ONNX backend test data (a folder with light/)")
        for path in sorted((unpacked / "light").glob("*.onnx")):
            if wanted(path.stem):
                model = directory / f"{path.stem}.onnx"
                model.write_bytes(light.with_random_weights(path, 1).bytes())
                found.append((path.stem, model, []))
    return found
