#include "api/node/private_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "manifest/base/file.h"

namespace kiln::node {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxFiles = 100'000;

Status copyFile(const fs::path& from, const fs::path& to) {
  KILN_ASSIGN(const UniqueFd in, openFile(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, from.string()));
  struct stat facts{};
  if (::fstat(in.get(), &facts) != 0) return fail(errnoError(errno, from.string()));
  if (!S_ISREG(facts.st_mode)) return fail(Code::kDataLoss, from.string() + ": not a regular file");
  // A sparse file of terabytes would fill the disk before its hash is known to be wrong.
  std::error_code error;
  if (const auto room = fs::space(to.parent_path(), error);
      !error && static_cast<std::uintmax_t>(facts.st_size) > room.available)
    return fail(Code::kResourceExhausted,
                from.string() + ": larger than the space in " + to.parent_path().string());
  KILN_ASSIGN(const UniqueFd out, openFile(to, O_WRONLY | O_CREAT | O_EXCL, 0400, to.string()));
  std::vector<std::uint8_t> buffer(1 << 20);
  for (;;) {
    const auto count = ::read(in.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errnoError(errno, from.string()));
    if (count == 0) return {};
    KILN_TRY(writeAll(out.get(), {buffer.data(), static_cast<std::size_t>(count)}, to.string()));
  }
}

}  // namespace

Result<std::shared_ptr<PrivateCopy>> PrivateCopy::create() {
  std::error_code error;
  auto base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  auto pattern = (base / "kiln-artifact-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return fail(errnoError(errno, base.string()));
  return std::shared_ptr<PrivateCopy>(new PrivateCopy(pattern));
}

Result<std::shared_ptr<PrivateCopy>> PrivateCopy::of(const std::string& directory) {
  KILN_ASSIGN(auto copy, create());
  std::error_code error;
  std::size_t files = 0;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const auto to = fs::path(copy->path()) / it->path().lexically_relative(directory);
    if (++files > kMaxFiles) return fail(Code::kDataLoss, directory + ": more than 100000 files");
    if (it->is_symlink(error)) return fail(Code::kDataLoss, it->path().string() + ": a symbolic link");
    if (it->is_directory(error)) {
      if (::mkdir(to.c_str(), 0700) != 0) return fail(errnoError(errno, to.string()));
    } else {
      KILN_TRY(copyFile(it->path(), to));
    }
  }
  if (error) return fail(errnoError(error.value(), directory));
  return copy;
}

PrivateCopy::~PrivateCopy() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace kiln::node
