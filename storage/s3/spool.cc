#include "storage/s3/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

namespace kiln::s3 {
namespace {

constexpr std::uint64_t kInMemory = 1 << 20;
constexpr char kWhat[] = "scratch directory of the S3 store ";

}  // namespace

Status Spool::openFile() {
  std::string path = directory_ + "/kiln-s3-XXXXXX";
  file_ = UniqueFd(::mkostemp(path.data(), O_CLOEXEC));
  if (!file_) return fail(errnoError(errno, kWhat + directory_));
  ::unlink(path.c_str());
  return writeAll(file_.get(), memory_, kWhat + directory_);
}

Status Spool::append(Bytes bytes) {
  if (size_ + bytes.size() <= kInMemory) {
    memory_.insert(memory_.end(), bytes.begin(), bytes.end());
  } else {
    if (!file_) KILN_TRY(openFile());
    memory_ = {};
    KILN_TRY(writeAll(file_.get(), bytes, kWhat + directory_));
  }
  size_ += bytes.size();
  return {};
}

Body Spool::body() const {
  return file_ ? Body{{}, file_.get(), size_} : Body::of(memory_);
}

}  // namespace kiln::s3
