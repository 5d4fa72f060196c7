#!/bin/bash
# tests/bench/cas.sh [MIB] [DIRECTORY]
# The store beside plain tools on the same disk, in one run: put beside `dd conv=fsync`, get beside `cat`. Prints GB/s
# (medians of 5 alternating rounds) and ratios; no pass or fail. Default: 512 MiB in the system's temporary directory.
set -euo pipefail
size=${1:-512} parent=${2:-${TMPDIR:-/tmp}}
bench=$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin/bench_cas
[ -x "$bench" ] || { echo "build it first: ninja -C build/release bench_cas" >&2; exit 1; }
work=$(mktemp -d "$parent/kiln-cas-XXXXXX")
trap 'rm -rf "$work"' EXIT

head -c "${size}M" /dev/urandom > "$work/file"
sync "$work/file"
results=$work/results
now() { date +%s.%N; }
timed() {  # NAME COMMAND...
  local name=$1 start end; shift
  start=$(now); "$@"; end=$(now)
  echo "$name $(awk "BEGIN { print $end - $start }") $((size << 20))" >> "$results"
}
plainCopy() { dd if="$work/file" of="$work/copy" bs=1M conv=fsync status=none; }
plainRead() { cat "$work/file" > /dev/null; }

cat "$work/file" > /dev/null
for _ in 1 2 3 4 5; do
  timed dd plainCopy; rm -f "$work/copy"
  timed cat plainRead
  "$bench" "$work/file" "$work" 1 >> "$results"
done
"$bench" "$work/file" "$work" 0 1000 >> "$results"

python3 - "$results" <<'PYTHON'
import statistics, sys
rows = {}
for line in open(sys.argv[1]):
    name, seconds, amount = line.split()
    rows.setdefault(name, []).append(float(amount) / float(seconds))
median = {name: statistics.median(values) for name, values in rows.items()}
def show(name, beside, what):
    print(f"{what:44} {median[name] / 1e9:7.2f} GB/s   {median[name] / median[beside]:5.2f} x {beside}")
print(f"{'dd conv=fsync':44} {median['dd'] / 1e9:7.2f} GB/s")
show("put", "dd", "put, local (hashed, durable)")
show("remote-put", "dd", "put over gRPC, Unix socket")
print(f"{'cat':44} {median['cat'] / 1e9:7.2f} GB/s")
show("get-hot", "cat", "get, local, verified lately")
show("get-verify", "cat", "get, local, hashing")
show("remote-get", "cat", "get over gRPC (client hashes)")
for name, what in (("small-plain", "4 KiB files, fsync + rename + fsync"), ("small-one-by-one", "4 KiB blobs one by one, durable"), ("small-batch", "4 KiB blobs in batches, durable"),
                   ("small-remote-batch", "4 KiB blobs in batches over gRPC, durable")):
    print(f"{what:44} {median[name]:7.0f} /s    {median[name] / median['small-plain']:6.2f} x plain files")
PYTHON
