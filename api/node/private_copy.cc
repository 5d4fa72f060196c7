#include "api/node/private_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace kiln::node {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxFiles = 100'000;

struct File {
  int fd;
  ~File() {
    if (fd >= 0) ::close(fd);
  }
};

Status copyFile(const fs::path& from, const fs::path& to) {
  const File in{::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  struct stat facts{};
  if (in.fd < 0 || ::fstat(in.fd, &facts) != 0) return fail(errnoError(errno, from.string()));
  if (!S_ISREG(facts.st_mode)) return fail(Code::kInvalidArgument, from.string() + ": not a regular file");
  const File out{::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400)};
  if (out.fd < 0) return fail(errnoError(errno, to.string()));
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const auto count = ::read(in.fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errnoError(errno, from.string()));
    if (count == 0) return {};
    for (ssize_t done = 0; done < count;) {
      const auto wrote = ::write(out.fd, buffer.data() + done, static_cast<std::size_t>(count - done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return fail(errnoError(errno, to.string()));
      done += wrote;
    }
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
    if (++files > kMaxFiles) return fail(Code::kInvalidArgument, directory + ": more than 100000 files");
    if (it->is_symlink(error)) return fail(Code::kInvalidArgument, it->path().string() + ": a symbolic link");
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
