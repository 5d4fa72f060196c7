// Walking what a hostile tool left behind. Nothing here follows a link, blocks on a FIFO, or trusts a name, a
// mode or a size; every walk is bounded.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>

#include "manifest/base/file.h"
#include "manifest/base/result.h"
#include "worker/sandbox/policy.h"

namespace kiln::sandbox {

// What counts as an output.
enum class OutputForm {
  kPlain,    // files with one name and directories, named in printable ASCII: what Kiln's own programs leave
  kForeign,  // symbolic links too, as the text that they are; files with several names, each one for itself;
             // names in UTF-8 without control characters
};
enum class OutputKind { kFile, kDirectory, kSymlink };

struct OutputEntry {
  std::string path;  // relative to the walked directory, "/"-separated; "" for it itself
  OutputKind kind = OutputKind::kFile;
  int fd = -1;             // files: open for reading at offset 0; closed after the visit
  std::uint64_t size = 0;  // files
  bool executable = false;
  std::string target;  // symlinks: 1 to 4095 bytes of UTF-8 without control characters
};

[[nodiscard]] tl::unexpected<Error> overLimit(const char* what, std::uint64_t limit);
// That a directory's mode lets its owner look into it: root could all the same, an ordinary user could not,
// and the outcome must not depend on who the worker is.
bool letsOwnerLook(mode_t directory);

// To be used once no process can write there any more. The limits hold for all visits together. Not thread
// safe.
class OutputWalk {
 public:
  using Visit = std::function<Status(const OutputEntry&)>;

  static Result<OutputWalk> open(const std::string& directory, const Limits& limits, OutputForm form);

  // Every entry below the directory, in byte order of the names, a directory before what is in it.
  // kInvalidArgument naming the entry for anything that the form does not serve, or whose mode keeps its
  // owner out; kOutOfRange beyond the limits; the visitor's error ends the walk.
  Status everything(const Visit& visit);
  // What stands at `path`, in the same way; false where there is nothing. `path` is "" or as of
  // checkRelativePath(). kInvalidArgument if a link stands where a directory above it should be.
  Result<bool> at(const std::string& path, const Visit& visit);

 private:
  OutputWalk(UniqueFd root, const Limits& limits, OutputForm form)
      : root_(std::move(root)), limits_(limits), form_(form) {}

  Status directory(int dir, const std::string& prefix, std::uint64_t depth, const Visit& visit);
  Status entry(int dir, const std::string& name, const std::string& path, std::uint64_t depth,
               const Visit& visit);
  Status file(int dir, const std::string& name, const std::string& path, const Visit& visit);
  Status symlink(int dir, const std::string& name, const std::string& path, const Visit& visit);
  Status checkName(const std::string& name, const std::string& path) const;

  UniqueFd root_;
  Limits limits_;
  OutputForm form_;
  std::uint64_t count_ = 0, bytes_ = 0;
};

}  // namespace kiln::sandbox
