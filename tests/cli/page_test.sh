#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Opens every page of `--html` in headless Chromium: each chart must have drawn marks, and the console
# must be clean. The test's outputs hold screenshots.
#
#   page_test.sh WAITER LOG BENCH_REPORT
set -uo pipefail

waiter=$1
log=$2
bench_report=$3
program=$waiter
export PATH=$PWD/$(dirname "$waiter"):$PATH  # Has waiter-page, for programs elsewhere.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
screenshots=${TEST_UNDECLARED_OUTPUTS_DIR:-$scratch}
failed=0

fail() { echo "FAILED: $*"; failed=1; }

# browse RESULT ARGUMENT...: runs Chromium, with its output in $scratch/out and $scratch/log. Runs it again if
# it died or hung before the file RESULT had any content, as happens on a loaded machine. A wrong page stays
# wrong.
browse() {
  local result=$1
  shift
  for _ in 1 2 3; do
    rm -rf "$scratch/profile" "$result"
    # Without the flags on networking, Chromium looks for its maker's hosts. A container may have a small
    # /dev/shm and no store for passwords.
    timeout --kill-after=5 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
      --no-default-browser-check --disable-background-networking --disable-component-update --disable-sync \
      --disable-extensions --disable-dev-shm-usage --password-store=basic --hide-scrollbars \
      --user-data-dir="$scratch/profile" --enable-logging=stderr --virtual-time-budget=10000 "$@" \
      >"$scratch/out" 2>"$scratch/log"
    [[ -s $result ]] && return
  done
}

# check NAME CHARTS MARKS ARGUMENT...: checks that the page of `$program ARGUMENT...` has CHARTS charts, each
# with at least MARKS marks.
check() {
  local name=$1 charts=$2 least=$3 page=$scratch/$1.html dom=$scratch/out marks drawn figures=0
  shift 3
  "$program" "$@" "--html=$page" >/dev/null || { fail "$name: $program $*"; return; }
  grep -Eq '(src|href)="(https?:)?//' "$page" && fail "$name: the page refers to another host"
  browse "$dom" --dump-dom "file://$page"
  grep -a CONSOLE "$scratch/log" && fail "$name: the console is not clean"
  drawn=$(grep -ao '<body data-charts="[0-9]*"' "$dom" | grep -o '[0-9]*')
  [[ $drawn == "$charts" ]] || fail "$name: ${drawn:-no} charts instead of $charts"
  while read -r marks; do
    ((++figures))
    ((marks >= least)) || fail "$name: a chart with $marks marks"
  done < <(grep -ao '<figure [^>]*data-marks="[0-9]*"' "$dom" | sed 's/.*data-marks="//; s/"//')
  ((figures == charts)) || fail "$name: $figures charts say how many marks they have, not $charts"
  browse "$screenshots/$name.png" --window-size=900,1900 "--screenshot=$screenshots/$name.png" "file://$page"
  [[ -s $screenshots/$name.png ]] || fail "$name: no screenshot"
  echo "$name: ${drawn:-no} charts"
}

command -v chromium >/dev/null || { echo "chromium is missing"; exit 1; }
check plan 2 2 plan --backoff=1s,2,30s
check expect 4 4 plan --expect=60s --backoff=1s,2,30s --jitter=full
check fleet 1 10 simulate fleet --clients=200 --polls-per-second=100 --backoff=1s,2,30s
check budgets 1 10 simulate budgets --processes=10 --busy=5 --polls-per-second=10 --duration=30s
check contention 1 10 simulate contention --clients=10,20,40 --runs=5
check report 1 10 report "$log"
cat >"$scratch/bench.json" <<'END'
{"context": {}, "benchmarks": [
  {"name": "BM_Wait/polls:1", "cpu_time": 5, "time_unit": "ns"},
  {"name": "BM_Wait/polls:1", "cpu_time": 7, "time_unit": "ns"},
  {"name": "BM_Clock", "cpu_time": 22, "time_unit": "ns"}]}
END
program=$bench_report
check benchmark 1 2 "$scratch/bench.json"
exit "$failed"
