// A tar archive whose bytes depend on names and contents alone: owner 0, time 0, mode 0555 for folders and
// 0444 for files. Source: POSIX.1-2017, pax interchange format; ustar headers, and an extended one only for
// what ustar cannot say (a path longer than 100 bytes, a file of 8 GiB or more).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "storage/blob/blob_store.h"

namespace kiln::storage {

// Entries lie in the archive in the order of the calls. Not thread safe. Errors are the sink's and the
// sources'.
class TarWriter {
 public:
  explicit TarWriter(ByteSink sink) : sink_(std::move(sink)) {}

  // `path` is relative, without a slash at its end; its parents come before it.
  Status folder(const std::string& path);
  // `source` hands out the contents. kDataLoss unless these are `size` bytes.
  Status file(const std::string& path, std::uint64_t size,
              const std::function<Status(const ByteSink&)>& source);
  // What stands before the contents of such a file, without them.
  Status fileHeader(const std::string& path, std::uint64_t size);
  // The archive's end. Nothing may follow.
  Status finish();

 private:
  Status header(const std::string& path, char type, std::uint64_t mode, std::uint64_t size);
  Status block(const std::string& path, char type, std::uint64_t mode, std::uint64_t size);
  Status pad(std::uint64_t size);

  ByteSink sink_;
};

}  // namespace kiln::storage
