# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Counts the phrases of the file `list` in the sentences that tools/english.awk prints. Exits with 1 if the rate of one
# is above three times the one in the list and there are at least three places.

function note(i, where) {
  ++count[i]
  if (places || !rates && count[i] <= 3) place[i] = place[i] "\n    " $2 ":" $3 ": " substr(where, 1, 150)
}

BEGIN {
  FS = "\t"
  while ((getline line <list) > 0) {
    if (line ~ /^#/ || line ~ /^ *$/) continue
    if (split(line, field, / \| /) != 3) { print list ": not RATE | WHAT | INSTEAD: " line >"/dev/stderr"; exit wrong = 2 }
    limit[++n] = 3 * field[1]
    what[n] = field[2]
    instead[n] = field[3]
    if (what[n] ~ /^(OPENING|LONG)$/) index_of[what[n]] = n
    else {
      word[n] = (what[n] ~ /^[a-z(]/ ? "[^a-z]" : "") "(" what[n] ")[^a-z]"
      any = any (any == "" ? "" : "|") word[n]
    }
  }
}

{
  size = split($5, words, " ")
  total += size
  if (index_of["LONG"] && size > 35) note(index_of["LONG"], size " words: " $5)
  if (index_of["OPENING"] && $1 == "comment" && $4 && $5 ~ /^(Of|For which|Which|Who|What|Those) /)
    note(index_of["OPENING"], $5)
  text = " " tolower($5) " "
  if (text !~ any) next
  for (i = 1; i <= n; ++i) {
    if (what[i] ~ /^(OPENING|LONG)$/) continue
    rest = text
    for (hits = gsub(word[i], " ", rest); hits > 0; --hits) note(i, $5)
  }
}

END {
  if (wrong) exit wrong
  printf "%d words of comments, messages and documents\n", total
  for (i = 1; i <= n; ++i) {
    rate = total ? count[i] * 100000 / total : 0
    if (rates) { printf "%.1f | %s | %s\n", rate, what[i], instead[i]; continue }
    fault = rate > limit[i] && count[i] >= 3
    bad = bad || fault
    if (count[i] && (fault || places))
      printf "%s %5d  %6.1f of at most %.1f  %s -> %s%s\n", fault ? "FAULT" : "  ok ", count[i], rate, limit[i], what[i], instead[i], place[i]
  }
  if (!rates && !bad) print "no rate is above three times Abseil's"
  exit bad
}
