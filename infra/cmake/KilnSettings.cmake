# Language level, output directories, ccache, warnings, sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(KILN_BUILD_TESTS "Build the tests" ON)
option(KILN_TOOLCHAIN_ONLY "Only kiln-cc and the files that a toolchain tree has beside it" OFF)
set(KILN_SANITIZE "" CACHE STRING "Value of -fsanitize=, for example address,undefined")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(KILN_CCACHE ccache)
if(KILN_CCACHE)
  set(launcher ${CMAKE_CURRENT_LIST_DIR}/cached_compile ${CMAKE_SOURCE_DIR} ${KILN_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld-22)
endif()

if(KILN_SANITIZE)
  add_compile_options(-fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${KILN_SANITIZE})
endif()

# One MLIR link at a time: each needs more than a gigabyte.
set_property(GLOBAL PROPERTY JOB_POOLS mlir_link=1)

set(KILN_WARNINGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND KILN_WARNINGS -Wthread-safety -Wimplicit-fallthrough)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND KILN_WARNINGS -Wno-restrict)  # GCC 12 sees overlaps in "text" + string that are not there (bug 105651)
endif()
