// libFuzzer: tokens and key sets as callers and issuers may send them.
#include "coordinator/access/token.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A key set before the first line end, a token behind it.
  const auto line = text.find('\n');
  std::vector<kiln::access::TokenIssuer> issuers{{"i", {"a"}, {}}};
  if (auto keys = kiln::access::parseJsonWebKeys(text.substr(0, line))) issuers[0].keys = std::move(*keys);
  if (line != std::string_view::npos)
    (void)kiln::access::verifyToken(text.substr(line + 1), issuers, kiln::TimePoint());
  return 0;
}
