// Loose objects of a repository, read by Kiln itself: libgit2 1.5 writes what such a file inflates to behind
// its buffer where the header declares less.
#pragma once

#include <git2.h>

#include <string>

namespace kiln::source {

// A backend for git_odb_add_backend(), which owns it. `objects` is the repository's directory of that name.
// It reads objects and finds them by a prefix; it writes nothing. A file that inflates to another length than
// it declares is an error of class GIT_ERROR_ODB, found within the declared length; git_odb_read() compares
// the bytes with the object's name.
git_odb_backend* makeLooseBackend(const std::string& objects);

}  // namespace kiln::source
