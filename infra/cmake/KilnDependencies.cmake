# Everything outside the repository, as imported targets.
set(CMAKE_FIND_PACKAGE_PREFER_CONFIG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL 3 REQUIRED MODULE)
if(KILN_TOOLCHAIN_ONLY)
  return()
endif()
find_package(PkgConfig REQUIRED)
find_package(spdlog REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(PostgreSQL REQUIRED MODULE)
find_package(CURL REQUIRED MODULE)
find_package(Protobuf REQUIRED MODULE)
pkg_check_modules(Git2 REQUIRED IMPORTED_TARGET libgit2)
pkg_check_modules(P11Kit REQUIRED IMPORTED_TARGET p11-kit-1)
pkg_check_modules(Seccomp REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(Zlib REQUIRED IMPORTED_TARGET zlib)
find_package(gRPC REQUIRED)
if(KILN_BUILD_TESTS)
  include(GoogleTest)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

# libcurl; in programs with QUICK_START loaded with the first call (storage/late_curl).
add_library(kiln_curl INTERFACE)
add_library(kiln::curl ALIAS kiln_curl)
target_link_libraries(kiln_curl INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:KILN_QUICK_START>>,kiln_late_curl,CURL::libcurl>)

# Debian's gRPC leaves the last ones off its link interface.
add_library(kiln_grpc_shared INTERFACE)
target_link_libraries(kiln_grpc_shared INTERFACE gRPC::grpc++ gRPC::grpc++_reflection gRPC::gpr protobuf::libprotobuf
  absl::base absl::strings absl::synchronization absl::time)

# The same as Debian's archives. A program that is started for every command takes them (QUICK_START, KilnTargets):
# looking its symbols up in sixty libraries would be half of its start.
pkg_check_modules(GrpcArchives REQUIRED grpc++ protobuf)
set(archives)
foreach(name grpc++_reflection ${GrpcArchives_STATIC_LIBRARIES} absl_civil_time absl_time_zone)
  if(name MATCHES "^(absl_|address_sorting$|cares$|gpr$|grpc|protobuf$|re2$|upb$)")
    find_library(KILN_ARCHIVE_${name} NAMES lib${name}.a REQUIRED NO_CMAKE_INSTALL_PREFIX)
    list(APPEND archives ${KILN_ARCHIVE_${name}})
  endif()
endforeach()
list(REMOVE_DUPLICATES archives)
list(JOIN archives "," archives)
add_library(kiln_grpc_archives INTERFACE)
target_link_libraries(kiln_grpc_archives INTERFACE "$<LINK_GROUP:RESCAN,${archives}>" OpenSSL::SSL PkgConfig::Zlib
  Threads::Threads ${CMAKE_DL_LIBS})

add_library(kiln_grpc INTERFACE)
add_library(kiln::grpc ALIAS kiln_grpc)
target_link_libraries(kiln_grpc INTERFACE
  $<IF:$<BOOL:$<TARGET_PROPERTY:KILN_QUICK_START>>,kiln_grpc_archives,kiln_grpc_shared>)
