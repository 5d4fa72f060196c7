// A directory for passing use: removed with the object that owns it, and where that was killed, by the next
// owner of one with the same prefix.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/file.h"
#include "manifest/base/result.h"

namespace kiln {

// Not thread safe.
class ScratchDirectory {
 public:
  // Makes PREFIX and six letters, of mode 0700; the prefix is a path. What users of the same prefix left who
  // are gone is removed: each holds a lock on its own as long as it lives.
  static Result<ScratchDirectory> make(const std::string& prefix);
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();

  const std::string& path() const { return path_; }
  // The same in temporaryFolder(), with the name NAME and six letters. Errors name TMPDIR and the folder.
  static Result<ScratchDirectory> makeTemporary(const std::string& name);
  // An absolute path: what TMPDIR names, else /tmp.
  static std::string temporaryFolder();

  // It becomes something that stays, under this name; what is there must be nothing or an empty directory.
  Status moveTo(const std::string& destination);
  // What it holds under these names gets them in `folder`: all of it, or after a failure nothing. Nothing
  // there is replaced (kAlreadyExists).
  Status moveOut(const std::vector<std::string>& names, const std::string& folder) const;

  // For a process that is about to end by a signal: removes those that are there now, and keeps every other
  // thread from making, moving or removing one from then on. Call it once, from a thread that owns none.
  static void removeAllAndStop();

 private:
  ScratchDirectory(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  UniqueFd lock_;
};

}  // namespace kiln
