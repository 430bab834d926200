# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints the source of linked_functions.h: the functions that the given sources look up. Each source looks in the
# library whose file it names, such as "libjq.so.1".

# Returns the first string literal in `text`.
function literal(text) {
  match(text, /"[^"]*"/)
  return substr(text, RSTART + 1, RLENGTH - 2)
}

match($0, /"lib[a-z0-9]+\.so\.[0-9]+"/) { library[FILENAME] = literal(substr($0, RSTART)) }

match($0, /FindSymbol\(library, "/) {
  names[++count] = literal(substr($0, RSTART))
  source[count] = FILENAME
}

END {
  print "#include \"packaging/static/linked_functions.h\"\n"
  for (i = 1; i <= count; ++i) {
    if (!declared[names[i]]++) printf "extern \"C\" void %s();\n", names[i]
  }
  print "\nnamespace waiter::cli {\n\nstd::span<const LinkedFunction> LinkedFunctions() {"
  print "  static constexpr LinkedFunction kFunctions[] = {"
  for (i = 1; i <= count; ++i) {
    printf "      {\"%s\", \"%s\", &%s},\n", library[source[i]], names[i], names[i]
  }
  print "  };\n  return kFunctions;\n}\n\n}  // namespace waiter::cli"
}
