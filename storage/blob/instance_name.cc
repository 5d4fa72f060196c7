#include "storage/blob/instance_name.h"

#include <fmt/core.h>

namespace kiln::storage {

Result<std::string> instanceDirectoryName(const std::string& instance) {
  constexpr std::size_t kMaxBytes = 64;
  if (instance.size() > kMaxBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("instance name of {} bytes; at most {}", instance.size(), kMaxBytes));
  std::string out = "i-";
  for (unsigned char c : instance) {
    if (c < 0x20 || c == 0x7f) return fail(Code::kInvalidArgument, "instance name with a control character");
    bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

}  // namespace kiln::storage
