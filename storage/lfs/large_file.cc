#include "storage/lfs/large_file.h"

#include <fcntl.h>
#include <fmt/core.h>

#include "manifest/base/printable.h"

namespace kiln::lfs {
namespace {

// A full disk is this machine's, and no limit that the source exceeds.
Status onThisMachine(Status done) {
  if (!done && done.error().code == Code::kResourceExhausted) done.error().code = Code::kUnavailable;
  return done;
}

}  // namespace

std::string describe(const LargeFile& file) {
  return fmt::format("'{}' (Git LFS object {})", printable(file.path), file.object.text());
}

Result<ObjectWriter> ObjectWriter::open(const LargeFile& file) {
  KILN_ASSIGN(UniqueFd output,
              openFile(file.output, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644, file.path));
  return ObjectWriter(file, std::move(output));
}

Status ObjectWriter::take(Bytes bytes) {
  if (bytes.size() > file_.object.size - taken_)
    return fail(Code::kDataLoss, fmt::format("{}: more than the {} bytes that its pointer gives it came",
                                             describe(file_), file_.object.size));
  taken_ += bytes.size();
  hasher_.update(bytes);
  return onThisMachine(writeAll(output_.get(), bytes, file_.path));
}

Status ObjectWriter::finish() {
  if (taken_ != file_.object.size)
    return fail(Code::kDataLoss, fmt::format("{}: {} bytes came, and its pointer gives it {}",
                                             describe(file_), taken_, file_.object.size));
  if (const Digest came = hasher_.finish(); came != file_.object)
    return fail(Code::kDataLoss, fmt::format("{}: other bytes came, of {}", describe(file_), came.text()));
  return onThisMachine(output_.close(file_.path));
}

}  // namespace kiln::lfs
