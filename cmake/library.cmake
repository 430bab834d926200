# Copyright 2026 The Waiter Authors.
# SPDX-License-Identifier: Apache-2.0

# How the modules of the library are built.

# The libraries of Abseil that the modules need. waiter::waiter links them.
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

# waiter_module(NAME [FOLDERS FOLDER...] [MODULES MODULE...] [LIBRARIES LIBRARY...]): adds the library waiter::NAME of
# the sources in FOLDERS of waiter/, by default in NAME, that depends on MODULES and on other LIBRARIES. If
# waiter::waiter has the sources, waiter::NAME only links it. Lua files below NAME
# become the source lua_files.cc, and SQL files of its folder sql_files.cc.
function(waiter_module name)
  cmake_parse_arguments(PARSE_ARGV 1 module "" "" "FOLDERS;MODULES;LIBRARIES")
  if(NOT module_FOLDERS)
    set(module_FOLDERS ${name})
  endif()
  list(TRANSFORM module_FOLDERS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/waiter/\\1/*.cc" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(TARGET waiter)
    get_target_property(taken waiter SOURCES)
    list(REMOVE_ITEM sources ${taken})
  endif()

  file(GLOB_RECURSE lua CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/waiter/${name}/*.lua)
  if(lua)
    set(lua_source ${CMAKE_CURRENT_BINARY_DIR}/${name}_lua_files.cc)
    set(embed ${PROJECT_SOURCE_DIR}/tools/embed)
    add_custom_command(
      OUTPUT ${lua_source}
      COMMAND sh ${embed} waiter/durable/lua_files.h LuaFile ${lua} > ${lua_source}
      DEPENDS ${embed} ${lua}
      VERBATIM
    )
    list(APPEND sources ${lua_source})
  endif()
  string(REGEX REPLACE "[.]cc" ".sql" sql_patterns "${patterns}")
  file(GLOB sql CONFIGURE_DEPENDS ${sql_patterns})
  if(sql)
    set(sql_source ${CMAKE_CURRENT_BINARY_DIR}/${name}_sql_files.cc)
    set(embed ${PROJECT_SOURCE_DIR}/tools/embed)
    add_custom_command(
      OUTPUT ${sql_source}
      COMMAND sh ${embed} waiter/durable/store/postgres/postgres_schema.h SqlFile ${sql} > ${sql_source}
      DEPENDS ${embed} ${sql}
      VERBATIM
    )
    list(APPEND sources ${sql_source})
  endif()

  waiter_module_target(target ${name})
  if(sources)
    add_library(${target} ${sources})
    waiter_compile_options(${target})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(waiter::${name} ALIAS ${target})
  # Dependents compile as C++20 or newer, without own flags.
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(
    ${target} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  )
  foreach(required IN LISTS module_MODULES)
    waiter_module_target(required_target ${required})
    target_link_libraries(${target} ${scope} ${required_target})
  endforeach()
  target_link_libraries(${target} ${scope} ${module_LIBRARIES})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  # A project that includes this one builds only what it links. What is installed must be part of `all`.
  if(sources AND NOT top_level AND NOT WAITER_INSTALL)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()

  # For cmake/install.cmake.
  set(WAITER_MODULES ${WAITER_MODULES} ${name} PARENT_SCOPE)
  set(WAITER_MODULES_OF_${name} ${module_MODULES} PARENT_SCOPE)
  set(WAITER_LIBRARIES_OF_${name} ${module_LIBRARIES} PARENT_SCOPE)
endfunction()

# waiter_module_target(VARIABLE NAME): stores the name of the target of a module.
function(waiter_module_target variable name)
  if(name STREQUAL waiter)
    set(${variable} waiter PARENT_SCOPE)
  else()
    set(${variable} waiter_${name} PARENT_SCOPE)
  endif()
endfunction()

function(waiter_compile_options target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  # Programs that use Redis bring hiredis; redis/client.h says more.
  target_compile_definitions(${target} PRIVATE WAITER_NO_HIREDIS)
  # Nothing is promised about binary compatibility before 1.0, so each minor version has its own name.
  set_target_properties(
    ${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  )
  # A project that hides its own symbols must still find those of a shared Waiter. In a static library they are
  # hidden like the project's.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
  endif()
endfunction()
