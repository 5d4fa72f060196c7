#!/usr/bin/env python3
"""Checks a document against a JSON Schema of draft 2020-12.

usage: json_schema_check.py SCHEMA DOCUMENT
Exit 1 with what does not hold; 77 if Python's jsonschema is not installed.
"""
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: Python's jsonschema is not installed (infra/setup)")
    sys.exit(77)

schema, document = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:3])
Draft202012Validator.check_schema(schema)
errors = list(Draft202012Validator(schema).iter_errors(document))
for error in errors[:10]:
    print(f"{error.json_path}: {error.message[:300]}")
sys.exit(1 if errors else 0)
