// The differences of two sets of outputs: members of the manifest, files, sections and symbols of programs,
// and passes of the compiler where both left a trace. Nothing is run here and nothing believed: each side is
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/json/json.h"

namespace kiln::diff {

// A directory of outputs: an artifact's, an action's, or what a rebuild left.
struct Side {
  std::string name;       // for people
  std::string directory;  // with manifest.json
};

// One member of the manifests, by path ("stages.plan[0].peakBytes"); "" where a side has none.
struct FieldDifference {
  std::string path, first, second;
};

// A symbol whose bytes differ, or that one side has alone (size 0 on the other).
struct SymbolDifference {
  std::string name;
  std::string nodes;  // of the model, that a kernel computes; "" for other symbols
  bool isFunction = false;
  std::uint64_t firstSize = 0, secondSize = 0;
};

struct SectionDifference {
  std::string name;
  std::uint64_t firstSize = 0, secondSize = 0;
  std::uint64_t offset = 0;  // of the first byte that differs
  std::string symbol;        // that covers it; "" if none
};

struct FileDifference {
  std::string path;
  std::optional<Digest> first, second;      // nothing where the side has no such file
  std::uint64_t offset = 0;                 // of the first byte that differs, where both have it
  std::vector<SectionDifference> sections;  // of ELF files; at most 1000
  std::vector<SymbolDifference> symbols;    // in the first side's order; at most kMaxSymbols
};

// The first record in which two traces differ.
struct PassDifference {
  std::size_t index = 0;     // from 0
  std::string pass, before;  // after which the IR differed; the last one after which it did not ("" if none)
  std::vector<std::string> functions;  // in which; at most 1000
};

struct Differences {
  std::vector<FieldDifference> fields;  // at most 200
  std::vector<FileDifference> files;    // by path
  std::optional<PassDifference> pass;
  bool traced = false;  // both sides had a trace

  bool none() const { return files.empty() && !pass; }
  Json toJson() const;
};

inline constexpr std::size_t kMaxSymbols = 1000;  // of a file that are named
inline constexpr char kTraceFile[] = "passes.json";

// Reads both directories: regular files, at most 20,000, no links followed; bundles, fixtures,
// artifact.json and recalls.json, which are evidence about an artifact, are left out. kNotFound without
// manifest.json, kInvalidArgument where something is neither a file nor a directory. Of modules of SPIR-V
// kernels are compared (kernels.h). Files that are neither those nor well-formed ELF are told apart by their
// first byte alone.
Result<Differences> compare(const Side& first, const Side& second);

}  // namespace kiln::diff
