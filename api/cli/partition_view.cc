#include "api/cli/partition_view.h"

#include <fmt/format.h>

namespace kiln::cli {
namespace {

std::string textOf(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) return "";
  const Json& value = object[name];
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json& listOf(const Json& object, const char* name) {
  static const Json none = Json::array();
  if (!object.is_object() || !object.contains(name) || !object[name].is_array()) return none;
  return object[name];
}

}  // namespace

std::vector<std::string> partitionLines(const Json& facts) {
  std::vector<std::string> lines;
  for (const Json& part : listOf(facts, "partitions")) {
    std::string nodes = textOf(part, "nodes");
    if (nodes.size() > 120) nodes = nodes.substr(0, 117) + "...";
    lines.push_back(
        fmt::format("{:<20} {} operations {}", textOf(part, "target"), textOf(part, "operations"), nodes));
  }
  for (const Json& transfer : listOf(facts, "transfers"))
    lines.push_back(fmt::format("{:<20} {} from {} to {}, {} bytes", "transfer", textOf(transfer, "node"),
                                textOf(transfer, "from"), textOf(transfer, "to"), textOf(transfer, "bytes")));
  lines.push_back(fmt::format("{:<20} {}", "transferBytes", textOf(facts, "transferBytes")));
  const Json& fallback = listOf(facts, "fallback");
  for (const Json& node : fallback)
    lines.push_back(fmt::format("{:<20} {} ({}) from {} to {}: {}", "fallback", textOf(node, "node"),
                                textOf(node, "op"), textOf(node, "from"), textOf(node, "to"),
                                textOf(node, "reason")));
  lines.push_back(fallback.empty()
                      ? fmt::format("{:<20} none", "fallback")
                      : fmt::format("{:<20} {} of {} nodes, {} thousandths", "fallback", fallback.size(),
                                    textOf(facts, "nodes"), textOf(facts, "fallbackPermille")));
  return lines;
}

}  // namespace kiln::cli
