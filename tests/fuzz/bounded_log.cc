// Whatever a tool writes and in whatever pieces: the record stays bounded, lines are whole, stages are plain
// words.
#include "worker/sandbox/bounded_log.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kLimit = 64;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  kiln::sandbox::BoundedLog log(kLimit, [](std::string_view line) {
    if (line.find('\n') != std::string_view::npos || line.size() > 4096) std::abort();
  });
  while (!rest.empty()) {
    // The first byte of each piece is its length.
    const std::size_t length = std::min<std::size_t>(1 + static_cast<unsigned char>(rest[0]), rest.size());
    log.append(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  if (log.total() != size || log.text().size() > kLimit + 64) std::abort();
  return 0;
}
