#!/usr/bin/env python3
"""Checks the golden documents against the JSON Schemas, and that the schemas refuse damage.

usage: schema_check.py ROOT
Exit 77 (skipped) if Python's jsonschema is not installed.
"""
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource
except ImportError:
    print("skipped: Python's jsonschema is not installed (pip install jsonschema)")
    sys.exit(77)

# golden document -> schema
DOCUMENTS = {
    "access.json": "access",
    "backup.json": "backup",
    "check.json": "check",
    "compile.json": "compile",
    "compile-abi2.json": "compile",
    "compile-abi3.json": "compile",
    "compile-spec.json": "compile-spec",
    "compile-spec-multiple.json": "compile-spec",
    "compile-spec-parameters.json": "compile-spec",
    "compile-spec-partition.json": "compile-spec",
    "delivery-spec.json": "delivery-spec",
    "delivery-spec-defaults.json": "delivery-spec",
    "delivery-spec-ir.json": "delivery-spec",
    "delivery-spec-tuning.json": "delivery-spec",
    "evidence.json": "evidence",
    "evidence-abi2.json": "evidence",
    "evidence-abi3.json": "evidence",
    "fixtures.json": "fixtures",
    "image.json": "image",
    "ir.json": "ir",
    "kernel-plan.json": "kernel-plan",
    "manifest.json": "manifest",
    "manifest-abi2.json": "manifest",
    "manifest-abi3.json": "manifest",
    "manifest-indices.json": "manifest",
    "manifest-strings.json": "manifest",
    "provenance.json": "provenance",
    "quotas.json": "quotas",
    "receipt.json": "receipt",
    "reproduction.json": "reproduction",
    "root.json": "root",
    "root-full.json": "root",
    "policy.json": "policy",
    "policy-devices.json": "policy",
    "policy-full.json": "policy",
    "recall.json": "recall",
    "recall-log.json": "recall-log",
    "recalls.json": "recalls",
    "tombstone.json": "tombstone",
    "vsa.json": "vsa",
    "vsa-failed.json": "vsa",
    "toolchain-admission.json": "toolchain-admission",
    "toolchain-admission-instance.json": "toolchain-admission",
    "toolchain-lock.json": "toolchain-lock",
    "tune.json": "tune",
    "tuning-catalogue.json": "tuning-catalogue",
    "tuning-entries.json": "tuning-entries",
    "tuning-record.json": "tuning-record",
}

# Members that a document may lack.
OPTIONAL = [["partition"], ["parameters"], ["profiles", 0, "dims", 0, "multiple"], ["lock"], ["instance"], ["rootKeys"], ["recallKeys"], ["logs"], ["witnesses"], ["revocations"],
            ["revocations", 0, "logs"], ["since"], ["until"],
            *([name] for name in ("requireCheck", "signers", "minToolchainVersion", "maxFallbackPermille",
                                  "partitionTargets", "checks", "refuseEmulated", "checkDevices", "statements", "requireLog",
                                  "minWitnesses", "maxAgeSeconds", "maxRecallAgeSeconds")),
            *(["checks", 0, name] for name in ("name", "maxAbsolute", "maxRelative", "minAccuracy")),
            *(["report", "items", 0, *path] for path in (["measured"], ["measured", "maxAbsolute"], ["measured", "maxRelative"])),
            ["buildDefinition", "externalParameters", "toolchainLabel"],
            *(["buildDefinition", "internalParameters", name] for name in ("action", "sandboxPolicy")),
            ["buildDefinition", "resolvedDependencies", 1, "uri"], ["runDetails", "builder", "version", "kiln"],
            *(["runDetails", "byproducts", i, "annotations", name] for i in (0, 1) for name in ("worker", "operator")),
            *([list_, i, *path, "schedule", "tile"] for i in range(2) for list_, path in
              (("kernels", []), ("entries", []), *(("kernels", ["candidates", j]) for j in range(4)))),
            *(["kernels", i, "knobs", "tile"] for i in range(2)), ["tuning"], ["tuning", "budgetSeconds"], ["keepIr"],
            ["tokenIssuers", 1, "discovery", "loopbackHttp"], ["grants", 4, "name"],
            *(["grants", 4, "token", "claims", name] for name in ("repository_owner_id", "ref")),
            ["default"], ["instances"], ["instances", "team-a"], ["instances", "team-b"],
            *([*where, name] for where in (["default"], ["instances", "team-a"], ["instances", "team-b"]) for name in
              ("weight", "queued", "running", "storedBytes", "uploadedBytesPerHour", "logEntriesPerDay", "gpuMinutesPerDay",
               "workerSecondsPerJob")),
            ["devices"], ["program", "profiles", 0, "transferBytes"], ["program", "indexChecks"], ["program", "strings"],
            *(["program", list_, i, "text"] for list_ in ("inputs", "outputs") for i in (0, 1))]

# What people read, and may grow: its members are free.
OPEN = [["report", "measured"], ["report", "device"]]


def damaged(document):
    """Copies of the document, each with one member taken out of an object or one unknown member put in."""

    def objects(value, path):
        if isinstance(value, dict):
            yield path
            for name, member in value.items():
                yield from objects(member, path + [name])
        elif isinstance(value, list):
            for index, member in enumerate(value):
                yield from objects(member, path + [index])

    for path in objects(document, []):
        if "stages" in path or any(path[:len(free)] == free for free in OPEN):
            continue
        for name in [None, *at(document, path)]:
            if path + [name] in OPTIONAL:
                continue
            copy = json.loads(json.dumps(document))
            target = at(copy, path)
            if name is None:
                target["unknownMember"] = 1
            else:
                del target[name]
            yield path + [name or "unknownMember"], copy


def at(value, path):
    for step in path:
        value = value[step]
    return value


def predicate_of(document):
    return document["predicate"] if "predicateType" in document else document


def load_schemas(root):
    """The schemas by name, and the registry in which they find each other."""
    schemas = {p.name.removesuffix(".schema.json"): json.loads(p.read_text())
               for p in (root / "manifest/schemas").glob("*.schema.json")}
    return schemas, Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in schemas.values())


def main(root):
    schemas, registry = load_schemas(root)
    failures = [f"schema {name} is checked by no golden document" for name in schemas.keys() - set(DOCUMENTS.values())]
    checked = 0
    for file, name in DOCUMENTS.items():
        Draft202012Validator.check_schema(schemas[name])
        validator = Draft202012Validator(schemas[name], registry=registry)
        document = predicate_of(json.loads((root / "tests/golden/v1" / file).read_text()))
        failures += [f"{file}: {e.json_path}: {e.message}" for e in validator.iter_errors(document)]
        for place, bad in damaged(document):
            checked += 1
            if validator.is_valid(bad):
                failures.append(f"{file}: the schema accepts damage at {place}")
    for file in (root / "signing/policy").glob("*.json"):
        validator = Draft202012Validator(schemas["policy"], registry=registry)
        failures += [f"{file.name}: {e.json_path}: {e.message}" for e in validator.iter_errors(json.loads(file.read_text()))]
    print("\n".join(failures) or f"{len(DOCUMENTS)} documents valid, {checked} damaged copies refused")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
