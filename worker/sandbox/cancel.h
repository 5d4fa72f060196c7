// A one-way switch that wakes a poll loop.
#pragma once

#include <sys/eventfd.h>

#include "manifest/base/file.h"

namespace kiln::sandbox {

// Thread safe.
class Cancel {
 public:
  Cancel() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  void request() { eventfd_write(event_.get(), 1); }
  // Readable once requested, for ever.
  int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
};

}  // namespace kiln::sandbox
