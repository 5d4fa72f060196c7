#include "manifest/base/new_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr char kMark[] = ".partial-";

tl::unexpected<Error> taken(const std::string& place) {
  return fail(Code::kAlreadyExists, place + ": is there already; remove it or choose another directory");
}

}  // namespace

Result<std::string> NewDirectory::placeOf(const std::string& destination) {
  if (destination.empty()) return fail(Code::kInvalidArgument, "\"\" is no directory; name one");
  fs::path path(destination);
  if (!path.has_filename()) path = path.parent_path();  // "out/", and "/" is its own parent
  const fs::path name = path.filename();
  const bool plain = !name.empty() && name != "." && name != "..";
  const fs::path above = !plain ? path : path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  const fs::path real = fs::canonical(above, error);
  if (error) return fail(errnoError(error.value(), above.string()));
  return (plain ? real / name : real).string();
}

Result<NewDirectory> NewDirectory::make(const std::string& destination) {
  KILN_ASSIGN(std::string place, placeOf(destination));
  std::error_code error;
  const auto kind = fs::symlink_status(place, error).type();
  if (kind != fs::file_type::not_found &&
      !(kind == fs::file_type::directory && fs::is_empty(place, error) && !error))
    return taken(place);
  const fs::path path(place);
  const auto prefix = path.parent_path() / ("." + path.filename().string() + kMark);
  KILN_ASSIGN(auto directory, ScratchDirectory::make(prefix.string()));
  return NewDirectory(std::move(place), std::move(directory));
}

Status NewDirectory::keep(unsigned mode) {
  if (::chmod(path().c_str(), mode) != 0) return fail(errnoError(errno, path()));
  if (const Status moved = directory_.moveTo(destination_); !moved) {
    // Somebody else made it meanwhile.
    std::error_code error;
    if (fs::exists(fs::symlink_status(destination_, error))) return taken(destination_);
    return moved;
  }
  return syncDirectory(fs::path(destination_).parent_path().string());
}

bool isInTheMaking(const std::string& name) {
  return name.starts_with('.') && name.find(kMark) != std::string::npos;
}

}  // namespace kiln
