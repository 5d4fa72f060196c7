// Reading what a hostile tool left behind. Nothing here follows a link, blocks on a FIFO, or trusts a name, a
// mode or a size; every walk is bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "manifest/base/result.h"
#include "worker/sandbox/policy.h"

namespace kiln::sandbox {

struct OutputFile {
  std::string path;  // relative to the directory, "/"-separated, printable ASCII
  int fd = -1;       // open for reading at offset 0; closed after the visit
  std::uint64_t size = 0;
  bool executable = false;
};

// Visits every regular file below `dir` in byte order of the paths. To be called once no process can write
// there any more. kInvalidArgument naming the entry for anything that is neither a regular file with one link
// nor a directory, whose name is not printable ASCII, or whose mode keeps its owner out; kOutOfRange beyond
// the limits; the visitor's error ends the walk.
Status visitOutputs(const std::string& dir, const Limits& limits,
                    const std::function<Status(const OutputFile&)>& visit);

// What lies below a directory: files and directories, and the sum of the files' sizes.
struct Use {
  std::uint64_t entries = 0, bytes = 0;
};

// A bounded look at a directory that is being written to. kOutOfRange, naming the limit, as soon as
// the files, their apparent sizes or the nesting exceed `limits`; `unseen` bytes are there besides, under no
// name, and what was there `before` does not count. kInvalidArgument for a directory whose mode keeps its
// owner, and so this look, out. What vanishes meanwhile is not counted.
Status checkOutputUse(const std::string& dir, const Limits& limits, std::uint64_t unseen = 0,
                      const Use& before = {});

// Removes a tree of any depth and width, whatever its modes, with a bounded number of descriptors. A missing
// tree is fine. Only for trees that no running process can reach.
Status removeTree(const std::string& path);

}  // namespace kiln::sandbox
