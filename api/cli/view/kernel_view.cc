#include "api/cli/view/kernel_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "api/cli/base/print.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
namespace {

// The manifest's stages are free in form: what is not there has no nodes.
std::vector<std::string> nodesOf(const Manifest& manifest, const std::string& symbol) {
  const auto schedule = manifest.stages.find("schedule");
  if (schedule == manifest.stages.end() || !schedule->is_object()) return {};
  const auto kernels = schedule->find("kernels");
  if (kernels == schedule->end() || !kernels->is_array()) return {};
  for (const Json& kernel : *kernels) {
    if (!kernel.is_object() || kernel.value("symbol", Json()) != symbol) continue;
    std::vector<std::string> nodes;
    const Json list = kernel.value("nodes", Json::array());
    for (const Json& node : list)
      if (node.is_string()) nodes.push_back(node.get<std::string>());
    return nodes;
  }
  return {};
}

std::string lineOf(double share, std::uint64_t nanoseconds, const std::string& calls,
                   const std::string& tasks, const std::string& what) {
  return fmt::format("{:5.1f} % {:>10.3f} ms {:>8} {:>10}  {}", share,
                     static_cast<double>(nanoseconds) * 1e-6, calls, tasks, what);
}

}  // namespace

void printKernels(const std::vector<kiln_kernel_time>& kernels, const Manifest& manifest,
                  const kiln_counters& counters) {
  auto sorted = kernels;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tuple(b.nanoseconds, std::string_view(a.symbol)) <
           std::tuple(a.nanoseconds, std::string_view(b.symbol));
  });
  const auto share = [&](std::uint64_t part) {
    return counters.run_nanoseconds == 0
               ? 0.0
               : 100.0 * static_cast<double>(part) / static_cast<double>(counters.run_nanoseconds);
  };
  printLine(fmt::format("{}, {} on {}", counters.path, counted(counters.runs, "run"),
                        counted(counters.threads, "thread")));
  printLine("  share          time    calls      tasks  kernel");
  std::uint64_t inside = 0;
  for (const kiln_kernel_time& kernel : sorted) {
    const auto nodes = nodesOf(manifest, kernel.symbol);
    inside += kernel.nanoseconds;
    printLine(lineOf(
        share(kernel.nanoseconds), kernel.nanoseconds, std::to_string(kernel.calls),
        std::to_string(kernel.tasks),
        nodes.empty() ? kernel.symbol : fmt::format("{} ({})", kernel.symbol, fmt::join(nodes, ", "))));
  }
  const std::uint64_t outside = counters.run_nanoseconds - std::min(inside, counters.run_nanoseconds);
  printLine(lineOf(share(outside), outside, "", "", "outside kernels"));
}

Json kernelsJson(const std::vector<kiln_kernel_time>& kernels, const Manifest& manifest) {
  Json list = Json::array();
  for (const kiln_kernel_time& kernel : kernels) {
    list.push_back({{"symbol", kernel.symbol},
                    {"nodes", nodesOf(manifest, kernel.symbol)},
                    {"calls", kernel.calls},
                    {"tasks", kernel.tasks},
                    {"nanoseconds", kernel.nanoseconds}});
  }
  return list;
}

}  // namespace kiln::cli
