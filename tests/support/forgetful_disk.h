// What a disk holds after the power was cut: a kill alone loses nothing that is in the page cache, so that a
// sync that is missing goes unnoticed. Link kiln::test_disk: its fsync, fdatasync and syncfs take the place
// of libc's in the whole program.
#pragma once

#include <functional>
#include <string>

namespace kiln::testing_support {

// Watches one directory. What is there when it begins is on the disk. Afterwards a file's bytes are once the
// file was synced, and a name is once its directory was; everything else is forgotten, as a file system may.
// One at a time. Thread safe.
class ForgetfulDisk {
 public:
  explicit ForgetfulDisk(std::string directory);
  ~ForgetfulDisk();
  ForgetfulDisk(const ForgetfulDisk&) = delete;
  ForgetfulDisk& operator=(const ForgetfulDisk&) = delete;

  // Makes `copy`, a new directory, of what the disk would hold now. A file whose name is there but whose
  // bytes are not is empty.
  void copyTo(const std::string& copy) const;

  // Called before each sync of names, but not for those that it makes itself. An error number that it returns
  // is what that sync fails with, and nothing of it is kept; 0 lets it be.
  void beforeNames(std::function<int()> hook);
};

}  // namespace kiln::testing_support
