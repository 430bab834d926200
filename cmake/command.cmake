# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds the program `waiter`: all sources of cli/ except those of the program that makes pages.

file(GLOB_RECURSE command_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cc)
list(FILTER command_sources EXCLUDE REGEX "/cli/(page_main|charts/page/.*)\\.cc$")

find_package(nlohmann_json 3.11 QUIET CONFIG)
if(NOT TARGET nlohmann_json::nlohmann_json)
  message(FATAL_ERROR "The command needs nlohmann_json 3.11 or newer: install it (Debian: nlohmann-json3-dev).")
endif()
# Its headers alone: http and https targets load the library.
find_path(WAITER_CURL_INCLUDE_DIR curl/curl.h DOC "Folder with the headers of libcurl")
if(NOT WAITER_CURL_INCLUDE_DIR)
  message(
    FATAL_ERROR "The command needs the headers of libcurl: install them (Debian: libcurl4-openssl-dev), or name "
                "their folder by -DWAITER_CURL_INCLUDE_DIR=..."
  )
endif()

# The same for expressions of jq.
find_path(WAITER_JQ_INCLUDE_DIR jq.h DOC "Folder with the headers of libjq")
if(NOT WAITER_JQ_INCLUDE_DIR)
  message(STATUS "libjq is not installed (Debian: libjq-dev): waiter will have no expressions of jq")
endif()

# For shared budgets; as an archive if there is one, so that the program needs no library for them.
find_path(WAITER_HIREDIS_INCLUDE_DIR hiredis/async.h DOC "Folder with hiredis/async.h")
find_library(WAITER_HIREDIS_LIBRARY NAMES libhiredis.a hiredis DOC "hiredis itself")
if(NOT WAITER_HIREDIS_INCLUDE_DIR OR NOT WAITER_HIREDIS_LIBRARY)
  message(STATUS "hiredis is not installed (Debian: libhiredis-dev): waiter will have no --shared-rate, budgets and durable")
endif()

# Abseil as archives, where both kinds are installed: loading a library takes longer than a short wait. Only
# for this project's own build, as the targets may belong to a project that includes this one.
function(waiter_link_abseil_statically)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER targets INCLUDE REGEX "^absl::")
  foreach(target IN LISTS targets)
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
      get_target_property(library ${target} IMPORTED_LOCATION_${configuration})
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${library}")
      if(EXISTS "${archive}")
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${archive}")
      endif()
    endforeach()
  endforeach()
endfunction()
if(top_level AND NOT BUILD_SHARED_LIBS)
  waiter_link_abseil_statically()
endif()

# The specifications of the charts as a C++ source.
function(waiter_write_chart_specs path)
  file(GLOB specs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/charts/*.vl.json)
  set(text "#include \"cli/charts/chart_specs.h\"\nnamespace waiter::charts {\n")
  string(APPEND text "absl::Span<const ChartSpec> ChartSpecs() {\nstatic constexpr ChartSpec kSpecs[] = {\n")
  foreach(spec IN LISTS specs)
    get_filename_component(name ${spec} NAME)
    string(REGEX REPLACE "\\.vl\\.json$" "" name "${name}")
    file(READ ${spec} json)
    string(APPEND text "{\"${name}\", R\"vega(${json})vega\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${spec})
  endforeach()
  string(APPEND text "}; return kSpecs; }\n}  // namespace waiter::charts\n")
  file(CONFIGURE OUTPUT ${path} CONTENT "${text}" @ONLY)
endfunction()
set(chart_specs ${PROJECT_BINARY_DIR}/chart_specs.cc)
waiter_write_chart_specs(${chart_specs})

# The name `waiter` is taken by the library.
add_executable(waiter_program ${command_sources} ${chart_specs})
set_target_properties(waiter_program PROPERTIES OUTPUT_NAME waiter UNITY_BUILD_MODE GROUP)
# Local names are unique within a folder, but not within the command.
foreach(source IN LISTS command_sources)
  file(RELATIVE_PATH group ${PROJECT_SOURCE_DIR} ${source})
  get_filename_component(group ${group} DIRECTORY)
  string(MAKE_C_IDENTIFIER ${group} group)
  set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
endforeach()
target_compile_definitions(waiter_program PRIVATE WAITER_HAS_CURL)
target_include_directories(waiter_program PRIVATE ${PROJECT_SOURCE_DIR} ${WAITER_CURL_INCLUDE_DIR})
target_link_libraries(
  waiter_program PRIVATE waiter_durable_postgres waiter_durable_sqlite waiter_durable waiter_interop waiter_learned
                         nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS}
)
if(WAITER_JQ_INCLUDE_DIR)
  target_compile_definitions(waiter_program PRIVATE WAITER_HAS_JQ)
  target_include_directories(waiter_program SYSTEM PRIVATE ${WAITER_JQ_INCLUDE_DIR})
endif()
if(WAITER_HIREDIS_INCLUDE_DIR AND WAITER_HIREDIS_LIBRARY)
  target_compile_definitions(waiter_program PRIVATE WAITER_HAS_HIREDIS)
  target_include_directories(waiter_program PRIVATE ${WAITER_HIREDIS_INCLUDE_DIR})
  target_link_libraries(waiter_program PRIVATE ${WAITER_HIREDIS_LIBRARY})
else()
  target_compile_definitions(waiter_program PRIVATE WAITER_NO_HIREDIS)
endif()
# Also what makes the sources compile against an Abseil with a string_view of its own.
target_precompile_headers(waiter_program PRIVATE cmake/own_string_view.h <absl/status/statusor.h> <functional>)
if(NOT APPLE)
  # As cli/BUILD.bazel does: fewer libraries to load, and no symbols to export. libresolv is not linked in, as
  # its archive needs symbols that only the same version of the C library has.
  target_link_options(
    waiter_program
    PRIVATE
    -static-libgcc
    -static-libstdc++
    LINKER:--as-needed
    LINKER:--exclude-libs,ALL
  )
  target_link_libraries(waiter_program PRIVATE resolv)
endif()

# The manual page and the completions have the flags of the program, which must run for that.
if(NOT CMAKE_CROSSCOMPILING)
  set(texts ${PROJECT_BINARY_DIR}/command_texts)
  add_custom_command(
    OUTPUT ${texts}/waiter.1.gz ${texts}/waiter.bash ${texts}/_waiter ${texts}/waiter.fish
    COMMAND ${PROJECT_SOURCE_DIR}/tools/command_texts $<TARGET_FILE:waiter_program>
            ${PROJECT_SOURCE_DIR}/docs/command.md ${texts}
    COMMAND gzip -9nf ${texts}/waiter.1
    DEPENDS waiter_program ${PROJECT_SOURCE_DIR}/tools/command_texts ${PROJECT_SOURCE_DIR}/docs/command.md
    VERBATIM
  )
  add_custom_target(waiter_command_texts ALL DEPENDS ${texts}/waiter.1.gz)
endif()

if(WAITER_INSTALL)
  install(TARGETS waiter_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  if(NOT CMAKE_CROSSCOMPILING)
    set(data ${CMAKE_INSTALL_DATAROOTDIR})
    install(FILES ${texts}/waiter.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
    install(FILES ${texts}/waiter.bash DESTINATION ${data}/bash-completion/completions RENAME waiter COMPONENT command)
    install(FILES ${texts}/_waiter DESTINATION ${data}/zsh/vendor-completions COMPONENT command)
    install(FILES ${texts}/waiter.fish DESTINATION ${data}/fish/vendor_completions.d COMPONENT command)
  endif()
endif()
