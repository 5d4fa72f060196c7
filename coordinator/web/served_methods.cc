#include "coordinator/web/served_methods.h"

#include <algorithm>

#include "coordinator/access/rpc_table.h"

namespace kiln::server {
namespace {

std::string placeOf(access::Scope scope) {
  switch (scope) {
    case access::Scope::kInstance:
      return "the instance";
    case access::Scope::kAnywhere:
      return "some instance";
    case access::Scope::kFarm:
      return "every instance";
    case access::Scope::kWorker:
      break;
  }
  return "nowhere";
}

}  // namespace

std::string rpcName(const google::protobuf::MethodDescriptor& method) {
  return method.service()->full_name() + "/" + method.name();
}

std::vector<const google::protobuf::MethodDescriptor*> servedMethods(
    const google::protobuf::DescriptorPool& pool) {
  std::vector<const google::protobuf::MethodDescriptor*> out;
  for (const access::RpcRule& rule : access::rpcRules()) {
    std::string name(rule.rpc);
    std::ranges::replace(name, '/', '.');
    if (const auto* method = pool.FindMethodByName(name)) out.push_back(method);
  }
  return out;
}

transcoding::Needed neededFor(const google::protobuf::MethodDescriptor& method) {
  transcoding::Needed out;
  const access::RpcRule* rule = access::findRule(rpcName(method));
  if (!rule) return out;
  for (const access::Role role : access::kEveryRole)
    if (rule->roles.has(role)) out.roles.emplace_back(access::roleName(role));
  out.place = placeOf(rule->scope);
  return out;
}

}  // namespace kiln::server
