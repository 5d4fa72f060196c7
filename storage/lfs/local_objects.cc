#include "storage/lfs/local_objects.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace kiln::lfs {
namespace {

Result<UniqueFd> openObject(const std::string& gitDirectory, const LargeFile& file) {
  const std::string hex = file.object.hex();
  auto opened = openRegular(
      fmt::format("{}/lfs/objects/{}/{}/{}", gitDirectory, hex.substr(0, 2), hex.substr(2, 2), hex),
      O_NOFOLLOW);
  if (!opened && opened.error().code == Code::kNotFound)
    return fail(Code::kNotFound,
                fmt::format("{} is not in this repository, the commit holds its pointer alone: run git lfs "
                            "fetch --all there first",
                            describe(file)));
  return opened;
}

Status copyObject(const std::string& gitDirectory, const LargeFile& file) {
  KILN_ASSIGN(const UniqueFd from, openObject(gitDirectory, file));
  KILN_ASSIGN(ObjectWriter to, ObjectWriter::open(file));
  std::vector<std::uint8_t> buffer(kChunkBytes);
  for (;;) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errnoError(errno, describe(file)));
    if (got == 0) return to.finish();
    KILN_TRY(to.take({buffer.data(), static_cast<std::size_t>(got)}));
  }
}

}  // namespace

Status copyLocalObjects(const std::string& gitDirectory, std::span<const LargeFile> files) {
  for (const LargeFile& file : files) KILN_TRY(copyObject(gitDirectory, file));
  return {};
}

}  // namespace kiln::lfs
