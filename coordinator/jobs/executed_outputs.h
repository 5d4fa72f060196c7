// What a foreign action left, as a worker reports it: files, directories and links anywhere below its working
// directory, and its two logs. Pure and bounded; a worker is never believed. Errors are kInvalidArgument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/jobs/evidence.h"

namespace kiln::jobs {

inline constexpr std::uint64_t kMaxTreeBytes = 16 << 20;    // of a directory's Tree
inline constexpr std::size_t kMaxExecutedResult = 4 << 20;  // bytes of the whole report
inline constexpr std::size_t kMaxInlineLog = 64 << 10;      // of stdout or stderr within it

// A directory in the forms that the command asked for; at least one of them.
struct OutputDirectory {
  std::string path;
  std::optional<Digest> tree, root;
};

struct ExecutedOutputs {
  // What the receipt lists, sorted by path: a file by its digest, a directory by nameOf() it, a link by that
  // of its target's text.
  Outputs named;
  std::vector<OutputFile> blobs;  // those of them that are in the store: files and what names directories
  std::vector<OutputDirectory> directories;
  std::vector<Digest> logs;  // of what is too long to stand in the report
};
Result<ExecutedOutputs> readExecuted(const reapi::ActionResult& result);

// That the result holds nothing but what the command may leave, directories in the form that it asks for, and
// no link that leads out of the input root.
Status checkDeclared(const reapi::ActionResult& result, const reapi::Command& command);

struct TreeContent {
  Digest root;                // of the root Directory
  std::vector<Digest> files;  // each once
};
// How much of the Trees of one result was walked: it is bounded for all of them together.
struct WalkedTrees {
  std::size_t entries = 0, bytes = 0;
};
// What a directory holds, from its Tree. Every Directory must be in its canonical form, named by the one
// above it, and none beside.
Result<TreeContent> contentOfTree(std::string_view bytes, WalkedTrees& walked);

}  // namespace kiln::jobs
