// The table against the .proto files: an RPC that is added there without a row fails here.
#include "coordinator/access/rpc_table.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/served_rpcs.h"

namespace kiln::access {
namespace {

TEST(RpcTable, EveryRpcHasItsRowAndEveryRowItsRpc) {
  std::set<std::string> served, rows;
  for (const auto* method : testing_support::servedRpcs())
    served.insert(method->service()->full_name() + "/" + method->name());
  for (const RpcRule& rule : rpcRules()) {
    EXPECT_TRUE(rows.insert(std::string(rule.rpc)).second) << rule.rpc << " has two rows";
    EXPECT_FALSE(rule.roles.empty()) << rule.rpc;
  }
  EXPECT_GE(served.size(), 21u);
  EXPECT_EQ(served, rows);
}

TEST(RpcTable, OnlyWorkersAreWorkersAndOnlyAdminsReachTheFarm) {
  for (const RpcRule& rule : rpcRules()) {
    EXPECT_EQ(rule.roles.has(Role::kAdmin), rule.scope != Scope::kWorker) << rule.rpc;
    if (rule.scope == Scope::kFarm) EXPECT_EQ(rule.roles, Roles{Role::kAdmin}) << rule.rpc;
  }
  EXPECT_EQ(findRule("kiln.v1.SignerService/Sign"), nullptr);
}

// Whoever names another instance by mistake must be told; only a first toolchain makes one.
TEST(RpcTable, OnlyAToolchainAndItsBytesMayBeginAnInstance) {
  for (const RpcRule& rule : rpcRules()) {
    const bool isOfBytes =
        rule.rpc.starts_with("google.bytestream.") || rule.rpc.starts_with("kiln.v1.TransferService/") ||
        (rule.rpc.find("ContentAddressableStorage/") != std::string::npos && !rule.rpc.ends_with("/GetTree"));
    EXPECT_EQ(rule.place == Place::kMayBegin,
              isOfBytes || rule.rpc == "kiln.v1.ToolchainService/AddToolchain")
        << rule.rpc;
  }
}

}  // namespace
}  // namespace kiln::access
