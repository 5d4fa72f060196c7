# The processes of a farm on one machine: their state, start and stop. Sourced by infra/up.
# Needs: root, bin, dir, workers; with coordinators, so many of them; with named_database, that one; with emulated=yes, workers
# have an emulated GPU; store, the URL of a bucket or nothing; with reapi, the first coordinator serves that port of loopback.

# Who the farm is as a builder: what keys/builder-id says, put there before the farm's first start, else a URN of its own.
# A farm from before there was that file stays who its trust root says it is, so that its old bundles keep verifying.
set_builder_id() {
  local file=$dir/keys/builder-id known=""
  if [ ! -s "$file" ]; then
    [ ! -e "$dir/trust/root.json" ] || known=$("$root/infra/lib/json_field.py" "$dir/trust/root.json" builders 0 id) || return
    echo "${known:-urn:uuid:$(cat /proc/sys/kernel/random/uuid)}" >"$file.new"
    mv "$file.new" "$file"
  fi
  builder_id=$(head -n 1 "$file")
}

# Once named, a farm's database stays: the private one has nothing of it, nor it of the private one.
set_database() {
  [ -n "${named_database:-}" ] || return 0
  if [ -d "$dir/pg" ]; then
    echo "up: the farm in $dir has a PostgreSQL of its own in $dir/pg; kiln backup and kiln restore move it to another" >&2
    exit 2
  fi
  (umask 077 && printf '%s\n' "$named_database" >"$dir/keys/database.new")
  mv "$dir/keys/database.new" "$dir/keys/database"
}

# settle_dir: D as the system finds it. Of "link/.." a shell would go by the spelling.
settle_dir() {
  case /$dir/ in
    */../*) dir=$(cd -P -- "$dir" && pwd -P) ;;
    *) dir=$(cd -- "$dir" && pwd) ;;
  esac
}

# A farm is its owner's: nobody else locks, signals or starts it. Root neither, who would follow what the owner put there.
want_own_farm() {
  if [ ! -O "$dir" ]; then
    echo "up: the farm in $dir belongs to $(stat -L -c %U "$dir"), and this is $(id -un); run infra/up as that user, or with another --dir" >&2
  elif [ -n "$(find -H "$dir" -maxdepth 0 -perm -002)" ]; then
    echo "up: everybody may write in $dir, so that nothing there can be trusted; name a folder of your own with --dir" >&2
  elif [ -L "$dir/up.lock" ]; then
    echo "up: $dir/up.lock is a link, which infra/up never makes; see where it leads and remove it" >&2
  else
    return 0
  fi
  exit 8
}

# One infra/up at a time makes, starts or stops what is in D; no process of the farm holds the lock.
lock_farm() {
  want_own_farm
  exec 8>"$dir/up.lock"
  flock -n 8 || { echo "up: waiting for another infra/up in $dir" >&2; flock 8; }
}
unlock_farm() { exec 8>&-; }

# alive NAME: whether the process of this name still runs (a pid alone may be somebody else's by now).
alive() {
  local pid born
  [ -e "$dir/run/$1.pid" ] && read -r pid born <"$dir/run/$1.pid" || return 1
  [ "$(started_at "$pid")" = "$born" ]
}

# started_at PID: when it was started, in clock ticks; nothing if there is none or only its zombie.
started_at() { sed -n 's/.*) //; /^[^ZX]/p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# service NAME COMMAND...: one of what the supervisor keeps running, in the form that it reads.
service() { printf '%s\0' "$@" ""; }

supervisor() { "$root/infra/lib/supervisor.py" "$1" "$dir" 8>&-; }

names() { ls "$dir/run" 2>/dev/null | sed -n 's/\.pid$//p' | grep -vx supervisor; }

# given_up: a process that the supervisor has given up.
given_up() { supervisor status | awk -F'\t' '$2 == "failed" { print $1; exit }'; }

first_dead() {
  local name
  for name in $(names); do alive "$name" || { echo "$name"; return 0; }; done
}

# A Unix socket's path holds 107 bytes and gRPC's addresses no spaces: a long or unusual D gets its sockets elsewhere.
socket_dir() {
  if [[ $dir =~ ^[A-Za-z0-9/._-]{1,70}$ ]]; then
    echo "$dir/sock"
  else
    echo "${TMPDIR:-/tmp}/kiln-$(id -u)-$(printf %s "$dir" | sha256sum | cut -c1-12)"
  fi
}

# The keys that a farm's trust root names are never made anew: its log and its artifacts would be another's.
want_keys_of_root() {
  [ ! -e "$dir/trust/root.json" ] || [ -e "$dir/keys/signer.uri" ] || [ -e "$dir/keys/signer.pem" ] || {
    echo "up: $dir has a trust root but not the keys that it names, as after kiln restore from a backup without them;" \
      "copy the farm's keys to $dir/keys, then run infra/up again" >&2
    exit 1
  }
}

# What a kiln restore that was cut off left is no farm: its database may be loaded, and its files are not all there.
want_whole_restore() {
  [ ! -e "$dir/restore.unfinished" ] || {
    echo "up: a kiln restore into $dir was cut off; restore again, into a new folder and an empty database" >&2
    exit 1
  }
}

# Where the blobs lie is settled at the first start: a farm is not moved by an option.
want_same_store() {
  local known=""
  [ ! -e "$dir/store.url" ] || known=$(head -n 1 "$dir/store.url")
  [ -z "${store:-}" ] || [ "${store:-}" = "$known" ] || { [ -z "$known" ] && [ ! -e "$dir/store/format" ]; } || {
    echo "up: the blobs of the farm in $dir lie in ${known:-$dir/store}, and --store does not move them" >&2
    exit 2
  }
}

# The bucket's URL, and its keys if they were given.
keep_store() {
  [ -z "${store:-}" ] || { echo "$store" >"$dir/store.url.new" && mv "$dir/store.url.new" "$dir/store.url"; }
  [ -n "${store:-}" ] && [ -n "${AWS_ACCESS_KEY_ID:-}" ] || return 0
  (
    umask 077
    {
      echo "[default]"
      echo "aws_access_key_id = $AWS_ACCESS_KEY_ID"
      echo "aws_secret_access_key = ${AWS_SECRET_ACCESS_KEY:-}"
      [ -z "${AWS_SESSION_TOKEN:-}" ] || echo "aws_session_token = $AWS_SESSION_TOKEN"
    } >"$dir/keys/s3.credentials.new"
  )
  mv "$dir/keys/s3.credentials.new" "$dir/keys/s3.credentials"
}

farm_store() { if [ -e "$dir/store.url" ]; then head -n 1 "$dir/store.url"; else echo "$dir/store"; fi; }

# What comes in front of a program that uses the store: the farm's own keys for its bucket, if it has any.
with_store_keys() {
  [ ! -e "$dir/keys/s3.credentials" ] ||
    printf '%s\0' env -u AWS_ACCESS_KEY_ID "AWS_SHARED_CREDENTIALS_FILE=$dir/keys/s3.credentials"
}

make_state() {
  want_whole_restore
  want_same_store
  want_keys_of_root
  chmod 711 "$dir"
  (umask 077 && mkdir -p "$dir"/{keys,keys/workers,run,store,trust} "$(socket_dir)")
  mkdir -p "$dir/logs" "$dir/metrics" "$dir/workers"
  chmod 700 "$dir/metrics"
  chmod 700 "$dir/logs"  # names models, sources and errors of every instance
  chmod 711 "$dir/workers"
  sock=$(socket_dir)
  [ -O "$sock" ] && [ ! -L "$sock" ] || { echo "up: $sock belongs to somebody else; remove it or use another --dir" >&2; exit 8; }
  chmod 700 "$sock"
  set_builder_id
  keep_store
  set_database
  local signer=$bin/kiln-signer
  [ -e "$dir/keys/signer.uri" ] || [ -e "$dir/keys/signer.pem" ] || "$signer" make-key --out "$dir/keys/signer.pem"
  [ -e "$dir/keys/log.vkey" ] || make_log_key
  [ -e "$dir/keys/worker-ca.pem" ] || make_pair "$dir/keys/worker-ca" make-worker-ca --out "$dir/keys"
  [ -e "$dir/keys/recall.pem" ] || "$signer" make-key --out "$dir/keys/recall.pem"
  local n
  for n in $(seq "$workers"); do
    [ -e "$dir/keys/workers/worker-$n.pem" ] || make_pair "$dir/keys/workers/worker-$n" make-worker-certificate \
      --ca "$dir/keys" --name "worker-$n" --operator development --out "$dir/keys/workers/worker-$n"
  done
  if [ -e "$dir/trust/root.json" ]; then  # one from before the log or recalls gets the next version
    "$signer" complete-root --root "$dir/trust/root.json" --log-key "$dir/keys/log.vkey" --recall-key "$dir/keys/recall.pem"
  else
    "$signer" make-root --key "$(signer_key)" --builder-id "$builder_id" \
      --log-key "$dir/keys/log.vkey" --recall-key "$dir/keys/recall.pem" --development --out "$dir/trust/root.json"
  fi
  [ -e "$dir/policy.json" ] || cp "$root/signing/policy/development.json" "$dir/policy.json"
}

# make_pair PREFIX COMMAND...: has kiln-signer make PREFIX.key and PREFIX.pem. A key that was left without its certificate by a
# kill in between has signed nothing.
make_pair() { rm -f "$1.key"; "$bin/kiln-signer" "${@:2}"; }

# The artifact key: a file, or the PKCS#11 URI in keys/signer.uri, put there before the farm's first start.
signer_key() {
  if [ -e "$dir/keys/signer.uri" ]; then head -n 1 "$dir/keys/signer.uri"; else echo "$dir/keys/signer.pem"; fi
}

# A name of its own for every farm: a witness must be able to tell their logs apart. A key that was left without its
# public half by a kill in between has signed nothing.
make_log_key() {
  [ -e "$dir/log/checkpoint" ] || rm -f "$dir/keys/log.key"
  "$bin/kiln-log" make-key --origin "log-$(od -An -N4 -tx1 /dev/urandom | tr -d ' ').kiln.internal" --out "$dir/keys/log"
}

# metrics_of NAME: where this process serves its metrics, as the supervisor fills it in.
metrics_of() { echo "127.0.0.1:{metrics/$1.port}"; }

# cache_of NAME: where this process keeps what it read of a bucket.
cache_of() { [ ! -e "$dir/store.url" ] || printf '%s\0' --store-cache "$dir/cache/$1"; }

# The first has the name that it has where it is alone.
coordinator_names() { echo coordinator; [ "${coordinators:-1}" = 1 ] || seq -f "coordinator-%g" 2 "$coordinators"; }

# Where all of them listen, as kiln and kiln-worker take it.
endpoints() {
  local name list=
  for name in $(coordinator_names); do list+=,unix:$sock/$name.sock; done
  echo "${list#,}"
}

# coordinator NAME: one of those that share the database and the store.
coordinator() {
  local quotas=() keys=() cache=() plain=() http=http${1#coordinator}
  mapfile -d '' -t keys < <(with_store_keys)
  mapfile -d '' -t cache < <(cache_of "$1")
  [ ! -e "$dir/quotas.json" ] || quotas=(--quotas "$dir/quotas.json")
  [ -z "${reapi:-}" ] || [ "$1" != coordinator ] || plain=(--reapi-listen "127.0.0.1:$reapi")
  # Remote Execution clusters that workers may offer, a digest a line (kiln-worker doctor --executor).
  local clusters=() cluster
  if [ -e "$dir/clusters" ]; then
    while read -r cluster; do clusters+=(--cluster-policy "$cluster"); done <"$dir/clusters"
  fi
  service "$1" ${keys[@]+"${keys[@]}"} "$bin/kiln-coordinator" --listen "unix:$sock/$1.sock" \
    --database "{database}" --store "$(farm_store)" ${cache[@]+"${cache[@]}"} --signer "unix:$sock/signer.sock" \
    --log-key "$dir/keys/log.vkey" --log-tiles "$dir/log" \
    --worker-ca "$dir/keys/worker-ca.pem" --builder-id "$builder_id" --trust-root "$dir/trust/root.json" \
    --policy "$dir/policy.json" ${quotas[@]+"${quotas[@]}"} ${plain[@]+"${plain[@]}"} ${clusters[@]+"${clusters[@]}"} \
    --http "127.0.0.1:{$http.port}" --http-socket "$sock/$http.sock" --metrics "$(metrics_of "$1")" ${traces[@]+"${traces[@]}" --trace-share 1}
}

services() {
  local keys=() cache=()
  mapfile -d '' -t keys < <(with_store_keys)
  mapfile -d '' -t cache < <(cache_of signer)
  service signer ${keys[@]+"${keys[@]}"} "$bin/kiln-signer" serve --listen "unix:$sock/signer.sock" --key "$(signer_key)" \
    --store "$(farm_store)" ${cache[@]+"${cache[@]}"} --worker-ca "$dir/keys/worker-ca.pem" --database "{database}" --records "$dir/records" \
    --trust-root "$dir/trust/root.json" --metrics "$(metrics_of signer)" ${traces[@]+"${traces[@]}"}
  service log "$bin/kiln-log" serve --key "$dir/keys/log" --database "{database}" --tiles "$dir/log" --metrics "$(metrics_of log)" \
    ${traces[@]+"${traces[@]}"}
  local name
  for name in $(coordinator_names); do coordinator "$name"; done
  local n devices=()
  [ "${emulated:-no}" = no ] || devices=(--gpu-driver "$bin/libkiln-emulated-cuda.so")
  for n in $(seq "$workers"); do
    service "worker-$n" "$bin/kiln-worker" --coordinator "$(endpoints)" \
      --certificate "$dir/keys/workers/worker-$n.pem" --key "$dir/keys/workers/worker-$n.key" \
      --state "$dir/workers/worker-$n" --slots 1 --metrics "$(metrics_of "worker-$n")" \
      ${devices[@]+"${devices[@]}"} ${traces[@]+"${traces[@]}"}
  done
}

start_farm() {
  services | supervisor list
  supervisor reload
  write_environment
  write_prometheus
  wait_until_ready
}

write_environment() {
  {
    echo "# Source this: it points kiln at the farm in this folder."
    printf 'export KILN_ENDPOINT=%q\n' "$(endpoints)"
    printf 'export KILN_INSTANCE=default\n'
    printf 'export KILN_TRUST_ROOT=%q\n' "$dir/trust/root.json"
    printf 'export KILN_RECALL_KEY=%q\n' "$dir/keys/recall.pem"
    printf 'export KILN_POLICY=%q\n' "$dir/policy.json"
    printf 'export KILN_FARM=%q\n' "$dir"
    printf 'export KILN_HTTP=%q\n' "http://127.0.0.1:$(cat "$dir/http.port")"
    printf 'export KILN_HTTP_SOCKET=%q\n' "$sock/http.sock"
    local name
    for name in $(coordinator_names) log signer $(seq -f 'worker-%g' "$workers"); do
      [ -e "$dir/metrics/$name.port" ] || continue  # left running by an earlier release
      printf 'export KILN_METRICS_%s=%q\n' "$(tr a-z- A-Z_ <<<"$name")" "http://127.0.0.1:$(cat "$dir/metrics/$name.port")/metrics"
    done
    printf 'export PATH=%q:"$PATH"\n' "$bin"
  } >"$dir/kiln.env"
}

# What a Prometheus on this machine scrapes: prometheus --config.file D/prometheus.yml.
write_prometheus() {
  "$root/infra/lib/scrape.py" "$dir" "$root/infra/deploy/prometheus/kiln.rules.yml" $(coordinator_names) log signer $(seq -f 'worker-%g' "$workers")
}

# Until every worker has said what it is and which devices it has, since it and the coordinator were last started. A call that waits for a
# coordinator would miss that it ends again and again.
wait_until_ready() {
  local name missing end=$((SECONDS + 120))
  while [ "$SECONDS" -lt "$end" ]; do
    name=$(first_dead)
    [ -z "$name" ] || { echo "up: $name ended at once; the end of $dir/logs/$name.log:" >&2; tail -n 20 "$dir/logs/$name.log" >&2; exit 1; }
    # shellcheck source=/dev/null
    missing=$( (. "$dir/kiln.env" && kiln workers --json --wait 0s 2>/dev/null) | "$root/infra/lib/reported.py" "$dir" "$workers") && return 0
    sleep 0.1
  done
  echo "up: not within 120 s: $missing; see $dir/logs" >&2
  exit 1
}

# A label means one tree for ever: a toolchain rebuilt from changed sources gets one of its own, made of its parts.
register_toolchain() {
  local tree=$root/build/release/toolchain-tree refused label
  # shellcheck source=/dev/null
  . "$dir/kiln.env"
  local -x KILN_WAIT=${KILN_WAIT:-2m}  # a busy machine
  refused=$(kiln toolchain add "$tree" --default 2>&1) && { echo "$refused"; return 0; }
  grep -q "already stands for" <<<"$refused" || { echo "$refused" >&2; return 1; }
  label=$("$root/infra/lib/json_field.py" "$tree/toolchain.json" label)+dev.$(sha256sum <"$tree/toolchain.json" | cut -c1-12)
  "$root/infra/toolchain/build" --label "$label" --out "$root/build/release/toolchain-tree-dev" >/dev/null
  kiln toolchain add "$root/build/release/toolchain-tree-dev" --default
}

stop_farm() {
  [ ! -d "$dir/run" ] || supervisor stop
  [ -e "$dir/keys/database" ] || "$root/infra/postgres" stop "$dir/pg"
  # Of a stopped farm nothing stays outside D.
  [ "$(socket_dir)" = "$dir/sock" ] || rmdir --ignore-fail-on-non-empty "$(socket_dir)" 2>/dev/null || true
}
