// What a foreign action left, as a worker reports it: files, directories and links anywhere below its working
// directory, and its two logs. Pure and bounded; a worker is never believed. Errors are kInvalidArgument.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "coordinator/jobs/evidence.h"

namespace kiln::jobs {

inline constexpr std::uint64_t kMaxTreeBytes = 16 << 20;    // of a directory's Tree
inline constexpr std::size_t kMaxExecutedResult = 4 << 20;  // bytes of the whole report
inline constexpr std::size_t kMaxInlineLog = 64 << 10;      // of stdout or stderr within it

struct ExecutedOutputs {
  // What the receipt lists, sorted by path: a file by its digest, a directory by that of its Tree, a link by
  // that of its target's text.
  Outputs named;
  std::vector<OutputFile> blobs;  // those of them that are in the store: files and Trees
  std::vector<OutputFile> trees;  // of the directories
  std::vector<Digest> logs;       // of what is too long to stand in the report
};
Result<ExecutedOutputs> readExecuted(const reapi::ActionResult& result);

// That the result holds nothing but what the command may leave, and no link that leads out of the input root.
Status checkDeclared(const reapi::ActionResult& result, const reapi::Command& command);

// The files of a directory, from its Tree. Every Directory must be in its canonical form, named by the one
// above it, and none beside.
Result<std::vector<Digest>> filesOfTree(std::string_view bytes);

}  // namespace kiln::jobs
