#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Compares the flags in the manual page and in the completions with those of the program, completes command lines
# in bash, and makes each installed tool read its file.
#
#   command_texts_test.sh COMMAND_TEXTS PROGRAM COMMAND_MD
set -uo pipefail

program=$PWD/$2
texts=$(mktemp -d)
trap 'rm -rf "$texts"' EXIT
failed=0

fail() {
  echo "FAILED: $*"
  failed=1
}

"$1" "$program" "$3" "$texts" || { fail 'tools/command_texts'; exit 1; }

# same CASE EXPECTED ACTUAL: compares two lists of words.
same() {
  local difference
  difference=$(diff <(tr ' ' '\n' <<<"$2" | grep . | sort) <(tr ' ' '\n' <<<"$3" | grep . | sort)) && return
  fail "$1"
  echo "$difference"
}

# flags_of [WORD...]: prints all flags that the help of a command line shows.
flags_of() {
  local topic
  for topic in '' $("$program" "$@" --help | sed -nE 's/^  --help(=[a-z]+).*/\1/p'); do
    "$program" "$@" "--help$topic"
  done | sed -nE 's/^  (--[a-z0-9-]+).*/\1/p' | sort -u
}

# manual_flags HEADING: prints the flags of one section of the manual page.
manual_flags() {
  awk -v heading="$1" '/^\.S[HS]/ { inside = $0 == heading; next } inside' "$texts/waiter.1" |
    sed -nE 's/\\-/-/g; s/^\\fB(--[a-z0-9-]+)\\fR.*/\1/p'
}

# complete WORD...: prints how bash completes the last word.
complete_words() {
  bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _waiter; printf "%s\n" "${COMPREPLY[@]}"' \
    bash "$texts/waiter.bash" "$@" 2>&1
}

for line in '' exec operation plan report budgets mcp 'simulate budgets' 'simulate fleet' 'simulate contention' 'simulate learned' \
  'durable add' 'durable work' 'durable status' 'durable list' 'durable show' 'durable notify' 'durable cancel' 'durable forget' 'durable move' 'durable check'; do
  # shellcheck disable=SC2086 # words
  expected=$(flags_of $line)
  [[ -n $expected ]] || fail "no flags of waiter $line"
  heading=".SS waiter $line"
  [[ -n $line ]] || heading='.SH OPTIONS'
  same "manual page: waiter $line" "$(grep -vx -- --help <<<"$expected")" "$(manual_flags "$heading" | grep -vx -- --help)"
  # shellcheck disable=SC2086
  same "bash: waiter $line" "$(printf '%s\n' "$expected" --help | sort -u)" "$(complete_words waiter $line -- | tr -d =)"
  same "zsh: waiter $line" "$(grep -vx -- --help <<<"$expected")" \
    "$(awk -v begin="    '$line') flags+=(" '$0 == begin { inside = 1; next } /^    \)/ { inside = 0 } inside' "$texts/_waiter" |
      sed -nE "s/^ +'\*?(--[a-z0-9-]+).*/\1/p")"
  same "fish: waiter $line" "$(grep -vx -- --help <<<"$expected")" \
    "$(sed -nE "s/^complete -c waiter -n '__waiter_is${line:+ $line}' -l ([a-z0-9-]+) .*/--\1/p" "$texts/waiter.fish")"
done

same 'subcommands and targets' 'tcp:// unix: http:// https:// http+unix:// grpc:// grpcs:// redis:// rediss:// postgres:// mysql:// amqp:// kafka:// mongodb:// memcached:// nats:// mqtt:// ws:// wss:// dns: file: log: systemd: docker: kubernetes: pid: exec: exec operation plan report simulate budgets durable mcp' \
  "$(complete_words waiter '')"
same 'a scheme' 'postgres:// pid: plan' "$(complete_words waiter p)"
same 'a target after a flag has no subcommand' 'pid: postgres://' "$(complete_words waiter --any p)"
same 'a target after its label' 'redis:// rediss://' "$(complete_words waiter db = re)"
same 'a flag' '--timeout= --timeout-code=' "$(complete_words waiter tcp : //localhost:1 --timeo)"
same 'the value of a flag' 'plain' "$(complete_words waiter --progress = pl)"
same 'all values of a flag' 'auto always never' "$(complete_words waiter --color =)"
same 'actions' 'add work status list show notify cancel forget move check' "$(complete_words waiter durable '')"
same 'models' 'budgets fleet contention learned' "$(complete_words waiter simulate '')"
same 'a program' 'true' "$(complete_words waiter file:x -- tru | grep -x true | head -n 1)"
: >"$texts/a.log"
same 'a file' "$texts/a.log" "$(complete_words waiter --log-json = "$texts/a")"

# The words that a flag is completed with are words that it takes.
for flag in progress color jitter retry-after; do
  for word in $(complete_words waiter "--$flag" =); do
    "$program" "--$flag=$word" --help >"$texts/out" 2>&1 || fail "--$flag=$word: $(<"$texts/out")"
  done
done
grep -qF "$("$program" --version)" "$texts/waiter.1" || fail 'the manual page has no version'

# check PROGRAM COMMAND...: runs the command, which must print nothing, if PROGRAM is installed.
check() {
  local output
  command -v "$1" >/dev/null || { echo "left out: $1 is missing"; return; }
  if ! output=$("${@:2}" 2>&1 >"$texts/out") || [[ -n $output ]]; then fail "${*:2}: $output"; fi
}
check man env LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -l "$texts/waiter.1"
check mandoc mandoc -Tlint -Werror "$texts/waiter.1"
check zsh zsh -n "$texts/_waiter"
check fish fish -n "$texts/waiter.fish"
exit "$failed"
