#!/bin/bash
# What a kill in the middle of infra/up's first start leaves of its keys, the next start finishes.
# usage: half_made_test.sh ROOT BIN
set -euo pipefail
root=$1 bin=$2 workers=2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck source=infra/lib/processes.sh
. "$root/infra/lib/processes.sh"
die() { echo "half_made_test: $*" >&2; exit 1; }

make_state
before=$(cat "$dir/keys/signer.pem" "$dir/keys/recall.pem" "$dir/trust/root.json")
for half in keys/worker-ca.pem keys/workers/worker-1.pem keys/workers/worker-2.pem keys/log.vkey; do
  rm "$dir/$half"
  make_state || die "$half is missing, and the next start fails"
  [ -s "$dir/$half" ] || die "$half is not made again"
done
[ "$(cat "$dir/keys/signer.pem" "$dir/keys/recall.pem" "$dir/trust/root.json")" = "$before" ] || die "whole files were made again"
echo "each half is made whole"
