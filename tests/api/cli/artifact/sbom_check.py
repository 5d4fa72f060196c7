#!/usr/bin/env python3
"""Checks a bill of materials against CycloneDX's published schema, as a library's wheel brings it. Nothing of the library is run.

usage: sbom_check.py DOCUMENT
Exit 1 with what does not hold; 77 without the Python tools of the tests (infra/setup).
"""
import importlib.util
import json
import pathlib
import sys

try:
    from jsonschema import Draft7Validator
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7
except ImportError:
    sys.exit(77)

package = importlib.util.find_spec("cyclonedx")
if not package:
    sys.exit(77)
folder = pathlib.Path(package.origin).parent / "schema/_res"
schemas = {name: json.loads((folder / f"{name}.SNAPSHOT.schema.json").read_text()) for name in ("bom-1.6", "spdx", "jsf-0.82")}
registry = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema, default_specification=DRAFT7)) for schema in schemas.values())
errors = list(Draft7Validator(schemas["bom-1.6"], registry=registry).iter_errors(json.loads(pathlib.Path(sys.argv[1]).read_text())))
for error in errors[:10]:
    print(f"{error.json_path}: {error.message[:300]}")
sys.exit(1 if errors else 0)
