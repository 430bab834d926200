#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Checks without Docker that compose.yaml, Dockerfile and CMakeLists.txt fit the program and each other.
# Leaves compose.yaml out if python3 has no yaml.
#
#   compose_test.sh COMPOSE_YAML WORKER
set -uo pipefail

compose=$1 worker=$PWD/$2
folder=$(dirname "$compose")
failed=0

fail() { echo "FAILED: $*"; failed=1; }

# The program says which variables it needs, and takes them as compose.yaml has them.
mapfile -t variables < <(grep -oE 'getenv\("[A-Z_]+"\)' "$folder/worker.cc" | grep -oE '[A-Z_]{2,}' | sort)
((${#variables[@]} == 2)) || fail "variables of the program: ${variables[*]}"
output=$("$worker" 2>&1)
status=$?
if [[ $output != *'built without hiredis'* ]]; then
  ((status == 2)) || fail "without variables the worker exits with $status"
  for name in "${variables[@]}"; do
    [[ $output == *"$name"* ]] || fail "the worker does not ask for $name: $output"
    output_of_bad=$(REDIS_URL=redis://redis POLLS_PER_SECOND=20 env "$name=-" "$worker" 2>&1)
    [[ $output_of_bad == *"$name"* ]] || fail "a wrong $name: $output_of_bad"
  done
fi

if python3 -c 'import yaml' 2>/dev/null; then
  read -r -a found < <(python3 - "$compose" <<'END'
import sys, yaml
services = yaml.safe_load(open(sys.argv[1]))["services"]
worker, redis = services["worker"], services["redis"]
assert set(services) == {"worker", "redis"}, services
assert worker["deploy"]["replicas"] == 3
assert worker["environment"]["REDIS_URL"] == "redis://redis:6379"
assert float(worker["environment"]["POLLS_PER_SECOND"]) == 20
assert int(redis["image"].split(":")[1]) >= 7
assert redis["command"][-2:] == ["--maxmemory-policy", "noeviction"]
print(worker["build"]["context"], worker["build"]["dockerfile"], *sorted(worker["environment"]))
END
  ) || fail 'compose.yaml'
  ((${#found[@]} == 4)) || fail "compose.yaml: ${found[*]}"
  [[ $folder/${found[0]:-} -ef . ]] || fail "the context ${found[0]:-} is not the project"
  [[ ${found[1]:-} -ef $folder/Dockerfile ]] || fail "there is no ${found[1]:-}"
  [[ ${found[*]:2} == "${variables[*]}" ]] || fail "compose.yaml sets ${found[*]:2}, the program reads ${variables[*]}"
else
  echo 'left out: compose.yaml, as python3 has no yaml'
fi

# What is built is what is copied and started.
grep -q "^CMD \[\"worker\"\]$" "$folder/Dockerfile" || fail 'Dockerfile does not start the worker'
grep -q '^COPY --from=build /build/worker /usr/local/bin/worker$' "$folder/Dockerfile" || fail 'Dockerfile does not copy it'
grep -q -- "-S /waiter/$folder " "$folder/Dockerfile" || fail "Dockerfile does not build $folder"
read -r -a sources < <(sed -nE 's/^add_executable\(worker (.*)\)$/\1/p' "$folder/CMakeLists.txt")
((${#sources[@]} == 2)) || fail "CMakeLists.txt: sources ${sources[*]}"
for source in "${sources[@]}"; do
  [[ -r $folder/$source ]] || fail "CMakeLists.txt: there is no $source"
done
exit "$failed"
