#include "storage/serving/endpoint.h"

#include <charconv>
#include <fstream>

#include "manifest/base/printable.h"

namespace kiln::serving {

Result<HostPort> parseHostPort(const std::string& text) {
  std::size_t colon = text.rfind(':');
  HostPort out;
  if (colon == std::string::npos || colon == 0)
    return fail(Code::kInvalidArgument, inQuotes(text) + " is not HOST:PORT");
  out.host = text.substr(0, colon);
  const char* begin = text.data() + colon + 1;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(begin, end, out.port);
  if (error != std::errc() || rest != end || begin == end)
    return fail(Code::kInvalidArgument, inQuotes(text) + " has no valid port");
  return out;
}

Status writePortFile(const char* flag, const std::string& path, std::uint16_t port) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::trunc);
  file << port << '\n';
  file.close();
  if (!file) return fail(Code::kPermissionDenied, std::string(flag) + ": cannot write " + path);
  return {};
}

}  // namespace kiln::serving
