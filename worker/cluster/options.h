// Which Remote Execution cluster a worker offers, as --executor names it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "manifest/statement/sandbox_policy.h"

namespace kiln::cluster {

struct ClusterOptions {
  ClusterSandbox where;    // address, instance and platform
  std::string tls, token;  // files, "" for none: authorities of the cluster's certificate; a bearer token
  std::chrono::seconds queueLimit{60};  // an action that has not begun by then is given back to the farm
};

inline constexpr char kExecutorHelp[] =
    "run compiles in a Remote Execution cluster instead of here, --slots at a time: "
    "reapi=HOST:PORT, and with commas between, instance=NAME, platform=KEY=VALUE (repeatable), "
    "tls=FILE (authorities of its certificate, PEM), token=FILE (a bearer token), queue-seconds=N "
    "(for how long an action may wait there; 60)";

// kInvalidArgument naming the part that is wrong. Without tls= the address must be one of this machine
// (127.0.0.1:PORT, localhost:PORT, [::1]:PORT) or unix:/path, and there is no token.
Result<ClusterOptions> parseExecutor(std::string_view text);

}  // namespace kiln::cluster
