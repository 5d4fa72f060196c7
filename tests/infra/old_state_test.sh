#!/bin/bash
# A farm's directory of a release before the log and recalls: the next start brings it forward without losing its trust,
# and the one after that changes nothing. With the real programs, PostgreSQL and the scripts of infra/up, without workers.
# usage: old_state_test.sh ROOT BIN
set -euo pipefail
root=$1 bin=$2 workers=0
dir=$(mktemp -d)/state
# shellcheck source=infra/lib/processes.sh
. "$root/infra/lib/processes.sh"
trap 'stop_farm >/dev/null 2>&1; rm -rf "$(dirname "$dir")"' EXIT
die() { echo "old_state_test: $*" >&2; exit 1; }
field() { "$root/infra/lib/json_field.py" - "$@"; }  # NAME...: of the JSON on standard input
export PATH=$bin:$PATH
unset KILN_ENDPOINT KILN_RECALLS KILN_RECALL_KEY KILN_POLICY

# What such a release left: keys, a root that names neither log nor recall key, its database and blobs.
old=$root/tests/golden/farm-v1
mkdir -p "$dir/keys/workers" "$dir/trust" "$dir/store/blobs"
kiln-signer make-key --out "$dir/keys/signer.pem"
kiln-signer make-worker-ca --out "$dir/keys"
kiln-signer make-root --key "$dir/keys/signer.pem" --builder-id https://builds.example.org/v1 --development --out "$dir/trust/root.json"
cp "$dir/trust/root.json" "$dir/../first.json"
database=$("$root/infra/postgres" start "$dir/pg" | tail -n 1)
psql=$(ls /usr/lib/postgresql/*/bin/psql | sort -V | tail -1)
"$psql" -q -v ON_ERROR_STOP=1 -d "$database" -f "$old/database.sql" >/dev/null
artifact=$(cat "$old/artifact")

up() {
  make_state
  start_farm
  # shellcheck source=/dev/null
  . "$dir/kiln.env"
  for _ in $(seq 100); do kiln toolchain list >/dev/null 2>&1 && return 0; sleep 0.1; done
  die "the farm does not answer: $(tail -n 3 "$dir"/logs/*.log)"
}

up
shown=$(kiln trust show "$dir/trust/root.json" --json)
grep -q '"version": 2' <<<"$shown" || die "not the next version: $shown"
grep -q '"origin": "log-' <<<"$shown" || die "names no log: $shown"
grep -q '"recallKeys"' <<<"$shown" || die "names no recall key: $shown"
grep -q '"https://builds.example.org/v1"' <<<"$shown" || die "is another builder than it was: $shown"
key=$(kiln trust show "$dir/../first.json" --json | field root keys 0 keyid)
[ -n "$key" ] && grep -qF "$key" <<<"$shown" || die "the signer's key is lost"
kiln jobs --json | grep -F "$artifact" >/dev/null || die "what was published then is not known now"
kiln recall --artifact "$artifact" --reason "an old mistake" >/dev/null || die "cannot recall"
[ -e "$dir/trust/root.json.state" ] || kiln trust show "$dir/trust/root.json" >/dev/null
version=$(kiln recall --refresh --json | field version)
[ "$version" = 2 ] || die "recalls version is '$version'"
cp "$dir/trust/root.json" "$dir/../second.json"
size=$(kiln log checkpoint --json | field size)
stop_farm >/dev/null

up  # resumed: the same root, log and recalls
cmp "$dir/trust/root.json" "$dir/../second.json" || die "a second start changed the root"
[ "$(kiln log checkpoint --json | field size)" = "$size" ] || die "the log is another"
version=$(kiln recall --refresh --json | field version)
[ "$version" = 3 ] || die "recalls did not go on: '$version'"
kiln log verify >/dev/null || die "the log does not verify"
echo "brought forward and resumed"
