#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the rows of tables with the assertions of similar commands' tests, and how `waiter` compares.
#
#   peers_test.sh PROGRAM SERVERS_PY TABLE...
#
# A row has six columns with a tab between them. Lines that begin with # are comments.
#
#   test       name of the peer's test
#   assertion  its assertion
#   verdict    same: the assertion holds, in waiter's own words and exit codes;
#              better: it holds, and the row shows more, such as the reason in the message;
#              other: offered in another form, or by a line of standard shell tools in exec:;
#              worse; not offered
#   command    line for bash that shows it, with `waiter` in PATH, or - if none can be run
#   exit       exit code of the command, or -
#   text       text that the output of the command contains; !TEXT if it must not; - if any will do.
#              Without a command, the reason
#
# The command may use these variables; all ports are of loopback:
#
#   PORT, OPEN, OPEN2          a port without a listener; ports that accept
#   PORT6, OPEN6               the same of IPv6
#   FULL                       a port where connections hang
#   HTTP, HTTPS                URLs of servers; Handler in servers.py has the paths. No authority signed the certificate
#   HTTP_SOCKET                path of a Unix socket with a server like that of HTTP
#   LATE, LATE_SOCKET          a port and the path of a Unix socket that speak HTTP after 300 ms
#   GRPC                       port of a server with the health service of gRPC; answer_grpc in servers.py has the names
#   REDIS, EMPTY_REDIS, POSTGRES, MYSQL, AMQP, KAFKA, MONGODB   ports of servers that know the first answer of the protocol
#   DNS                        a port of UDP where a name server knows one record of each type for every name
#   NODE                       Node.js
#   DIR                        a fresh folder, where the command starts
set -uo pipefail

limit=10 # seconds for one row
parallel=16

work=$(mktemp -d)
servers=''
trap '[[ -z $servers ]] || kill "$servers"; rm -rf "$work"' EXIT
die() { echo "FAILED: $*"; exit 1; }

command -v python3 >/dev/null || die 'python3 is missing'
mkdir "$work/bin"
ln -s "$(realpath "$1")" "$work/bin/waiter"
[[ -x $work/bin/waiter ]] || die "no such program: $1"
servers_py=$(realpath "$2")
shift 2
PATH=$work/bin:$PATH
unset "${!WAITER_@}" http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

# await FILE: waits until a server has written the file.
await() {
  local i
  for ((i = 0; i < 500; ++i)); do
    [[ ! -e $1 ]] || return 0
    sleep 0.02
  done
  return 1
}

# run_row FOLDER COMMAND: runs the command in a fresh folder, and writes its output and exit code to FOLDER.
run_row() {
  local late=''
  export DIR=$1/dir
  mkdir -p "$DIR"
  if [[ $2 == *"\$LATE"* ]]; then
    python3 "$servers_py" late "$1" &
    late=$!
    await "$1/addresses" || echo 'the late server does not start' >"$1/output"
    set -a
    # shellcheck disable=SC1091 # written by servers.py
    . "$1/addresses"
    set +a
  fi
  (cd "$DIR" && exec timeout -s KILL "$limit" bash -c "$2") >>"$1/output" 2>&1 </dev/null
  echo $? >"$1/code"
  [[ -z $late ]] || kill "$late"
} 2>/dev/null # bash tells of the server that it ends

# The three functions below set `wrong` to the problem, or to nothing. Printing it would cost a process for each.

# check_row VERDICT COMMAND EXIT TEXT MORE: checks the columns of a row.
check_row() {
  wrong=''
  case $1 in same | better | other | worse | 'not offered') ;; *) wrong+="no such verdict: $1; " ;; esac
  [[ -n $4 && -z $5 ]] || wrong+='not six columns; '
  if [[ $2 == - ]]; then
    [[ $3 == - && $4 != - ]] || wrong+='an exit code or no reason without a command; '
  else
    [[ $3 =~ ^[0-9]+$ ]] || wrong+="not an exit code: $3; "
    [[ $1 != 'not offered' ]] || wrong+='a command although it is not offered; '
  fi
}

# check_servers COMMAND: checks that the servers which the command uses run here.
check_servers() {
  local name
  wrong=''
  for name in PORT6 OPEN6 HTTPS NODE; do
    [[ $1 != *"\$$name"* || -n ${!name} ]] || wrong+="no $name here"
  done
}

# check_result FOLDER EXIT TEXT: compares the result of a row with its table.
check_result() {
  local code output
  code=$(<"$1/code")
  output=$(<"$1/output")
  wrong=''
  [[ $code == "$2" ]] || wrong+="exit code $code, not $2; "
  case $3 in
    -) ;;
    !*) [[ $output != *"${3#!}"* ]] || wrong+="output contains: ${3#!}" ;;
    *) [[ $output == *"$3"* ]] || wrong+="output does not contain: $3" ;;
  esac
}

python3 "$servers_py" all "$work" &
servers=$!
await "$work/addresses" || die 'the servers do not start'
set -a
# shellcheck disable=SC1091
. "$work/addresses"
NODE=$(command -v node)
set +a

total_failed=0 total_run=0 unreadable=0 row=0
declare -A names counts
rows=()
for table in "$@"; do
  peer=$(basename "$table" .tsv)
  while IFS=$'\t' read -r test assertion verdict command exit text more; do
    [[ $test != '#'* && -n $test ]] || continue
    check_row "$verdict" "$command" "$exit" "$text" "$more"
    [[ -z ${names[$peer/$test]-} ]] || wrong+='this name exists already'
    names[$peer/$test]=yes
    if [[ -n $wrong ]]; then
      echo "UNREADABLE: $peer: $test: $wrong"
      unreadable=$((unreadable + 1))
      continue
    fi
    counts[$peer/$verdict]=$((${counts[$peer/$verdict]:-0} + 1))
    if [[ $command == - ]]; then
      [[ $verdict == 'not offered' ]] || counts[$peer/not run]=$((${counts[$peer/not run]:-0} + 1))
      continue
    fi
    check_servers "$command"
    if [[ -n $wrong ]]; then
      echo "left out: $peer: $test: $wrong"
      counts[$peer/left out]=$((${counts[$peer/left out]:-0} + 1))
      continue
    fi
    ((row < parallel)) || wait -n
    row=$((row + 1))
    mkdir "$work/$row"
    run_row "$work/$row" "$command" &
    rows+=("$row"$'\t'"$peer"$'\t'"$test: $assertion"$'\t'"$exit"$'\t'"$text")
  done <"$table"
done
((${#rows[@]})) || die 'no row was run'
# One job is left, the servers.
while (($(jobs -rp | wc -l) > 1)); do wait -n; done

for line in "${rows[@]}"; do
  IFS=$'\t' read -r row peer test exit text <<<"$line"
  total_run=$((total_run + 1))
  counts[$peer/run]=$((${counts[$peer/run]:-0} + 1))
  check_result "$work/$row" "$exit" "$text"
  [[ -n $wrong ]] || continue
  total_failed=$((total_failed + 1))
  echo "FAILED: $peer: $test: $wrong"
  sed 's/^/    /' "$work/$row/output"
done

for table in "$@"; do
  peer=$(basename "$table" .tsv)
  count() { echo "${counts[$peer/$1]:-0}"; }
  echo "$peer: $(count same) same, $(count better) better, $(count other) other, $(count worse) worse," \
    "$(count 'not offered') not offered; $(count run) rows run, $(count 'not run') have no command," \
    "$(count 'left out') left out"
done
echo "$total_run rows run, $total_failed failed, $unreadable unreadable"
((total_failed == 0 && unreadable == 0))
