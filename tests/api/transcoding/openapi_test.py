#!/usr/bin/env python3
"""The document of /openapi.json: valid by OpenAPI's own schema, every reference leads somewhere, and made twice it is the same.

usage: openapi_test.py GENERATOR DESCRIPTORS DOCUMENT
Exit 77 without the Python tools of the tests (infra/setup).
"""
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    sys.exit(77)


def schema_of_openapi():
    """That of the specification, as a package of validators brings it. Nothing of the package itself is run."""
    package = importlib.util.find_spec("openapi_spec_validator")
    if not package:
        sys.exit(77)
    return json.loads((pathlib.Path(package.origin).parent / "resources/schemas/v3.1/schema.json").read_text())


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def main():
    generator, descriptors, document = sys.argv[1:]
    text = pathlib.Path(document).read_text()
    api = json.loads(text)
    jsonschema.Draft202012Validator(schema_of_openapi()).validate(api)
    broken = json.loads(text)
    del broken["info"]["title"]
    assert list(jsonschema.Draft202012Validator(schema_of_openapi()).iter_errors(broken)), "the schema takes anything"

    for reference in references(api):
        at = api
        for step in reference.removeprefix("#/").split("/"):
            at = at[step]
    for name, schema in api["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object", name
    operations = [(path, operation) for path, verbs in api["paths"].items() for operation in verbs.values()]
    ids = [operation["operationId"] for _, operation in operations]
    assert len(ids) == len(set(ids)) >= 20, ids
    for path, operation in operations:
        named = re.findall(r"\{([^}]*)\}", path)
        assert named == [one["name"] for one in operation["parameters"] if one["in"] == "path"], path
        assert operation["x-kiln-roles"], path

    with tempfile.TemporaryDirectory() as folder:
        again = pathlib.Path(folder) / "openapi.json"
        subprocess.run([generator, descriptors, again, pathlib.Path(folder) / "openapi.cc"], check=True)
        assert again.read_text() == text, "made again, it is another"
    print(f"{len(ids)} operations, {len(api['components']['schemas'])} schemas, {len(text)} bytes")


if __name__ == "__main__":
    main()
