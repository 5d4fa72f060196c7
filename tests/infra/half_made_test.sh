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

make_state || die "the first start fails"
before=$(cat "$dir/keys/signer.pem" "$dir/keys/recall.pem" "$dir/trust/root.json")
for half in keys/worker-ca.pem keys/workers/worker-1.pem keys/workers/worker-2.pem keys/log.vkey; do
  rm "$dir/$half"
  make_state || die "$half is missing, and the next start fails"
  [ -s "$dir/$half" ] || die "$half is not made again"
done
[ "$(cat "$dir/keys/signer.pem" "$dir/keys/recall.pem" "$dir/trust/root.json")" = "$before" ] || die "whole files were made again"

# A restored farm without its keys gets no others.
rm -r "$dir/keys"
said=$( (make_state) 2>&1) && die "keys were made for a root that names others"
[[ $said == *"copy the farm's keys to $dir/keys"* ]] || die "no next step: $said"
[ ! -e "$dir/keys/signer.pem" ] || die "a key was made"

# What a restore that was cut off left is no farm.
touch "$dir/restore.unfinished"
said=$( (make_state) 2>&1) && die "a farm is made beside a restore that was cut off"
[[ $said == *"restore again"* ]] || die "no next step: $said"
[ ! -e "$dir/keys/signer.pem" ] || die "a key was made"
echo "each half is made whole"
