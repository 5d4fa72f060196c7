// From the log to the statements: whatever was signed and logged for an instance must be in its index.
#pragma once

#include <cstdint>
#include <functional>

#include "api/audit/audit_trust.h"

namespace kiln::audit {

struct LogCounts {
  std::uint64_t entries = 0;  // looked at
  std::uint64_t foreign = 0;  // of them, of other instances, says the farm; recalls are not among them
  std::uint64_t recalls = 0;  // of them, signed by a recall key of the root
};

// Walks the log from entry `from` to its newest checkpoint, a tile of entries at a time. An entry that the
// index lacks is asked for again at the end: what was signed a moment ago may be on its way. `seen` is called
// after each tile. A recall of the root's keys must be among the recalls that the farm has in force.
// kOutOfRange if the log has fewer than `from` entries; other errors are of the farm or the log being asked.
Result<LogCounts> auditLog(const Audit& audit, IndexSource& source, LogHistory& history, std::uint64_t from,
                           const std::function<void(const LogCounts&)>& seen);

}  // namespace kiln::audit
