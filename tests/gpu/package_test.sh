#!/usr/bin/env bash
# usage: package_test.sh BIN    a package of two networks, run on the emulated device: both agree with their fixtures, and a
# package with a damaged fixture does not (exit 10). Exits 77 (skipped) without ptxas or numpy.
set -euo pipefail
bin=$1 here=$(cd "$(dirname "$0")" && pwd)
if [ ! -e "$bin/../toolchain/bin/ptxas" ]; then
  echo "skipped: no ptxas in the build tree; infra/setup fetches CUDA's compiler parts"
  exit 77
fi
if ! "$here/../support/python" -c "import numpy" 2>/dev/null; then
  echo "skipped: no numpy; infra/setup installs the Python tools of the tests"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/../support/python" "$here/pack.py" --bin "$bin" --out "$work/package" --net softmax --net transformer_block_f16 --emulation
export KILN_EMULATED_KERNELS=$work/package/emulation
run() { "$work/package/run-on-device" --out "$work/out" --driver "$work/package/libkiln-emulated-cuda.so" --runs 1; }
run | tee "$work/table"
grep -q '^| softmax | passed | f32 |' "$work/table"
grep -q '^| transformer_block_f16 | passed | f16 |' "$work/table"
"$here/../support/python" -c '
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [row["parity"] for row in rows] == ["passed"] * 2 and all(row["movedBytes"] > 0 for row in rows), rows
' "$work/out/results.json"
# Nothing of the machine but the kernel: no C library, no loader.
bare() {
  bwrap --unshare-all --ro-bind "$work/package" /package --tmpfs /tmp --proc /proc --dev /dev --clearenv \
    --setenv KILN_EMULATED_KERNELS /package/emulation "$@"
}
loader=(/package/lib/ld-linux-x86-64.so.2 --library-path /package/lib)
if bwrap --unshare-all --ro-bind / / true 2>/dev/null; then
  bare "${loader[@]}" /package/device_table --driver /package/libkiln-emulated-cuda.so --runs 1 /package/artifacts/softmax >"$work/bare"
  grep -q '^| softmax | passed | f32 |' "$work/bare"
  for library in libdl.so.2 libpthread.so.0 librt.so.1 libm.so.6; do  # what drivers are linked with
    bare "${loader[@]}" --list "/package/lib/$library" >"$work/list"
    grep -q "libc.so.6 => /package/lib/" "$work/list"
  done
fi
truncate -s -4 "$work"/package/artifacts/softmax/fixtures/default/output_0.npy
status=0
run >"$work/table" || status=$?
[ "$status" = 10 ] || { echo "a changed fixture: exit $status, wanted 10"; exit 1; }
