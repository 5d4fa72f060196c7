#!/usr/bin/env bash
# Renames private vocabulary to the standard terms of the field: identifiers, file names, comments, documents.
# usage: rename.sh [--list] [--leftovers] [--term NAME]... [--dry-run] [--no-format] [--commit]
#   run in the root of a checkout. Idempotent: what is renamed already is left alone.
#   --list       the terms, in the order in which they are applied
#   --leftovers  old names that still stand in code anywhere: to be looked at after applying to a later tree
#   --term NAME  only this term (a file of terms/, without number and ending); repeatable
#   --dry-run    counts what would change, writes nothing
#   --no-format  leaves out clang-format-22 (then run infra/format before committing)
#   --commit     one commit per term (the tree must be clean)
# The maps are terms/*.map; rename.py says what their rows mean. Nothing is built or run but git, python3 and clang-format-22.
set -euo pipefail
exec nice -n 19 python3 "$(dirname "$(readlink -f "$0")")/rename.py" "$@"
