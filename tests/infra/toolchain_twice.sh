#!/usr/bin/env bash
# The locked toolchain built twice: in other folders, by other users, with another umask, locale and time zone: one tree.
# Some 40 minutes on two cores. usage: toolchain_twice.sh CHECKOUT
set -euo pipefail
checkout=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/kiln-twice.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
build() {  # build FOLDER LOCK COMMAND...
  local folder=$1 lock=$2
  shift 2
  "$@" "$checkout/infra/toolchain/build" --lock "$lock" --inputs "$folder/inputs" --out "$folder/tree"
}
mkdir -p "$work/one"
time build "$work/one" "$checkout/infra/toolchain/lock.json" env
two="$work/two/a longer path, with spaces"
mkdir -p "$two"
cp -r "$work/one/inputs" "$two/inputs"
cp "$work/one/tree.lock.json" "$two/lock.json"  # names the source: no checkout is asked
other=()
if [ "$(id -u)" = 0 ]; then
  chown -R 65534:65534 "$two"
  other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
fi
umask 077
time build "$two" "$two/lock.json" env TZ=Asia/Tokyo LC_ALL=de_DE.UTF-8 HOME="$two" "${other[@]}"
diff -r "$work/one/tree" "$two/tree"
cmp "$work/one/tree.lock.json" "$two/tree.lock.json"
echo "one tree, toolchain.json sha256:$(sha256sum "$work/one/tree/toolchain.json" | cut -d' ' -f1)"
if [ -d "$checkout/build/release/toolchain-tree" ] && diff -rq "$work/one/tree" "$checkout/build/release/toolchain-tree"; then
  echo "the same tree as build/release/toolchain-tree, built with what is installed here"
fi
