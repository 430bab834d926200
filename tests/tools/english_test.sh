#!/usr/bin/env bash
# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Expects tools/english to find the phrases of bad samples where they are, and to accept good samples.
#
#   english_test.sh ENGLISH
set -uo pipefail

original=$PWD/$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -p tools bad good
cp -L "${original}"{,.awk,_count.awk} tools/
english=$scratch/tools/english
failed=0

complain() {
  echo "FAILED: $1"
  cat out
  failed=1
}

# expect CASE STATUS ARGUMENT...: runs tools/english, whose output is then in `out`.
expect() {
  "$english" "${@:3}" >out 2>&1
  local status=$?
  [[ $status == "$2" ]] || complain "$1: exits with $status, expected $2"
}

# has CASE TEXT...: expects each text in the output.
has() {
  local text
  for text in "${@:2}"; do grep -qF -- "$text" out || complain "$1: lacks: $text"; done
}

# lacks CASE TEXT
lacks() { ! grep -qF -- "$2" out || complain "$1: has: $2"; }

cat >tools/english.txt <<'END'
# A comment.
0.3 | at once | immediately
0.3 | nobody | no worker
1.0 | [a-z]*([^e]|[^n]e) of its own | its own
1.0 | OPENING | a subject and a verb
10 | LONG | two sentences
END
cat >bad/wait.cc <<'END'
// Copyright 2026 Nobody, nobody and nobody at once.

// Of which nobody
// waits at once.
void Wait();  // Who begins at once, here.

//   nobody_is_in_code("nobody");
const char* kText = "it ends at "
                    "once, as nobody told it";
int nobody = 1;

// Those that begin like this. Which is not counted, as it follows.
END
cat >bad/page.md <<'END'
# A page that nobody reads

Waits end at
once, `at once` and ![x](at once).

| at once | a cell |

```cpp
nobody();  // nobody
```

* One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
  nineteen twenty one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen.
END
cat >good/wait.cc <<'END'
// Ends the wait immediately. No worker polls it again.
const char* kText = "the wait ended";
END

expect 'bad samples' 1 --places bad
has 'bad samples' 'FAULT     5 ' 'at once -> immediately' 'FAULT     3 ' 'nobody -> no worker' \
  'bad/wait.cc:3: Of which nobody waits at once.' 'bad/wait.cc:5: Who begins at once, here.' \
  'bad/wait.cc:8: it ends at once, as nobody told it' 'bad/wait.cc:12: Those that begin like this.' \
  'bad/page.md:1: A page that nobody reads' 'bad/page.md:3: Waits end at once' 'bad/page.md:6: at once' \
  'bad/page.md:12: 36 words: One two'
lacks 'code, licenses and names' 'Copyright'
lacks 'code' 'nobody_is_in_code'
lacks 'a later sentence' 'bad/wait.cc:12: Which'
lacks 'one long sentence' 'FAULT     1 '

expect 'good samples' 0 good
has 'good samples' "no rate is above three times Abseil's"
expect 'two places are no fault' 0 bad/page.md
expect 'rates' 0 --rates bad
has 'rates' ' | at once | immediately'

git init -q . && git add bad good
expect 'all files of the project' 1
has 'all files of the project' 'FAULT     5 ' 'bad/page.md:1: A page that nobody reads'
git rm -qrf bad
expect 'a good project' 0

expect 'a wrong flag' 2 --no-such-flag
expect 'a wrong path' 2 no-such-file
has 'a wrong path' 'no such file or folder: no-such-file'
echo 'no field' >>tools/english.txt
expect 'a wrong list' 2 good
has 'a wrong list' 'not RATE | WHAT | INSTEAD: no field'

exit "$failed"
