// Every RPC that a coordinator serves, and who may call it. An RPC without a row is served to nobody.
#pragma once

#include <span>
#include <string_view>

#include "coordinator/access/roles.h"

namespace kiln::access {

enum class Scope {
  kInstance,  // a role in the instance that the request names
  kAnywhere,  // a role in some instance: what it tells is the same for all
  kFarm,      // a role in every instance: what it does concerns all of them
  kWorker,    // a worker, as itself, for the instances in which it is one
};

// Whether the instance that a request names must be there already.
enum class Place {
  kThere,
  kMayBegin,  // what a first toolchain wants: its bytes and its label
};

struct RpcRule {
  std::string_view rpc;  // "kiln.v1.JobService/SubmitJob"
  Scope scope;
  Roles roles;  // one of them will do
  Place place = Place::kThere;
};

std::span<const RpcRule> rpcRules();
// Null if there is no row.
const RpcRule* findRule(std::string_view rpc);

}  // namespace kiln::access
