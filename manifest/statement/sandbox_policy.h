// The document of a sandbox policy that receipts and statements name: what it says, as far as others than the
// worker that enforces it judge it. Form: manifest/FORMAT.md, "Receipt".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "manifest/json/json.h"

namespace kiln {

struct StatedPolicy {
  std::string name;  // "compile/2"
  bool network = false;
  bool proc = false;
  bool gpu = false;
  bool tmp = false;  // a /tmp of the action's own
  // Kiln's own, or what others run: then nothing is known of how it confines, and the flags say nothing.
  bool own = true;
};

// Where an action ran that a worker had a Remote Execution cluster run: the cluster's sandbox is not Kiln's.
struct ClusterSandbox {
  static constexpr char kName[] = "reapi-cluster/1";
  std::string address;                          // as the worker reaches it: "host:port"
  std::string instance;                         // may be empty
  std::map<std::string, std::string> platform;  // properties that the cluster routes by

  Json toJson() const;
};

// Reads a policy, Kiln's own or a ClusterSandbox, in canonical JSON. kInvalidArgument naming the member: not
// that form; a namespace missing; uid or gid 0. Members of Kiln's own beyond the known ones are of later
// releases and are left alone; a cluster's are refused.
Result<StatedPolicy> readSandboxPolicy(std::string_view text);

// The name of a sandbox whose document calls itself Kiln's own and cannot be read whole.
inline constexpr char kUnknownSandbox[] = "unknown";

// Whose sandbox the document of a receipt is of: "" for Kiln's own, whatever it gives, else its name as it
// stands in statements ("reapi-cluster/1"). Nobody's word makes it Kiln's: where readSandboxPolicy() fails it
// is kUnknownSandbox. kInvalidArgument for what is neither of the kinds.
Result<std::string> foreignSandbox(std::string_view text);

}  // namespace kiln
