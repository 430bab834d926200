# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the English of sources and documents, one sentence per line: kind, path, line, opening, text, with a tab
# between. The kind is comment, message or document; opening is 1 for the first sentence of a comment or paragraph.
# Code is left out; a name in backquotes is one word.

function flush(  rest, first, cut) {
  rest = text
  text = ""
  gsub(/`[^`]*`/, "X", rest)
  gsub(/\]\([^)]*\)/, "", rest)
  gsub(/https?:[^ ]*/, "X", rest)
  gsub(/[\t*_\[\]]/, " ", rest)
  first = 1
  while (match(rest, /[.!?]["')]* +["'(]*[A-Z]/)) {
    cut = RSTART + RLENGTH - 2
    emit(substr(rest, 1, cut), first)
    rest = substr(rest, cut + 1)
    first = 0
  }
  emit(rest, first)
}

function emit(sentence, first) {
  gsub(/ +/, " ", sentence)
  sub(/^ /, "", sentence)
  sub(/ $/, "", sentence)
  if (sentence ~ /[A-Za-z]/) printf "%s\t%s\t%d\t%d\t%s\n", kind, FILENAME, start, first, sentence
}

# Adds a line to the current text, which begins a new one if there is none.
function add(which, line) {
  if (text != "" && kind != which) flush()
  if (text == "") { kind = which; start = FNR }
  text = text " " line
}

# Adds the string literals of a line of code that have at least two words.
function literals(line,  found, literal, before) {
  found = 0
  while (match(line, /"([^"\\]|\\.)*"/)) {
    literal = substr(line, RSTART + 1, RLENGTH - 2)
    before = substr(line, 1, RSTART - 1)
    line = substr(line, RSTART + RLENGTH)
    if (before ~ /[^ \t]/ || kind != "message") flush()
    gsub(/\\n/, " ", literal)
    gsub(/\\./, "'", literal)
    if (literal ~ /[A-Za-z]+ [A-Za-z]|^ *[A-Za-z]+ +$/) { add("message", literal); found = 1 }
  }
  if (!found) flush()
}

FNR == 1 { if (path != "") { name = FILENAME; FILENAME = path; flush(); FILENAME = name }; path = FILENAME; fence = 0; raw = "" }

FILENAME ~ /\.md$/ {
  if ($0 ~ /^ *(```|~~~)/) { flush(); fence = !fence; next }
  if (fence || $0 ~ /^ *<!--/ || $0 ~ /^( {4}|\t)/ && text == "") next
  if ($0 ~ /^[ \t]*$/) { flush(); next }
  if ($0 ~ /^ *\|/) {
    flush()
    cells = split($0, cell, "|")
    for (i = 2; i < cells; ++i) { add("document", cell[i]); flush() }
    next
  }
  if ($0 ~ /^#/) { flush(); sub(/^#+ */, ""); add("document", $0); flush(); next }
  if ($0 ~ /^ *([-*+]|[0-9]+[.)]) /) { flush(); sub(/^ *([-*+]|[0-9]+[.)]) +/, "") }
  add("document", $0)
  next
}

raw != "" { if (index($0, raw)) raw = ""; next }

/^[ \t]*\/\// {
  line = $0
  sub(/^[ \t]*\/\/[\/!]?/, "", line)
  if (line ~ /^[ \t]*$/ || line ~ /^ {3}/ || line ~ /Copyright|SPDX|NOLINT|^ ?(https?:|[-=*#]+$|===|---)/) { flush(); next }
  if (line ~ /^ *\|/) {
    flush()
    cells = split(line, cell, "|")
    for (i = 2; i < cells; ++i) { add("comment", cell[i]); flush() }
    next
  }
  if (line ~ /^ *([-*]|[0-9]+[.)]) /) { flush(); sub(/^ *([-*]|[0-9]+[.)]) +/, "", line) }
  add("comment", line)
  next
}

/^[ \t]*#/ { flush(); next }

{
  line = $0
  if (match(line, /R"[^(" ]*\(/)) {
    raw = ")" substr(line, RSTART + 2, RLENGTH - 3) "\""
    if (index(substr(line, RSTART + RLENGTH), raw)) raw = ""
    flush()
    next
  }
  if (text != "" && kind == "comment") flush()
  tail = ""
  if (match(line, /(^|[^:"])\/\/ [^"]*$/)) { tail = substr(line, RSTART); line = substr(line, 1, RSTART - 1); sub(/^.?\/\/ /, "", tail) }
  literals(line)
  if (tail ~ /[a-z] [a-z]/ && tail !~ /NOLINT/ && line !~ /^} *$/) { flush(); add("comment", tail); flush() }
}

END { FILENAME = path; flush() }
