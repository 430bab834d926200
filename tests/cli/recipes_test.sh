#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Follows the recipes of docs/command.md, with a server and a test program instead of the user's.
#
#   recipes_test.sh WAITER COMMAND_MD
#
# Skips tools that are not installed: python3 with YAML, make, systemd-analyze.
set -uo pipefail

page=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$(realpath "$1")" "$work/bin/waiter"
PATH=$work/bin:$PATH
unset "${!WAITER_@}"
cd "$work" || exit 1
failed=0

# check WHAT OUTPUT CODE WANTED_TEXT WANTED_CODE: compares the output and exit code of a recipe.
check() {
  if [[ $2 == *"$4"* && $3 == "$5" ]]; then
    echo "$1: ok"
  else
    echo "FAILED: $1: exit code $3, wanted $5 and \"$4\": $2"
    failed=1
  fi
}

# block LANGUAGE N: prints the Nth block of code of the section "Recipes" in that language.
block() {
  awk -v language="$1" -v number="$2" '
    /^## / { inside = /^## Recipes$/ }
    inside && /^```/ { if (on) { on = 0 } else if ($0 == "```" language && ++count == number) { on = 1 } ; next }
    on { print }' "$page"
}

cat >serve <<'EOF'
#!/usr/bin/env python3
"""Answers that all is well, after a moment."""
import http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "UP"}')

    def log_message(self, *_):
        pass

time.sleep(0.3)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1].split("=")[1])), Handler).serve_forever()
EOF
printf '#!/bin/sh\necho "tests ran"\n' >run-tests
printf '#!/bin/sh\necho "serving"\n' >bin/serve
chmod +x serve run-tests bin/serve
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])') || exit 1
: >ready

entrypoint=$(block dockerfile 1 | sed -nE 's/^ENTRYPOINT \[(.*)\]$/\1/p' | sed 's/", "/" "/g')
eval "words=($entrypoint)"
output=$(WAITER_TARGETS=file:ready "${words[@]}" 2>&1)
check 'Dockerfile' "$output" $? serving 0

if python3 -c 'import yaml' 2>/dev/null; then
  eval "$(block yaml 1 | python3 -c '
import shlex, sys, yaml
for name, value in yaml.safe_load(sys.stdin)["services"]["web"]["environment"].items():
    print(f"compose_{name}={shlex.quote(value)}")')"
  output=$(WAITER_TARGETS=$compose_WAITER_TARGETS WAITER_TIMEOUT=0 "${words[@]/--timeout=2m/--any}" 2>&1)
  check 'compose' "$output" $? 'postgres://db/app' 124
  [[ $output != *secret* ]] || { echo 'FAILED: compose: the password is shown'; failed=1; }
  mapfile -t words < <(block yaml 2 | python3 -c '
import sys, yaml
print("\n".join(yaml.safe_load(sys.stdin)["spec"]["initContainers"][0]["command"]))')
  output=$("${words[@]/--timeout=5m/--timeout=0}" 2>&1)
  check 'Kubernetes' "$output" $? '2 of 2 targets were not ready' 124
  mapfile -t words < <(block yaml 3 | python3 -c 'import sys, yaml; print("\n".join(step["run"] for step in yaml.safe_load(sys.stdin)))')
  GITHUB_ENV=$work/environment
  eval "${words[0]//8080/$port}" >/dev/null 2>&1
  . "$GITHUB_ENV"
  output=$(eval "${words[1]//8080/$port}" 2>&1)
  check 'GitHub Actions' "$output" $? 'tests ran' 0
  kill "$SERVER"
  wait
else
  echo 'left out: compose, Kubernetes and GitHub Actions, as python3 has no yaml'
fi

if command -v systemd-analyze >/dev/null; then
  block ini 1 | sed "s,/usr/bin/waiter,$work/bin/waiter,; s,/usr/local/bin/serve,$work/bin/serve," >web.service
  output=$(systemd-analyze verify ./web.service 2>&1)
  check 'systemd' "$output" $? '' 0
fi

if command -v make >/dev/null; then
  block make 1 | sed "s/8080/$port/" >Makefile
  output=$(make -s test 2>&1)
  check 'Makefile' "$output" $? 'tests ran' 0
fi

output=$(bash -c "$(block sh 1 | sed "s/8080/$port/"); kill \$server" 2>&1)
check 'test script' "$output" $? 'tests ran' 0
output=$(eval "$(block sh 3 | sed -n "1s/8080/$port/p")" 2>&1)
check 'gone' "$output" $? 'gone' 0
exit "$failed"
