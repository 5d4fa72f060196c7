#!/usr/bin/env bash
# usage: tests/bench/trust.sh [DIR] [ARTIFACTS]: what signing, log and index of an artifact cost one after another, each
# durable, in DIR (default: a temporary folder of the checkout's disk); what verifying one costs, beside one signature;
# SHA-256 beside openssl speed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d "${1:-$root/build}/bench-trust-XXXXXX") artifacts=${2:-300}
"$root/infra/build" release bench_trust >/dev/null
trap '"$root/infra/postgres" stop "$dir/pg"; rm -rf "$dir"' EXIT
database=$("$root/infra/postgres" start "$dir/pg" | tail -n 1)
mkdir "$dir/log"
"$root/build/release/bin/bench_trust" "$database" "$dir/log" "$artifacts" >"$dir/figures"
openssl=$(openssl speed -seconds 2 -bytes 1048576 sha256 2>/dev/null | awk '/^sha256/ { sub("k", "", $2); print $2 / 1e6 }')
awk -v openssl="$openssl" '
  { value[$1] = $2 }
  END {
    printf "sign, log and index of an artifact, one after another: %.2f ms (%.2f + %.2f + %.2f)\n", value["together"],
      value["sign"], value["log"], value["index"]
    printf "verify an artifact, its log entry included, without its blobs: %.2f ms (aim 2 ms); one ECDSA signature: %.2f ms\n",
      value["verify"], value["ecdsa-verify"]
    printf "SHA-256: %.2f GB/s; openssl speed: %.2f GB/s; %.2f x\n", value["hash"], openssl, value["hash"] / openssl
  }' "$dir/figures"
