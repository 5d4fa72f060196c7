"""The pieces of a whole run: what each one runs, what it takes, and which sources it is about.

A piece is one command that ends with 0 (passed), 77 (skipped: something is missing here, and it said what) or
anything else (failed). Pieces do not depend on each other, so that they may run in any order, on any machine.
"""
import dataclasses
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mutation"))

import mutants  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Piece:
    name: str
    command: tuple   # run in ROOT
    seconds: int     # on two cores with a warm compiler cache; shares are made by it, and --within uses the ledger's own figures
    sources: tuple   # paths in the repository, files or folders that end in "/"; it is touched when one of them changes
    test: str = ""   # the one CTest test that it is; CTest ends with 0 also when that test skipped itself

    def is_touched(self, changed):
        return any(path == one or one.endswith("/") and path.startswith(one) for path in changed for one in self.sources)


SETUP = ("infra/setup",)  # once before the pieces of a run

COMPILER = ("compiler_core/",)
FARM = ("api/", "coordinator/", "worker/", "storage/", "signing/", "manifest/", "infra/up", "infra/lib/")

# Tests that CTest labels `full`: (name, seconds, sources). pieces_test.py holds this against CTest's own list.
LABELLED = (
    ("documents", 120, ("README.md", "api/guides/", "api/cli/", "tests/infra/documents_test.py", "tests/infra/pages.py")),
    ("driver/large_gibibytes", 600, ("compiler_core/driver/", "compiler_core/frontend/", "compiler_core/package/")),
    ("tuner/device_search_all", 900, ("compiler_core/tuner/", "compiler_core/schedule/")),
    ("models/light", 1200, COMPILER),
    ("gpu_artifacts", 900, ("compiler_core/schedule/", "compiler_core/codegen/")),
    ("tuned_artifacts", 900, ("compiler_core/tuner/",)),
    ("toolchain_twice", 7200, ("infra/toolchain/", "infra/cmake/")),
    ("stock_verifiers_all", 1500, ("signing/", "tests/interop/")),
    ("mirror_killed_often", 240, ("api/mirror/", "api/pull/", "storage/blob/", "tests/infra/mirror_test.py")),
    ("crane_fetches", 120, ("api/gateway/", "tests/interop/")),
    ("push_to_a_registry", 900, ("api/registry/", "api/client/", "manifest/artifact/", "tests/interop/")),
    ("s3_servers_all", 900, ("storage/s3/", "storage/blob/", "tests/storage/s3/", "tests/support/", "tests/interop/")),
    ("coordinators_at_random", 600, ("coordinator/", "infra/up", "infra/lib/", "tests/infra/coordinators_test.py")),
    *((name, 600, ("storage/s3/", "storage/direct/", "storage/blob/", "storage/farm_store/", "infra/up", "infra/lib/", "tests/interop/"))
      for name in ("s3_farm", "s3_farm_versitygw")),
    ("rolling_upgrade", 600, ("coordinator/", "storage/index/", "tests/infra/upgrade_test.py")),
    *((name, seconds, (*FARM, "tests/support/patroni.py", "tests/interop/bucket.py", "tests/infra/beyond_one_machine_test.py"))
      for name, seconds in (("beyond_one_machine", 900), ("beyond_one_machine_light", 3600))),
    ("patroni_failover", 900, ("storage/postgres/", "tests/support/patroni.py", "tests/infra/patroni_test.py")),
    *((name, seconds, (*FARM, "tests/interop/"))
      for name, seconds in (("reapi_clients", 600), ("reapi_bazel", 900), ("reapi_cluster", 900), ("reapi_cluster_light", 3600))),
    ("reapi_tokens", 900, (*FARM, "tests/interop/", "infra/deploy/tokens.nginx.conf")),
    ("reapi_artifact", 600, (*FARM, *COMPILER, "infra/ci/", "infra/toolchain/", "tests/interop/")),
    ("debian_installed", 600, ("infra/packages", "infra/debian/", "infra/deploy/systemd/", "api/node/package/", "tests/deploy/",
                               "api/guides/install_packages.md")),
    ("arm64", 1500, ("infra/cross/", "infra/wheel", "infra/packages", "infra/debian/", "api/node/", "api/python/", "compiler_core/runtime/",
                     "tests/deploy/arm64_test.py")),
    ("deploy_cluster", 3600, ("infra/deploy/kubernetes/", "tests/deploy/")),
    *((f"runbook_{name}", 600, ("infra/deploy/runbooks/",))
      for name in ("add_a_gpu_pool", "lose_a_region", "lose_the_log_key", "restore", "rotate", "upgrade")),
    ("conformance/random_graphs_all", 1800, COMPILER),
    ("conformance/onnx_backend_all", 1800, COMPILER),
    ("conformance/contrib_all", 600, COMPILER),
    ("conformance/onnx_dynamic_all", 1200, COMPILER),
    ("conformance/stablehlo_all", 300, COMPILER),
    ("conformance/stablehlo_all_compiled", 1800, COMPILER),
    ("conformance/jax_models_all", 300, COMPILER),
    ("conformance/stablehlo_random_all", 1200, COMPILER),
    ("conformance/dialects_all_compiled", 900, COMPILER),
    ("conformance/torch_models_all", 1800, COMPILER),
    ("conformance/device_all", 1800, COMPILER),
    ("conformance/vulkan_all", 1200, COMPILER),
    ("conformance/emulated_all", 1800, COMPILER),
    ("determinism/samples_all_gpus", 600, COMPILER),
    ("determinism/samples_all_targets", 600, COMPILER),
    ("determinism/tuned_all_targets", 600, COMPILER),
    ("determinism/reassociated_all_targets", 600, COMPILER),
    ("determinism/light_all_targets", 1200, COMPILER),
    ("determinism/light_emulated", 900, COMPILER),
)

# Debian's LLVM archives are not instrumented: what their headers poison or resize here, they would touch there.
ASAN = ("export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0 "
        f"LSAN_OPTIONS=suppressions={ROOT}/tests/sanitizers/leaks.supp; ")


def ctest(preset, *options):
    return f"ctest --test-dir build/{preset} --output-on-failure --no-tests=error {' '.join(options)}"


def shell(*steps):
    return ("bash", "-euo", "pipefail", "-c", "; ".join(steps))


def release(*options):
    return shell("infra/build release", ctest("release", *options))


def fuzz(target, seconds, sources):
    return Piece(f"fuzz/{target}", shell(f"infra/build release fuzz_{target}", f"tests/fuzz/run {target} {seconds}"), seconds + 300, sources)


def mutation(module):
    sources = sorted({mutant.file for mutant in module.mutants}) + [f"tests/mutation/lists/{module.name}.list"]
    # The first of them builds the tree with the mutants.
    return Piece(f"mutation/{module.name}", ("tests/mutation/run.py", module.name), 2400 + 12 * len(module.mutants), tuple(sources))


def pieces():
    """Every piece, in the order in which a run without arguments takes them."""
    everything = COMPILER + FARM + ("tests/",)
    out = [Piece("tests", release("-j", "2", "-LE", "full"), 1400, everything)]
    out += [Piece(name, release("-R", f"'^{name}$'"), seconds, sources, name) for name, seconds, sources in LABELLED]
    out += [fuzz("onnx_import", 600, ("compiler_core/frontend/",)),
            *(fuzz(name, 300, ("compiler_core/frontend/archive/", "compiler_core/frontend/parameters/", "compiler_core/runtime/npy/"))
              for name in ("safetensors", "npz", "gguf")),
            fuzz("stablehlo_bytecode", 300, ("compiler_core/frontend/stablehlo/",)),
            fuzz("stablehlo_text", 600, ("compiler_core/frontend/stablehlo/",)),
            fuzz("artifact", 600, ("compiler_core/package/", "compiler_core/runtime/"))]
    out += [mutation(module) for module in mutants.read_lists(ROOT / "tests" / "mutation" / "lists")]
    out += [Piece("asan-ubsan", shell("infra/build asan-ubsan", ASAN + ctest("asan-ubsan", "-j", "2", "-LE", "'slow|nosan|full'")), 5400, everything),
            Piece("tsan", shell("infra/build tsan tsan-tests", ctest("tsan", "-j", "2", "-L", "tsan")), 2400, everything),
            Piece("gcc", shell("infra/build gcc"), 3600, everything)]
    return out
