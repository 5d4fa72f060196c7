#!/usr/bin/env bash
# The infra scripts explain themselves and refuse what they do not know. usage: usage_test.sh CHECKOUT
set -u
cd "$1" || exit 1
failed=0
for script in infra/up infra/test infra/setup infra/wheel infra/packages infra/pictures; do
  "$script" --help | grep -q "usage: $script" || { echo "$script --help does not show its usage"; failed=1; }
  "$script" --no-such-option 2>/dev/null
  [ $? = 2 ] || { echo "$script --no-such-option does not exit 2"; failed=1; }
done
infra/up --workers none 2>&1 | grep -q "number from 1" || { echo "infra/up --workers none is not refused"; failed=1; }
infra/up --coordinators 10 2>&1 | grep -q "number from 1 to 9" || { echo "infra/up --coordinators 10 is not refused"; failed=1; }
# refused CODE WORDS COMMAND...: it exits so and says so in one line.
refused() {
  local wanted=$1 words=$2 said code
  shift 2
  said=$("$@" 2>&1)
  code=$?
  if [ $code != "$wanted" ] || [[ $said != *"$words"* ]] || [ "$(wc -l <<<"$said")" != 1 ]; then
    echo "$*: exits $code and says: $said"
    failed=1
  fi
}
# What is named and not there: whoever mistypes it must not believe that the farm has ended.
other=$(mktemp -d)
refused 6 "no farm in" infra/up --stop --dir "$other/none"
refused 6 "no farm in" infra/up --stop --dir "$other"  # and is left as it is
[ -z "$(ls -A "$other")" ] || { echo "infra/up --stop left something in $other"; failed=1; }
touch "$other/file"
for stop in "" --stop; do refused 2 "is a file" infra/up --dir "$other/file" $stop; done
refused 2 "is a file" infra/postgres start "$other/file"
infra/postgres status "$other/none"
[ $? = 3 ] && [ ! -e "$other/none" ] || { echo "infra/postgres status makes what it is asked about"; failed=1; }
# Nothing is opened in a folder where others put what they like.
mkdir -m 777 "$other/open" "$other/open/run"
for stop in "" --stop; do refused 8 "everybody may write in" infra/up --dir "$other/open" $stop; done
mkdir -p "$other/linked/run"
echo precious >"$other/victim"
ln -s "$other/victim" "$other/linked/up.lock"
for stop in "" --stop; do refused 8 "is a link" infra/up --dir "$other/linked" $stop; done
mkdir "$other/cluster"
ln -s "$other/victim" "$other/cluster/lock"
refused 8 "is a link" infra/postgres start "$other/cluster"
[ "$(cat "$other/victim")" = precious ] || { echo "infra/up writes through a link"; failed=1; }
# A farm of another user's is neither stopped nor locked, and root is another user too.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
  setpriv --reuid 65534 --regid 65534 --clear-groups test -x infra/up; then
  farm=$(mktemp -d)
  mkdir "$farm/run" && chmod 711 "$farm"
  refused 8 "belongs to root" setpriv --reuid 65534 --regid 65534 --clear-groups infra/up --stop --dir "$farm"
  refused 8 "belongs to root" setpriv --reuid 65534 --regid 65534 --clear-groups infra/postgres start "$farm"
  chown 65534 "$farm" && ln -s "$other/victim" "$farm/up.lock"
  for stop in "" --stop; do refused 8 "belongs to $(id -un 65534)" infra/up --dir "$farm" $stop; done
  refused 8 "belongs to $(id -un 65534)" infra/postgres start "$farm"
  [ "$(cat "$other/victim")" = precious ] || { echo "root's infra/up writes through another user's link"; failed=1; }
  rm -rf "$farm"
fi
# "link/.." is where the system goes.
mkdir -p "$other/far/away" "$other/far/farm/run"
ln -s far/away "$other/link"
(
  . infra/lib/processes.sh
  dir=$other/link/../farm
  settle_dir
  [ "$dir" = "$(cd "$other" && pwd -P)/far/farm" ]
) || { echo "infra/up goes by the spelling of a path"; failed=1; }
rm -rf "$other"
for option in --dir --workers; do
  infra/up $option 2>/dev/null
  [ $? = 2 ] || { echo "infra/up $option without a value does not exit 2"; failed=1; }
done
exit $failed
