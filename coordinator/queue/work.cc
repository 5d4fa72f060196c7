#include "coordinator/queue/work.h"

#include <algorithm>
#include <charconv>

namespace kiln::queue {

std::optional<Work> parseWork(const std::string& payload) {
  const std::size_t first = payload.find(' ');
  if (first == std::string::npos) return std::nullopt;
  const std::size_t second = payload.find(' ', first + 1);
  if (second == std::string::npos) return std::nullopt;
  int kind = 0;
  const auto [end, error] = std::from_chars(payload.data(), payload.data() + first, kind);
  if (error != std::errc() || end != payload.data() + first) return std::nullopt;
  return Work{static_cast<index::ActionKind>(kind), payload.substr(first + 1, second - first - 1),
              payload.substr(second + 1)};
}

bool Interest::covers(const Work& work) const {
  const auto holds = [](const auto& list, const auto& value) {
    return std::ranges::find(list, value) != list.end();
  };
  if (!holds(kinds, work.kind)) return false;
  if (instances && !holds(*instances, work.instance)) return false;
  const auto& served = index::wantsDevice(work.kind) ? deviceTargets : targets;
  std::size_t from = 0;
  while (from < work.target.size()) {
    const std::size_t comma = std::min(work.target.find(',', from), work.target.size());
    if (!holds(served, work.target.substr(from, comma - from))) return false;
    from = comma + 1;
  }
  return true;
}

}  // namespace kiln::queue
