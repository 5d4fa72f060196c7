// libFuzzer: the answer of a Git LFS server to a batch.
#include "storage/lfs/batch.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<kiln::lfs::LargeFile> files = {{"m", kiln::digestOf("m"), ""},
                                                   {"w", kiln::digestOf("w"), ""}};
  const auto read = kiln::lfs::readBatch({reinterpret_cast<const char*>(data), size}, files);
  if (!read) return 0;
  if (read->size() != files.size()) std::abort();
  for (const auto& download : *read)
    for (const std::string& header : download.headers)
      if (header.find_first_of("\r\n") != std::string::npos) std::abort();
  return 0;
}
