#!/bin/bash
# Who a farm of infra/up is: a URN of its own, or what its operator stated before the first start, or what the root of an
# earlier release says; the same at every start. Needs no programs.
# usage: builder_id_test.sh ROOT
set -euo pipefail
root=$1 bin='' workers=0 dir=''
# shellcheck source=infra/lib/processes.sh
. "$root/infra/lib/processes.sh"
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
die() { echo "builder_id_test: $*" >&2; exit 1; }

# identity NAME: of the farm in that directory, made if need be.
identity() {
  dir=$top/$1
  mkdir -p "$dir"/{keys,trust}
  set_builder_id
}

identity one
one=$builder_id
[[ $one =~ ^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$ ]] || die "not a URN: $one"
identity two
[ "$builder_id" != "$one" ] || die "two farms are one builder"
identity one
[ "$builder_id" = "$one" ] || die "the second start has another identity: $builder_id"

mkdir -p "$top"/{stated,old}/{keys,trust}
echo "https://builds.example.org/v1" >"$top/stated/keys/builder-id"
identity stated
[ "$builder_id" = https://builds.example.org/v1 ] || die "not what was stated: $builder_id"
cp "$root/tests/golden/farm-v1/root.json" "$top/old/trust/root.json"
identity old
[ "$builder_id" = urn:kiln:builder:test ] || die "not whom the root names: $builder_id"
mkdir -p "$top/broken"/{keys,trust}
echo "{" >"$top/broken/trust/root.json"
said=$( (identity broken) 2>&1) && die "a farm whose root cannot be read got an identity"
[[ $said == *"$top/broken/trust/root.json: "* ]] || die "the root is not named: $said"
[ ! -e "$top/broken/keys/builder-id" ] || die "an identity was kept"
echo "each farm is itself"
