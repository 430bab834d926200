# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds the program `waiter`. //tests/tools:build_lists_test compares this list with that of Bazel.

set(WAITER_COMMAND_SOURCES
  cli/charts/chart.cc
  cli/charts/chart.h
  cli/charts/chart_specs.h
  cli/commands/budgets_command.cc
  cli/commands/budgets_command.h
  cli/commands/chart_output.cc
  cli/commands/chart_output.h
  cli/commands/durable_command.cc
  cli/commands/durable_command.h
  cli/commands/durable_output.cc
  cli/commands/durable_output.h
  cli/commands/durable_store_flags.h
  cli/commands/durable_work.cc
  cli/commands/durable_work.h
  cli/commands/learned_plan.cc
  cli/commands/learned_plan.h
  cli/commands/learned_saving.cc
  cli/commands/learned_saving.h
  cli/commands/plan_command.cc
  cli/commands/plan_command.h
  cli/commands/plan_output.cc
  cli/commands/plan_output.h
  cli/commands/policy_charts.cc
  cli/commands/policy_charts.h
  cli/commands/read_durations.cc
  cli/commands/read_durations.h
  cli/commands/read_input.cc
  cli/commands/read_input.h
  cli/commands/report_command.cc
  cli/commands/report_command.h
  cli/commands/simulate_budgets.cc
  cli/commands/simulate_budgets.h
  cli/commands/simulate_command.cc
  cli/commands/simulate_command.h
  cli/commands/simulate_learned.cc
  cli/commands/simulate_learned.h
  cli/commands/subcommand.h
  cli/commands/wait_arguments.cc
  cli/commands/wait_arguments.h
  cli/commands/wait_command.cc
  cli/commands/wait_command.h
  cli/flags/closest_name.cc
  cli/flags/closest_name.h
  cli/flags/flags.cc
  cli/flags/flags.h
  cli/flags/guard_flags.cc
  cli/flags/guard_flags.h
  cli/flags/http_flags.cc
  cli/flags/http_flags.h
  cli/flags/output_flags.cc
  cli/flags/output_flags.h
  cli/flags/policy_flags.cc
  cli/flags/policy_flags.h
  cli/flags/variables.cc
  cli/flags/variables.h
  cli/flags/wait_flags.cc
  cli/flags/wait_flags.h
  cli/loop/blocking_calls.cc
  cli/loop/blocking_calls.h
  cli/loop/event_loop.cc
  cli/loop/event_loop.h
  cli/loop/signals.cc
  cli/loop/signals.h
  cli/loop/unique_fd.h
  cli/loop/wake_pipe.cc
  cli/loop/wake_pipe.h
  cli/main.cc
  cli/net/connect_failure.cc
  cli/net/connect_failure.h
  cli/net/connector.cc
  cli/net/connector.h
  cli/net/name_lookup.cc
  cli/net/name_lookup.h
  cli/net/resolver.cc
  cli/net/resolver.h
  cli/net/socket_address.cc
  cli/net/socket_address.h
  cli/output/failure_message.cc
  cli/output/failure_message.h
  cli/output/json_progress.cc
  cli/output/json_progress.h
  cli/output/logged_waits.cc
  cli/output/logged_waits.h
  cli/output/plain_progress.cc
  cli/output/plain_progress.h
  cli/output/run_log.cc
  cli/output/run_log.h
  cli/output/target_hint.cc
  cli/output/target_hint.h
  cli/output/target_text.cc
  cli/output/target_text.h
  cli/output/terminal.cc
  cli/output/terminal.h
  cli/output/terminal_progress.cc
  cli/output/terminal_progress.h
  cli/probes/code_map.cc
  cli/probes/code_map.h
  cli/probes/factory/probe_factory.cc
  cli/probes/factory/probe_factory.h
  cli/probes/host_port.cc
  cli/probes/host_port.h
  cli/probes/http/curl_library.cc
  cli/probes/http/curl_library.h
  cli/probes/http/curl_transfer.cc
  cli/probes/http/curl_transfer.h
  cli/probes/http/docker_container.cc
  cli/probes/http/docker_container.h
  cli/probes/http/grpc_health.cc
  cli/probes/http/grpc_health.h
  cli/probes/http/http_answer.h
  cli/probes/http/http_client.cc
  cli/probes/http/http_client.h
  cli/probes/http/http_options.h
  cli/probes/http/http_probe.cc
  cli/probes/http/http_probe.h
  cli/probes/http/http_verdict.cc
  cli/probes/http/http_verdict.h
  cli/probes/http/json_path.cc
  cli/probes/http/json_path.h
  cli/probes/http/text_regex.cc
  cli/probes/http/text_regex.h
  cli/probes/local/exec_probe.cc
  cli/probes/local/exec_probe.h
  cli/probes/local/file_probe.cc
  cli/probes/local/file_probe.h
  cli/probes/local/pid_probe.cc
  cli/probes/local/pid_probe.h
  cli/probes/probe.h
  cli/probes/probe_answer.cc
  cli/probes/probe_answer.h
  cli/probes/socket/dns_probe.cc
  cli/probes/socket/dns_probe.h
  cli/probes/socket/socket_probe.cc
  cli/probes/socket/socket_probe.h
  cli/probes/target.cc
  cli/probes/target.h
  cli/probes/wire/amqp_conversation.cc
  cli/probes/wire/amqp_conversation.h
  cli/probes/wire/byte_reader.cc
  cli/probes/wire/byte_reader.h
  cli/probes/wire/conversation.cc
  cli/probes/wire/conversation.h
  cli/probes/wire/kafka_conversation.cc
  cli/probes/wire/kafka_conversation.h
  cli/probes/wire/memcached_conversation.cc
  cli/probes/wire/memcached_conversation.h
  cli/probes/wire/mongodb_conversation.cc
  cli/probes/wire/mongodb_conversation.h
  cli/probes/wire/mysql_conversation.cc
  cli/probes/wire/mysql_conversation.h
  cli/probes/wire/nats_conversation.cc
  cli/probes/wire/nats_conversation.h
  cli/probes/wire/postgres_conversation.cc
  cli/probes/wire/postgres_conversation.h
  cli/probes/wire/redis_conversation.cc
  cli/probes/wire/redis_conversation.h
  cli/probes/wire/systemd_conversation.cc
  cli/probes/wire/systemd_conversation.h
  cli/process/exec_error.cc
  cli/process/exec_error.h
  cli/process/exec_program.cc
  cli/process/exec_program.h
  cli/process/pid_watch.cc
  cli/process/pid_watch.h
  cli/process/pipe_tail.cc
  cli/process/pipe_tail.h
  cli/process/proc_stat.cc
  cli/process/proc_stat.h
  cli/process/process.cc
  cli/process/process.h
  cli/process/process_reaper.cc
  cli/process/process_reaper.h
  cli/process/spawn.cc
  cli/process/spawn.h
  cli/run/durable_store.cc
  cli/run/durable_store.h
  cli/run/durable_target.cc
  cli/run/durable_target.h
  cli/run/exit_code.cc
  cli/run/exit_code.h
  cli/run/guard.cc
  cli/run/guard.h
  cli/run/learned_name.cc
  cli/run/learned_name.h
  cli/run/loop_jobs.cc
  cli/run/loop_jobs.h
  cli/run/run_state.h
  cli/run/shared_rate.cc
  cli/run/shared_rate.h
  cli/run/state_file.cc
  cli/run/state_file.h
  cli/run/target_wait.cc
  cli/run/target_wait.h
  cli/run/wait_run.cc
  cli/run/wait_run.h
  cli/subcommands.cc
  cli/subcommands.h
  cli/text/duration_text.cc
  cli/text/duration_text.h
  cli/text/fitted_text.cc
  cli/text/fitted_text.h
  cli/text/json.cc
  cli/text/json.h
  cli/text/percent.cc
  cli/text/percent.h
  cli/text/printable.cc
  cli/text/printable.h
  cli/text/read_file.cc
  cli/text/read_file.h
  cli/text/time_text.cc
  cli/text/time_text.h
  cli/text/utf8.cc
  cli/text/utf8.h
  cli/sim/budget_book.cc
  cli/sim/budget_book.h
  cli/sim/budgets.cc
  cli/sim/budgets.h
  cli/sim/clairvoyant.cc
  cli/sim/clairvoyant.h
  cli/sim/contention.cc
  cli/sim/contention.h
  cli/sim/contention_table.cc
  cli/sim/contention_table.h
  cli/sim/duration_distribution.cc
  cli/sim/duration_distribution.h
  cli/sim/event_queue.cc
  cli/sim/event_queue.h
  cli/sim/fleet.cc
  cli/sim/fleet.h
  cli/sim/known_durations.cc
  cli/sim/known_durations.h
  cli/sim/learned.cc
  cli/sim/learned.h
  cli/sim/memory_budget_store.h
  cli/sim/network.cc
  cli/sim/network.h
  cli/sim/plan.cc
  cli/sim/plan.h
  cli/sim/quantile.h
  cli/sim/trade_off.cc
  cli/sim/trade_off.h
  cli/sim/virtual_clock.cc
  cli/sim/virtual_clock.h
)

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
add_executable(waiter_program ${WAITER_COMMAND_SOURCES} ${chart_specs})
set_target_properties(waiter_program PROPERTIES OUTPUT_NAME waiter)
target_compile_definitions(waiter_program PRIVATE WAITER_HAS_CURL)
target_include_directories(waiter_program PRIVATE ${PROJECT_SOURCE_DIR} ${WAITER_CURL_INCLUDE_DIR})
target_link_libraries(waiter_program PRIVATE waiter nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
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
