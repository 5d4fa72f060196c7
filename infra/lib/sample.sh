#!/usr/bin/env bash
# Sends the trained digits model through the farm and runs what comes back.
# usage: sample.sh CHECKOUT STATE-DIR   (with D/kiln.env sourced)
set -euo pipefail
models=$1/tests/models
dir=$2
built=$(kiln build "$models/digits_cnn.onnx" --target cpu:x86-64-v3)
echo "$built"
artifact=$(sed -n 's/^artifact //p' <<<"$built")
fetched=$dir/sample/${artifact#sha256:}
[ -d "$fetched" ] || { mkdir -p "$dir/sample"; kiln fetch "$artifact" --out "$fetched"; }
kiln verify "$fetched"
kiln warmup "$fetched"
kiln run "$fetched" --each --input "image=$models/digits_images.npy" --labels "$models/digits_labels.npy"
echo "artifact $artifact"
