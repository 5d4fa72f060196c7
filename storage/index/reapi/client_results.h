// What clients of the Remote Execution API wrote into the action cache. No evidence of anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// Of `result`; the table refuses more.
inline constexpr std::uint64_t kMaxClientResult = 2 << 20;

struct ClientResult {
  std::string instance;
  Digest action;
  std::string result;  // build.bazel.remote.execution.v2.ActionResult, serialised
  std::string writer;  // the identity that the client proved
  TimePoint written;
};

// In place of what was there of the action.
Status putClientResult(postgres::Connection& connection, const ClientResult& result);
Result<std::optional<ClientResult>> clientResult(postgres::Connection& connection,
                                                 const std::string& instance, const Digest& action);
// That it answered somebody; written down once a day.
Status noteUse(postgres::Connection& connection, const std::string& instance, const Digest& action,
               TimePoint now);
// Removes what nobody wrote or used since; how many those were.
Result<std::int64_t> dropClientResults(postgres::Connection& connection, TimePoint unusedSince);

}  // namespace kiln::index
