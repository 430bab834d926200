# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# The files of the library, and how its targets are built. //tests/tools:build_lists_test compares these lists
# with those of Bazel.

set(WAITER_SOURCES
  waiter/backoff.cc
  waiter/engine/batch_queue.cc
  waiter/blocked_engine.cc
  waiter/blocking_wait.cc
  waiter/poll_notifier.cc
  waiter/rate_limiter.cc
  waiter/retry_quota.cc
  waiter/seconds.h
  waiter/classify.cc
  waiter/error_classifier.cc
  waiter/retry_after.cc
  waiter/backoff_options.cc
  waiter/clock.cc
  waiter/exceptions.cc
  waiter/heartbeat.cc
  waiter/observer.cc
  waiter/options.cc
  waiter/poll.cc
  waiter/poll_status.cc
  waiter/result.cc
  waiter/wait_result.cc
  waiter/redis/budget_list.cc
  waiter/redis/budget_member.cc
  waiter/redis/budget_member.h
  waiter/redis/budget_scripts.cc
  waiter/redis/budget_scripts.h
  waiter/redis/host_lookup.cc
  waiter/redis/host_lookup.h
  waiter/redis/member_count.h
  waiter/redis/redis_budget_store.cc
  waiter/redis/redis_client.cc
  waiter/redis/redis_client_loop.cc
  waiter/redis/redis_client_loop.h
  waiter/redis/redis_cluster.cc
  waiter/redis/redis_cluster_loop.cc
  waiter/redis/redis_cluster_loop.h
  waiter/redis/redis_errors.cc
  waiter/redis/redis_errors.h
  waiter/redis/redis_link.cc
  waiter/redis/redis_link.h
  waiter/redis/redis_loop.cc
  waiter/redis/redis_loop.h
  waiter/redis/redis_slots.cc
  waiter/redis/redis_slots.h
  waiter/redis/redis_url.cc
  waiter/redis/redis_url.h
  waiter/redis/share_ledger.cc
  waiter/redis/share_ledger.h
  waiter/redis/shared_rate_limiter.cc
  waiter/redis/shared_retry_quota.cc
  waiter/redis/slot_ledger.cc
  waiter/redis/slot_ledger.h
  waiter/redis/store_clock.h
  waiter/redis/sync_times.h
  waiter/durable/durable_check.cc
  waiter/durable/durable_client.cc
  waiter/durable/durable_record.cc
  waiter/durable/durable_record.h
  waiter/durable/durable_waits.cc
  waiter/durable/durable_worker.cc
  waiter/durable/durable_worker.h
  waiter/durable/redis_store.cc
  waiter/durable/server_info.cc
  waiter/durable/server_info.h
  waiter/durable/wait_scripts.cc
  waiter/durable/wait_scripts.h
  waiter/engine/batch_starter.cc
  waiter/engine/engine_counters.h
  waiter/engine/engine_record.h
  waiter/engine/engine_ref.cc
  waiter/engine/engine_worker.cc
  waiter/engine/engine_worker.h
  waiter/engine/free_list.h
  waiter/engine/mailbox.h
  waiter/engine/page_memory.cc
  waiter/engine/page_memory.h
  waiter/engine/policy_table.cc
  waiter/engine/policy_table.h
  waiter/engine/poll_clock.h
  waiter/engine/record_codec.cc
  waiter/engine/record_codec.h
  waiter/engine/record_pool.h
  waiter/engine/stop_relay.h
  waiter/engine/task_gate.h
  waiter/engine/timer_queue.cc
  waiter/engine/timer_queue.h
  waiter/engine/engine.cc
  waiter/engine/handle.cc
  waiter/engine/wait_starter.cc
  waiter/engine/wait_timers.h
  waiter/interop/http_answer.cc
  waiter/interop/polling_steps.cc
  waiter/learned/duration_estimate.cc
  waiter/learned/duration_estimate.h
  waiter/learned/duration_file.cc
  waiter/learned/duration_model.cc
  waiter/learned/duration_modes.cc
  waiter/learned/duration_modes.h
  waiter/learned/duration_text.cc
  waiter/learned/duration_text.h
  waiter/learned/learned_delays.cc
  waiter/learned/log_grid.h
  waiter/learned/observed_cells.cc
  waiter/learned/observed_cells.h
  waiter/learned/poll_plan.cc
  waiter/learned/poll_plan.h
  waiter/learned/poll_table.cc
  waiter/crc32c.h
  waiter/final_status.cc
  waiter/final_status.h
  waiter/schedule.cc
  waiter/split_mix64.cc
  waiter/loop.cc
  waiter/loop_steps.h
  waiter/policy.cc
  waiter/token.cc
  waiter/presets.cc
  waiter/durable/durable_metrics.cc
  waiter/telemetry/log_observer.cc
  waiter/telemetry/metrics.cc
  waiter/telemetry/metrics_observer.cc
  waiter/telemetry/metrics_table.cc
  waiter/telemetry/prometheus_text.cc
)

set(WAITER_TESTING_SOURCES
  waiter/testing/eventually.cc
  waiter/testing/eventually_message.cc
  waiter/testing/eventually_message.h
  waiter/testing/eventually_plan.cc
  waiter/testing/eventually_plan.h
  waiter/testing/simulated_clock.cc
  waiter/testing/test_limits.cc
  waiter/testing/test_limits.h
  waiter/testing/matchers.cc
)

# The libraries of Abseil that waiter::waiter needs.
set(WAITER_ABSEIL
  absl::any_invocable
  absl::cleanup
  absl::cord
  absl::core_headers
  absl::flat_hash_map
  absl::flat_hash_set
  absl::function_ref
  absl::hash
  absl::int128
  absl::memory
  absl::random_bit_gen_ref
  absl::random_random
  absl::span
  absl::status
  absl::statusor
  absl::str_format
  absl::strings
  absl::time
)

# waiter_library(TARGET NAME SOURCE...): adds the library TARGET, with the name waiter::NAME.
function(waiter_library target name)
  add_library(${target} ${ARGN})
  add_library(waiter::${name} ALIAS ${target})
  # Dependents compile as C++20 or newer, without flags of their own.
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(
    ${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}
  )
  # Programs that use Redis bring hiredis; redis_client.h says more.
  target_compile_definitions(${target} PRIVATE WAITER_NO_HIREDIS)
  # Nothing is promised about binary compatibility before 1.0, so each minor version has a name of its own.
  set_target_properties(
    ${target}
    PROPERTIES
      EXPORT_NAME ${name}
      VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  )
  # A project that hides its own symbols must still find those of a shared Waiter. In a static library they are
  # hidden like the project's.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
  endif()
endfunction()
