# kiln_library(NAME SOURCES ... [DEPS ...] [MLIR])      target kiln_NAME, alias kiln::NAME
# kiln_executable(NAME SOURCES ... [DEPS ...] [MLIR] [STATIC | QUICK_START])  program build/<preset>/bin/NAME
#   QUICK_START: gRPC and what it needs as archives, and libcurl once it is called: starts in a third of the time and takes
#   11 MB more of the disk
# kiln_test(NAME SOURCES ... [DEPS ...] [MLIR | RPC] [OPTIMIZED] [LABELS ...] [WHOLE])    a GoogleTest program, registered test by test;
#   RPC: most of its sources include gRPC, so that it takes the precompiled headers with gRPC among them (tests/support)
#   OPTIMIZED: its own sources compute for long; those of other tests are compiled without optimization, which takes a third
#   of the time
#   WHOLE: as one test with the label "servers", for programs whose tests share something expensive such as a database server
#   LABELS tsan: also part of the target tsan-tests, which is what the tsan preset builds
# Includes are written from the repository root: #include "storage/blob/blob_store.h".
# MLIR: compiled without RTTI and exceptions, links kiln::mlir.

add_custom_target(tsan-tests)

function(kiln_common target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR;STATIC" "" "DEPS")
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${KILN_WARNINGS})
  target_link_libraries(${target} PUBLIC ${arg_DEPS})
  if(arg_MLIR)
    target_link_libraries(${target} PUBLIC kiln::mlir)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -Wno-unused-parameter>)
    set_target_properties(${target} PROPERTIES JOB_POOL_LINK mlir_link)
  endif()
endfunction()

function(kiln_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR" "" "SOURCES;DEPS")
  add_library(kiln_${name} STATIC ${arg_SOURCES})
  add_library(kiln::${name} ALIAS kiln_${name})
  set(flags)
  if(arg_MLIR)
    list(APPEND flags MLIR)
  endif()
  kiln_common(kiln_${name} DEPS ${arg_DEPS} ${flags})
endfunction()

function(kiln_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR;STATIC;QUICK_START" "" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  set(flags)
  if(arg_MLIR)
    list(APPEND flags MLIR)
  endif()
  kiln_common(${name} DEPS ${arg_DEPS} ${flags})
  set_target_properties(${name} PROPERTIES KILN_QUICK_START ${arg_QUICK_START})
  if(arg_STATIC AND NOT KILN_SANITIZE)  # the sanitizers' runtimes are not for static programs
    target_link_options(${name} PRIVATE -static -Wl,--gc-sections -Wl,--build-id=none)
  endif()
endfunction()

function(kiln_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR;RPC;OPTIMIZED;WHOLE" "" "SOURCES;DEPS;LABELS")
  add_executable(${name} ${arg_SOURCES})
  set(flags)
  set(headers kiln_test_headers)
  if(arg_MLIR)
    list(APPEND flags MLIR)
    set(headers kiln_test_mlir_headers)
  elseif(arg_RPC)
    set(headers kiln_test_rpc_headers)
  endif()
  kiln_common(${name} DEPS ${arg_DEPS} GTest::gmock GTest::gtest_main Threads::Threads ${flags})
  if(NOT arg_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O0 -pthread)  # as the precompiled headers are
    target_precompile_headers(${name} REUSE_FROM ${headers})
  endif()
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 1800 LABELS "servers;${arg_LABELS}")
  else()
    string(JOIN " " labels ${arg_LABELS})  # one of several words, as the properties are a list themselves; ctest -L searches in it
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300 LABELS "${labels}")
  endif()
  if("tsan" IN_LIST arg_LABELS)
    add_dependencies(tsan-tests ${name})
  endif()
endfunction()
