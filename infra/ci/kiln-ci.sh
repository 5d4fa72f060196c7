#!/bin/sh
# Builds a model from a pipeline, gates the artifact on a policy, and writes what came of it into the run's summary.
#
# usage: kiln-ci.sh [MODEL --target TARGET [OPTION OF kiln build]...]
#
# Without arguments the model and its options come from variables, as the templates beside this script set them:
#   KILN_MODEL      what to build: a file, a folder or git+URL@COMMIT#PATH
#   KILN_TARGETS    targets with white space between them
#   KILN_OPTIONS    further options of kiln build, one word on each line
# Always:
#   KILN_ENDPOINT, KILN_INSTANCE, KILN_TLS_CA, KILN_WAIT      the farm, as for kiln
#   KILN_TRUST_ROOT, KILN_POLICY                              the gate: what does not verify under both ends the run
#   KILN_OIDC       github, gitlab, buildkite, file or none; found from the environment if it is not set
#   KILN_AUDIENCE   what the farm's access file wants as audience (kiln); GitHub and Buildkite are asked for it
#   KILN_ID_TOKEN   gitlab: the token, as id_tokens of the job sets it
#   KILN_TOKEN_FILE file: a file with the token, such as Jenkins makes
#   KILN_OUT        directory to make, with a folder for each artifact (kiln-artifacts)
#   KILN_VSA_WAIT   seconds to wait for the farm's own verdict (60); 0: not at all
#
# In KILN_OUT: summary.md, artifacts.env (KILN_ARTIFACTS="sha256:..."), and SHA256/ with the artifact, its statements and vsa.json.
# On GitHub the summary and the output "artifacts" are set besides, on Buildkite an annotation and meta-data.
# The exit code is that of the kiln command that failed; 2 where something is missing.
#
# The token is in no command line and in no line of the log: it goes from the CI system into a file of mode 0600 in a folder
# of its own, which is removed at the end.
set -eu
set +x +a
umask 077

die() {
  code=$1
  shift
  printf 'kiln-ci: %s\n' "$*" >&2
  exit "$code"
}

# The CI system, by what it sets in every job.
find_issuer() {
  if [ -n "${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ]; then echo github
  elif [ -n "${KILN_ID_TOKEN:-}" ]; then echo gitlab
  elif [ -n "${KILN_TOKEN_FILE:-}" ]; then echo file
  elif [ -n "${BUILDKITE_JOB_ID:-}" ]; then echo buildkite
  elif [ "${GITHUB_ACTIONS:-}" = true ]; then
    die 2 "the job may not ask for a token: give it \"permissions: id-token: write\""
  elif [ -n "${GITLAB_CI:-}" ]; then
    die 2 "there is no KILN_ID_TOKEN: give the job \"id_tokens: KILN_ID_TOKEN: aud: $audience\""
  else
    echo none
  fi
}

# The two secrets that come in variables: kept from every program that is started from here on.
take_secrets() {
  unset given_token request_token  # so that they are not exported, whatever came in
  given_token=${KILN_ID_TOKEN:-}
  request_token=${ACTIONS_ID_TOKEN_REQUEST_TOKEN:-}
  given_file=${KILN_TOKEN_FILE:-}
  unset KILN_ID_TOKEN ACTIONS_ID_TOKEN_REQUEST_TOKEN
}

# What a token and what a farm's audience may be made of: neither can leave its place in a file or an address.
is_token() {
  case $1 in
    '' | *[!A-Za-z0-9._~+/=-]*) return 1 ;;
  esac
}

# curl reads the bearer from a file that it finds open, so that the process list shows nothing of it, and no .curlrc that may have it
# tell what it sends.
ask_github() {
  is_token "$request_token" || die 2 "ACTIONS_ID_TOKEN_REQUEST_TOKEN is no token"
  curl --disable --silent --show-error --fail --max-time 30 --retry 3 --max-filesize 65536 --config - \
    --output "$work/answer" <<END || die 7 "GitHub gave no token"
url = "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=$audience"
header = "Authorization: bearer $request_token"
END
  sed -n 's/.*"value" *: *"\([A-Za-z0-9._-]*\)".*/\1/p' "$work/answer" >"$work/fresh"
  rm -f "$work/answer"
}

# A token that is good now, put in the place of the last one at once: kiln reads the file for each call.
renew() {
  case $issuer in
    none) return 0 ;;
    github) ask_github ;;
    gitlab)
      cat >"$work/fresh" <<END
$given_token
END
      ;;
    buildkite)
      buildkite-agent oidc request-token --audience "$audience" >"$work/fresh" || die 7 "Buildkite gave no token"
      ;;
    file) tr -d '\r\n' <"$given_file" >"$work/fresh" || die 2 "KILN_TOKEN_FILE cannot be read" ;;
  esac
  is_token "$(cat "$work/fresh")" || die 2 "what $issuer gave is no token"
  mv "$work/fresh" "$work/token"
}

# GitHub's and Buildkite's tokens live for some minutes, a build may for longer. Ends soon after the run has.
keep_fresh() {
  age=0
  while sleep 5 && [ -d "$work" ]; do
    age=$((age + 5))
    [ "$age" -ge 200 ] || continue
    age=0
    (renew) || age=190  # soon again: the last one is good for another minute
  done
}

clean_up() {
  status=$?
  trap - EXIT
  [ -z "${renewer:-}" ] || kill "$renewer" 2>/dev/null || :
  rm -rf "$work"
  exit "$status"
}

# Of what comes from elsewhere, on a page that a browser shows: nothing that means something there.
plain() { printf '%s' "$1" | tr -c 'A-Za-z0-9 ()._/@:#+,=-' '?' | cut -c1-400; }

say() { printf '%s\n' "$@" >>"$KILN_OUT/summary.md"; }

# The verification summary of an artifact's folder that was made at a time, as vsa.json in it.
keep_summary() {
  find "$1" -type f -name '*.json' | sort | while IFS= read -r bundle; do
    sed -n 's/.*"payload" *: *"\([A-Za-z0-9+/=]*\)".*/\1/p' "$bundle" | base64 -d 2>/dev/null >"$work/statement" || continue
    if grep -qF '"predicateType":"https://slsa.dev/verification_summary/v1"' "$work/statement" &&
      grep -qF "\"timeVerified\":\"$2\"" "$work/statement"; then
      cp "$bundle" "$work/vsa"
    fi
  done
  [ ! -e "$work/vsa" ] || mv "$work/vsa" "$1/vsa.json"
}

# gate DIGEST: fetches it, which verifies it under root and policy; again until there is a verdict of those whom the root lets
# speak. The last one is in `verdict`, "none yet" if there is none.
gate() {
  folder=$KILN_OUT/${1#sha256:}
  left=${KILN_VSA_WAIT:-60}
  while :; do
    rm -rf "$folder"
    kiln fetch "$1" --out "$folder" >"$work/fetched" || return
    kiln show "$folder" >"$work/shown" || return
    verdict=$(sed -n 's/^verdict  *//p' "$work/shown" | tail -n 1)
    if [ -n "$verdict" ] || [ "$left" -le 0 ]; then break; fi
    sleep 2
    left=$((left - 2))
  done
  made=$(printf '%s\n' "$verdict" | sed -n 's/.* at \([0-9TZ:-]*\) by .*/\1/p')
  [ -z "$made" ] || keep_summary "$folder" "$made"
  [ -n "$verdict" ] || verdict="none yet"
}

# For what shows a run's results: each CI system has a place of its own for them.
publish() {
  [ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$KILN_OUT/summary.md" >>"$GITHUB_STEP_SUMMARY"
  [ -z "${GITHUB_OUTPUT:-}" ] || printf 'artifacts=%s\n' "$artifacts" >>"$GITHUB_OUTPUT"
  if [ -n "${BUILDKITE_JOB_ID:-}" ] && command -v buildkite-agent >/dev/null; then
    buildkite-agent annotate --context kiln --style "$1" <"$KILN_OUT/summary.md"
    [ -z "$artifacts" ] || buildkite-agent meta-data set kiln-artifacts "$artifacts"
  fi
}

# ended CODE WHAT: the run ends here, and its summary says why.
ended() {
  say "" "**$2**: \`kiln\` ended with exit code $1."
  publish error
  die "$1" "$2"
}

[ $# -eq 0 ] || case $1 in
  -h | --help)
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
if [ $# -eq 0 ]; then
  [ -n "${KILN_MODEL:-}" ] && [ -n "${KILN_TARGETS:-}" ] || die 2 "give MODEL and --target, or KILN_MODEL and KILN_TARGETS"
  set -f
  for target in $KILN_TARGETS; do set -- "$@" --target "$target"; done
  set +f
  while IFS= read -r word; do [ -z "$word" ] || set -- "$@" "$word"; done <<END
${KILN_OPTIONS:-}
END
  set -- "$KILN_MODEL" "$@"
fi
[ -n "${KILN_TRUST_ROOT:-}" ] && [ -n "${KILN_POLICY:-}" ] || die 2 "KILN_TRUST_ROOT and KILN_POLICY must name the gate"
command -v kiln >/dev/null || die 2 "there is no kiln on the PATH"

audience=${KILN_AUDIENCE:-kiln}
case $audience in
  *[!A-Za-z0-9._~:/-]*) die 2 "KILN_AUDIENCE has a character that no address has" ;;
esac
issuer=${KILN_OIDC:-$(find_issuer)} || exit
case $issuer in
  github | gitlab | buildkite | file | none) ;;
  *) die 2 "KILN_OIDC: there are github, gitlab, buildkite, file and none" ;;
esac
take_secrets

work=$(mktemp -d "${TMPDIR:-/tmp}/kiln-ci.XXXXXX")
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
KILN_OUT=${KILN_OUT:-kiln-artifacts}
(umask 022 && mkdir -p "$KILN_OUT")
: >"$KILN_OUT/summary.md"
artifacts=""

renew
if [ "$issuer" != none ]; then
  KILN_TOKEN_FILE=$work/token
  export KILN_TOKEN_FILE
fi
case $issuer in
  github | buildkite)
    keep_fresh >/dev/null 2>&1 </dev/null &
    renewer=$!
    ;;
esac

say "### Kiln: $(plain "$1")"
code=0
kiln build "$@" >"$work/built" || code=$?
cat "$work/built"
[ "$code" -eq 0 ] || ended "$code" "the build failed"
artifacts=$(sed -n 's/^artifact \(sha256:[0-9a-f]\{64\}\)$/\1/p' "$work/built" | tr '\n' ' ')
artifacts=${artifacts% }
[ -n "$artifacts" ] || ended 1 "the build named no artifact"

say "" "| Artifact | Gate | Verdict |" "|---|---|---|"
for artifact in $artifacts; do
  [ -n "${renewer:-}" ] || renew
  gate "$artifact" || ended $? "$artifact does not pass the gate"
  say "| \`$artifact\` | passed \`$(plain "${KILN_POLICY##*/}")\` | $(plain "$verdict") |"
done
printf 'KILN_ARTIFACTS="%s"\n' "$artifacts" >"$KILN_OUT/artifacts.env"
publish success
