// A directory that a user asked for: made beside its place, which it gets once it is whole. Until then
// nothing is there under its name, and whatever ends the process leaves nothing (scratch_directory.h).
#pragma once

#include <string>

#include "manifest/base/scratch_directory.h"

namespace kiln {

// Not thread safe.
class NewDirectory {
 public:
  // Makes it empty, of mode 0700. kAlreadyExists if there is anything but an empty directory, kNotFound if
  // what it is to lie in is not there.
  static Result<NewDirectory> make(const std::string& destination);
  // Where such a path leads, absolute: links are followed as the system follows them, but for the last name,
  // which need not be there. kNotFound if what it lies in is not.
  static Result<std::string> placeOf(const std::string& destination);

  const std::string& path() const { return directory_.path(); }    // of the directory in the making
  const std::string& destination() const { return destination_; }  // its placeOf()
  // Gives it its name and `mode`, durably; what is in it is the caller's to sync before.
  Status keep(unsigned mode);

 private:
  NewDirectory(std::string destination, ScratchDirectory directory)
      : destination_(std::move(destination)), directory_(std::move(directory)) {}

  std::string destination_;
  ScratchDirectory directory_;
};

// Whether a name is that of something in the making, or what a kill left of it.
bool isInTheMaking(const std::string& name);

}  // namespace kiln
