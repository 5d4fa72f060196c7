#include "api/cli/view/partition_view.h"

#include <fmt/format.h>

#include "api/cli/view/json_text.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
std::vector<std::string> partitionLines(const Json& facts) {
  std::vector<std::string> lines;
  for (const Json& part : listOf(facts, "partitions")) {
    lines.push_back(fmt::format("{:<20} {} {} {}", textOf(part, "target"), textOf(part, "operations"),
                                nounFor(textOf(part, "operations"), "operation"), firstOf(part, "nodes", 6)));
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
                      : fmt::format("{:<20} {} of {} nodes, {}", "fallback", fallback.size(),
                                    textOf(facts, "nodes"), permilleOf(facts, "fallbackPermille")));
  return lines;
}

}  // namespace kiln::cli
