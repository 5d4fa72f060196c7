#include "coordinator/planning/expectations.h"

#include "storage/index/jobs/duration_repository.h"

namespace kiln::service {

Status setExpected(postgres::Connection& connection, std::vector<index::RunRecord>& runs) {
  if (runs.empty()) return {};
  std::vector<index::WorkKind> works;
  for (const index::RunRecord& run : runs) works.push_back({run.kind, run.target, run.subject});
  KILN_ASSIGN(const auto found, index::expectationsOf(connection, runs.front().instance, works));
  for (std::size_t i = 0; i < runs.size(); ++i)
    runs[i].expectedSeconds = found.at(i) ? found[i]->seconds : kUnknownSeconds;
  return {};
}

}  // namespace kiln::service
