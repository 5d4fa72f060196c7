// fixtures.json: per profile, the inputs and the outputs expected of them, with the digest of every file. A
// provenance names its digest, so that what a warm-up compares with is what the farm's reference made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"

namespace kiln {

inline constexpr char kFixtureList[] = "fixtures.json";
// What follows a profile's name in the entry of a boundary: all its dimensions at their least, at their most.
inline constexpr char kAtMin[] = "/min", kAtMax[] = "/max";
inline constexpr std::uint64_t kMaxFixtureListBytes = 4u << 20;
inline constexpr std::size_t kMaxFixtureFiles = 4095;  // beside the list itself

struct FixtureFile {
  std::string path;  // below the fixtures' directory
  Digest digest;
  bool operator==(const FixtureFile&) const = default;
};

struct FixtureProfile {
  std::string name;  // "large": at its opt; "large/min" and "large/max" where these are others
  std::vector<std::string> inputs, outputs;  // paths among the files, in the manifest's order
  // One per output: its own, or the list's.
  std::vector<double> absoluteTolerances;
};

struct FixtureList {
  std::vector<FixtureProfile> profiles;
  std::vector<FixtureFile> files;  // every .npy, sorted by path
  double relativeTolerance = 0, absoluteTolerance = 0;
};

// {"version":"1","profiles":[{"name","inputs":[paths],"outputs":[paths],"atol":["4e-3"]}],
// "files":[{"path","digest","size"}],"tolerance":{"rtol":"1e-3","atol":"1e-5"}}; a profile's "atol" may be
// left out. kInvalidArgument names the member: at most 256 profiles and kMaxFixtureFiles files, at safe paths
// ending in
// ".npy", each once and none below another, and no profile with a path that is not among them.
Result<FixtureList> parseFixtureList(std::string_view json);

}  // namespace kiln
