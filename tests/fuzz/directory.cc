// libFuzzer: Directory messages from outside. What is accepted is canonical: it serialises to the same bytes.
#include "storage/tree/directory.h"

#include <google/protobuf/stubs/logging.h>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static google::protobuf::LogSilencer quiet;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto directory = kiln::storage::parseDirectory(bytes, 3);
  if (directory && kiln::storage::serialiseDirectory(*directory) != bytes) std::abort();
  return 0;
}
