#include "storage/blob/instance_name.h"

#include <fmt/core.h>

#include <charconv>

#include "manifest/base/printable.h"

namespace kiln::storage {

Status checkInstanceName(std::string_view instance) {
  constexpr std::size_t kMaxBytes = 64;
  if (instance.size() > kMaxBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("instance name of {} bytes; at most {}", instance.size(), kMaxBytes));
  if (printable(instance) != instance)
    return fail(Code::kInvalidArgument,
                "instance name " + inQuotes(instance) +
                    " with a control character, or one that cannot be seen, or no UTF-8");
  return {};
}

Result<std::string> instanceDirectoryName(const std::string& instance) {
  KILN_TRY(checkInstanceName(instance));
  std::string out = "i-";
  for (unsigned char c : instance) {
    bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

std::optional<std::string> instanceOfDirectory(std::string_view name) {
  if (!name.starts_with("i-")) return std::nullopt;
  std::string instance;
  for (std::size_t i = 2; i < name.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(name[i]);
    if (c == '%') {
      const char* const digits = name.data() + i + 1;
      if (i + 2 >= name.size() || std::from_chars(digits, digits + 2, c, 16).ptr != digits + 2)
        return std::nullopt;
      i += 2;
    }
    instance += static_cast<char>(c);
  }
  const auto same = instanceDirectoryName(instance);
  return same && *same == name ? std::optional(instance) : std::nullopt;
}

}  // namespace kiln::storage
