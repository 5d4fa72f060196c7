#include "manifest/base/output_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "manifest/base/scratch_directory.h"

namespace kiln {

Result<OutputDirectory> OutputDirectory::open(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  for (std::size_t slash = name.find('/', 1); slash != name.npos; slash = name.find('/', slash + 1))
    KILN_TRY(makeDirectory(name.substr(0, slash), 0755));
  KILN_TRY(makeDirectory(name, 0755));
  UniqueFd directory(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory && (errno == ELOOP || errno == ENOTDIR))
    return fail(Code::kInvalidArgument, name + ": a symbolic link or no folder; name the folder itself");
  if (!directory) return fail(errnoError(errno, name));
  return OutputDirectory(std::move(name), std::move(directory));
}

Status OutputDirectory::write(const std::string& name, Bytes bytes) const {
  const std::string shown = path_ + "/" + name;
  struct stat there{};
  if (::fstatat(directory_.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(there.st_mode))
    return fail(Code::kAlreadyExists, shown + ": is there and no regular file; move it away");
  // By the directory that is open, whatever has its name by now.
  const std::string here = "/proc/self/fd/" + std::to_string(directory_.get());
  // No name that a user would choose: what is left of another one is removed.
  const auto scratch = ScratchDirectory::make(here + "/.kiln.partial-");
  if (!scratch) return fail(scratch.error().in(shown));
  const std::string fresh = scratch->path() + "/" + name;
  KILN_ASSIGN(UniqueFd file, openFile(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644, shown));
  KILN_TRY(writeAll(file.get(), bytes, shown));
  KILN_TRY(file.close(shown));
  if (::renameat(AT_FDCWD, fresh.c_str(), directory_.get(), name.c_str()) != 0)
    return fail(errnoError(errno, shown));
  return {};
}

}  // namespace kiln
