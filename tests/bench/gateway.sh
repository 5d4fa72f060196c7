#!/bin/bash
# tests/bench/gateway.sh [MIB] [DIRECTORY]
# A large blob out of the gateway beside nginx with sendfile, plain and within TLS 1.3, in one run: curl fetches all in turn, 7
# rounds. Prints GB/s (medians) and ratios (aim: at least 0.7); no pass or fail. nginx is $KILN_NGINX or in PATH. Default: 1024 MiB.
# Last the layer of a container image with that blob in it, which the gateway makes while it is sent, and the most memory that each
# process ever had (VmHWM), before and after: what it takes does not grow with the image.
set -euo pipefail
size=${1:-1024} parent=${2:-${TMPDIR:-/tmp}} nginx=${KILN_NGINX:-$(command -v nginx || true)}
bench=$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin/bench_gateway
[ -x "$bench" ] || { echo "build it first: ninja -C build/release bench_gateway" >&2; exit 1; }
[ -n "$nginx" ] || { echo "nginx is not installed: apt-get install nginx-light" >&2; exit 1; }
port=$((20000 + $$ % 20000))
work=$(mktemp -d "$parent/kiln-gateway-XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT

head -c "${size}M" /dev/urandom > "$work/blob"
mkfifo "$work/hold"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -keyout "$work/key.pem" -out "$work/cert.pem" \
  -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2> /dev/null
cat "$work/cert.pem" "$work/key.pem" > "$work/identity.pem"
"$bench" "$work/blob" "$work/store" "$work/identity.pem" < "$work/hold" > "$work/url" &
gateway=$!
exec 3> "$work/hold"
cat > "$work/nginx.conf" <<CONF
daemon off;
pid $work/nginx.pid;
error_log $work/error.log;
worker_processes 1;
events { worker_connections 64; }
http {
  client_body_temp_path $work/a; proxy_temp_path $work/b; fastcgi_temp_path $work/c; uwsgi_temp_path $work/d; scgi_temp_path $work/e;
  access_log off; sendfile on; tcp_nopush on;
  server { listen 127.0.0.1:$port; root $work; }
  server {
    listen 127.0.0.1:$((port + 1)) ssl; root $work;
    ssl_certificate $work/cert.pem; ssl_certificate_key $work/key.pem; ssl_protocols TLSv1.3;
  }
}
CONF
[ "$(id -u)" != 0 ] || sed -i '1i user root;' "$work/nginx.conf"
"$nginx" -e "$work/error.log" -c "$work/nginx.conf" &
peer=$!
theirs=http://127.0.0.1:$port/blob
for _ in $(seq 600); do [ -s "$work/url" ] && curl -sfI "$theirs" > /dev/null && break; sleep 0.1; done
read -r ours oursTls image < "$work/url"
most() { awk '/^VmHWM/ { if ($2 > most) most = $2 } END { printf "%.1f MiB", most / 1024 }' $(printf "/proc/%s/status " "$@"); }
before=$(most "$gateway")
theirsTls=https://127.0.0.1:$((port + 1))/blob

speed() { curl -sf --cacert "$work/cert.pem" --noproxy '*' -o /dev/null -w '%{speed_download}\n' "$1"; }
speed "$ours" > /dev/null; speed "$theirs" > /dev/null  # verified, cached
for _ in 1 2 3 4 5 6 7; do
  for what in ours theirs oursTls theirsTls; do speed "${!what}" >> "$work/$what"; done
done
median() { sort -n "$1" | sed -n 4p; }
report() {
  awk -v what="$1" -v a="$(median "$work/$2")" -v b="$(median "$work/$3")" \
    'BEGIN { printf "%-8s gateway %.2f GB/s, nginx %.2f GB/s, ratio %.2f\n", what, a / 1e9, b / 1e9, a / b }'
}
report plain ours theirs
report TLS oursTls theirsTls
blobs=$(most "$gateway")
for _ in 1 2 3 4 5 6 7; do speed "$image" >> "$work/image"; done
report image image theirs
echo "memory   gateway $before before, $blobs after the blobs, $(most "$gateway") after the images; nginx $(most "$peer" $(pgrep -P "$peer"))"
