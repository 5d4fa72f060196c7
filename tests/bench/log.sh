#!/usr/bin/env bash
# usage: tests/bench/log.sh [DIR] [LEAVES]: appends to the log per second with a private, durable PostgreSQL, both in DIR
# (default: a temporary folder of the checkout's disk), beside the disk's own rate.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d "${1:-$root/build}/bench-log-XXXXXX") leaves=${2:-20000}
"$root/infra/build" release bench_log >/dev/null
trap '"$root/infra/postgres" stop "$dir/pg"; rm -rf "$dir"' EXIT
database=$("$root/infra/postgres" start "$dir/pg" | tail -n 1)
"$root/build/release/bin/bench_log" "$database" "$dir/log" "$leaves"
