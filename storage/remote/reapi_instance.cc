#include "storage/remote/reapi_instance.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "manifest/base/printable.h"

namespace kiln::storage {
namespace {

constexpr std::array<std::string_view, 7> kReserved = {
    "blobs", "uploads", "actions", "actionResults", "operations", "capabilities", "compressed-blobs"};

}  // namespace

std::string instanceNamed(const std::string& instance) {
  return instance.empty() ? kDefaultInstance : instance;
}

Status checkReapiInstance(std::string_view instance) {
  if (instance.empty()) return {};
  for (std::size_t start = 0; start <= instance.size();) {
    const std::size_t end = std::min(instance.find('/', start), instance.size());
    const std::string_view segment = instance.substr(start, end - start);
    if (segment.empty())
      return fail(Code::kInvalidArgument,
                  "instance name " + inQuotes(instance) + " has an empty segment; leave the slash out");
    if (std::ranges::find(kReserved, segment) != kReserved.end())
      return fail(Code::kInvalidArgument, fmt::format("instance name {} has the segment '{}', which REAPI "
                                                      "reserves; use an instance of another name",
                                                      inQuotes(instance), segment));
    start = end + 1;
  }
  return {};
}

}  // namespace kiln::storage
