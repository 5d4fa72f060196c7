// A year of a busy farm as rows of the index: skewed, correlated in time, the same for the same number of
// artifacts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "storage/postgres/connection.h"

namespace kiln::bench {

inline constexpr int kToolchains = 40;  // each in use for a while, newer ones taking over
inline constexpr int kWorkers = 300;    // likewise
inline constexpr int kOperators = 12;
inline constexpr int kKeys = 8;         // one after the other
inline constexpr int kModels = 20'000;  // a few are built over and over
inline constexpr int kRepositories = 2'000;
inline constexpr int kTargets = 8;
inline constexpr int kSubmitters = 150;
inline constexpr int kDevices = 25;  // that checks ran on
inline constexpr int kPtxas = 10;    // one version in four toolchains
inline constexpr int kSecondsApart = 30;

// The names that the rows are made from, and the digests that stand for things in them.
std::string labelOf(int toolchain);
std::string repositoryOf(int repository);
std::string commitOf(int repository, int version);
std::string targetOf(int target);
Digest digestNamed(
    const std::string& name);  // "tree 7", "model 3", "key 1", "ptxas 2", "libc", "artifact 12"

// Into a migrated, empty database: `artifacts` with ten materials each, their statements, mentions and
// submissions. Constraints and secondary indexes are made after the rows. Prints what it does.
Status generate(postgres::Connection& connection, std::int64_t artifacts);

}  // namespace kiln::bench
