#!/usr/bin/env bash
# The infra scripts explain themselves and refuse what they do not know. usage: usage_test.sh CHECKOUT
set -u
cd "$1" || exit 1
failed=0
for script in infra/up infra/test infra/setup; do
  "$script" --help | grep -q "usage: $script" || { echo "$script --help does not show its usage"; failed=1; }
  "$script" --no-such-option 2>/dev/null
  [ $? = 2 ] || { echo "$script --no-such-option does not exit 2"; failed=1; }
done
infra/up --workers none 2>&1 | grep -q "number from 1" || { echo "infra/up --workers none is not refused"; failed=1; }
# --stop before any farm exists is no error.
infra/up --stop --dir "$(mktemp -d)/none" >/dev/null || { echo "infra/up --stop without a farm fails"; failed=1; }
# A folder that is no farm is left as it is.
other=$(mktemp -d)
infra/up --stop --dir "$other" | grep -q "no farm in" || { echo "infra/up --stop calls $other a farm"; failed=1; }
[ -z "$(ls -A "$other")" ] || { echo "infra/up --stop left something in $other"; failed=1; }
rmdir "$other"
# A farm of another user's is neither stopped nor locked.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
  setpriv --reuid 65534 --regid 65534 --clear-groups test -x infra/up; then
  farm=$(mktemp -d)
  mkdir "$farm/run" && chmod 711 "$farm"
  setpriv --reuid 65534 --regid 65534 --clear-groups infra/up --stop --dir "$farm" >/dev/null 2>"$other.err"
  code=$?
  [ $code = 8 ] || { echo "infra/up --stop on another user's farm exits $code"; failed=1; }
  grep -q "belongs to root" "$other.err" || { echo "infra/up --stop does not say whose farm it is"; cat "$other.err"; failed=1; }
  rm -rf "$farm" "$other.err"
fi
for option in --dir --workers; do
  infra/up $option 2>/dev/null
  [ $? = 2 ] || { echo "infra/up $option without a value does not exit 2"; failed=1; }
done
exit $failed
