#include "worker/executor/prepared_slot.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "worker/executor/input_root.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {

Result<PreparedSlot> PreparedSlot::make(std::string dir, uid_t uid) {
  KILN_TRY(sandbox::removeTree(dir));
  const std::string output = outputOf(dir);
  if (mkdir(dir.c_str(), 0700) != 0) return fail(errnoError(errno, "slot directory " + dir));
  PreparedSlot slot(std::move(dir));
  if (mkdir(output.c_str(), 0700) != 0) return fail(errnoError(errno, "output directory"));
  if (geteuid() == 0 && chown(output.c_str(), uid, static_cast<gid_t>(uid)) != 0) {
    return fail(errnoError(errno, "output directory"));
  }
  KILN_TRY(setOldTime(output));
  return slot;
}

PreparedSlot::~PreparedSlot() {
  // What cannot be removed now is tried again by the next make(), whose error the action then gets.
  if (!dir_.empty()) (void)sandbox::removeTree(dir_);
}

}  // namespace kiln::executor
