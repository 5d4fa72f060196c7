#include "api/cli/view/farm_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/cli/base/progress.h"
#include "api/cli/base/text_table.h"
#include "api/cli/view/farm_tables.h"
#include "api/cli/view/job_view.h"
#include "api/cli/view/worker_view.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

struct Section {
  FarmTable table;
  std::size_t shown = 0;  // of its rows, without the heading

  std::size_t rows() const { return table.rows.size() - 1; }
  std::size_t left() const { return rows() - shown; }
  // An empty line, the heading, the rows, and one that says what was left out.
  std::size_t lines() const { return 2 + shown + (left() > 0 ? 1 : 0); }
};

std::size_t linesOf(const std::vector<Section>& sections) {
  std::size_t lines = 0;
  for (const Section& section : sections) lines += section.lines();
  return lines;
}

// Takes rows from whichever table shows the most, then whole tables from the end.
void fit(std::vector<Section>& sections, std::size_t lines) {
  while (linesOf(sections) > lines && !sections.empty()) {
    auto longest = std::ranges::max_element(sections, {}, &Section::shown);
    if (longest->shown > 1)
      --longest->shown;
    else
      sections.pop_back();
  }
}

Json queueJson(const v1::Queue& queue) {
  Json kinds = Json::array();
  for (const v1::Queue::Kind& kind : queue.kinds()) {
    Json one{{"kind", actionKindName(kind.kind())}, {"queued", kind.queued()}, {"running", kind.running()}};
    if (kind.has_oldest()) one["oldest"] = timeText(kind.oldest());
    if (kind.has_expected()) one["expectedSeconds"] = secondsOf(kind.expected());
    kinds.push_back(std::move(one));
  }
  Json json{{"instance", queue.instance()}, {"weight", queue.weight()}, {"kinds", std::move(kinds)}};
  if (queue.has_max_queued()) json["maxQueued"] = queue.max_queued();
  if (queue.has_max_running()) json["maxRunning"] = queue.max_running();
  return json;
}

}  // namespace

std::vector<std::string> farmLines(const FarmView& farm, const TerminalSize& size) {
  std::vector<std::string> lines{
      fmt::format("{}  {}, instance {}", rfc3339(farm.at), farm.endpoint, printable(farm.instance, 64)),
      fleetLine(farm)};
  std::vector<Section> sections;
  for (FarmTable& table : farmTables(farm)) {
    const std::size_t rows = table.rows.size() - 1;
    if (rows > 0) sections.push_back({std::move(table), rows});
  }
  fit(sections, size.rows - std::min(size.rows, lines.size()));
  for (Section& section : sections) {
    const std::size_t left = section.left();
    section.table.rows.resize(1 + section.shown);
    lines.emplace_back();
    for (std::string& line : tableLines(section.table.rows, section.table.right))
      lines.push_back(std::move(line));
    if (left > 0) lines.push_back(fmt::format("and {} more (--json lists all)", left));
  }
  lines.resize(std::min(lines.size(), size.rows));
  for (std::string& line : lines)
    line = printable(line, line.size() > size.columns ? size.columns - 3 : size.columns);
  return lines;
}

Json farmJson(const FarmView& farm) {
  Json queues = Json::array(), failures = Json::array();
  for (const v1::Queue& queue : farm.queues.queues()) queues.push_back(queueJson(queue));
  for (const v1::Job& job : farm.failed)
    failures.push_back({{"job", job.id()},
                        {"model", job.model_name()},
                        {"ended", timeText(job.ended())},
                        {"exitCode", job.error().exit_code()},
                        {"message", job.error().message()}});
  Json json{{"at", rfc3339(farm.at)},
            {"instance", farm.instance},
            {"queues", std::move(queues)},
            {"workers", workersJson(farm.workers).at("workers")},
            {"failures", std::move(failures)}};
  if (farm.queues.left_out() > 0) json["queuesLeftOut"] = farm.queues.left_out();
  return json;
}

}  // namespace kiln::cli
