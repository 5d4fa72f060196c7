// The directory one action runs in: fresh before, gone after.
#pragma once

#include <sys/types.h>

#include <string>

#include "manifest/base/result.h"

namespace kiln::executor {

class PreparedSlot {
 public:
  // Makes `dir` anew with an output directory below it that belongs to `uid`.
  static Result<PreparedSlot> make(std::string dir, uid_t uid);
  static std::string outputOf(const std::string& dir) { return dir + "/output"; }

  PreparedSlot(PreparedSlot&& other) noexcept : dir_(std::move(other.dir_)) { other.dir_.clear(); }
  PreparedSlot& operator=(PreparedSlot&&) = delete;
  ~PreparedSlot();

 private:
  explicit PreparedSlot(std::string dir) : dir_(std::move(dir)) {}
  std::string dir_;
};

}  // namespace kiln::executor
