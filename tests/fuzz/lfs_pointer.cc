// libFuzzer: what stands in a commit in the place of a large file.
#include "storage/lfs/pointer.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = kiln::lfs::readPointer(text);
  // What is accepted has one spelling but for the name of the format.
  if (read && *read &&
      !text.ends_with("\noid " + (*read)->text() + "\nsize " + std::to_string((*read)->size) + "\n"))
    std::abort();
  return 0;
}
