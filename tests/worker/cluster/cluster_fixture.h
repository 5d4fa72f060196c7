// A lease, a farm in memory, and a cluster that is honest until a test tells it how to lie.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/manual_clock.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/temp_directory.h"
#include "tests/worker/cluster/lying_cluster.h"
#include "worker/cluster/cluster_runner.h"
#include "worker/cluster/connection.h"
#include "worker/executor/termination.h"

namespace kiln::cluster {

inline constexpr const char* kInstance = "default";

class ClusterFixture : public testing::Test {
 protected:
  ClusterFixture() : cluster_(dir_.path() + "/c.sock") {
    options_.where.address = cluster_.address;
    options_.where.platform = {{"OSFamily", "linux"}, {"Pool", "a"}};
    const auto channel = connect(options_);
    runner_.emplace(farm_, *channel, options_, clock_);

    reapi::Directory input, root;
    addFile(input, "large.bin", std::string(300 << 10, 'x'));  // beyond what travels in batches
    model_ = addFile(input, "model.onnx", "a model");
    auto* node = root.add_directories();
    node->set_name("input");
    *node->mutable_digest() = toProto(put(input.SerializeAsString()));
    lease_.set_id("run-1");
    lease_.set_epoch(7);
    lease_.set_instance(kInstance);
    lease_.set_kind(v1::ACTION_COMPILE);
    lease_.mutable_time_limit()->set_seconds(600);
    useInputRoot(put(root.SerializeAsString()));
  }

  // Has the lease's action run on this.
  void useInputRoot(const Digest& root) {
    root_ = root;
    reapi::Command command;
    command.add_arguments("toolchain/bin/kiln-cc");
    command.add_output_paths("output");
    reapi::Action action;
    *action.mutable_command_digest() = toProto(put(command.SerializeAsString()));
    *action.mutable_input_root_digest() = toProto(root_);
    *lease_.mutable_action() = toProto(put(action.SerializeAsString()));
  }

  Digest put(const std::string& bytes) { return *storage::putBlob(farm_, kInstance, asBytes(bytes)); }
  Digest addFile(reapi::Directory& to, const std::string& name, const std::string& bytes) {
    const Digest digest = put(bytes);
    auto* node = to.add_files();
    node->set_name(name);
    *node->mutable_digest() = toProto(digest);
    return digest;
  }

  Result<agent::Outcome> run() {
    return runner_->run(lease_, 0, cancel_, [&](const std::string& stage) { stages_.push_back(stage); });
  }
  // The error of a run that another worker is to repeat.
  std::string refusal() {
    const auto done = run();
    if (done) return "no error";
    EXPECT_TRUE(executor::retryable(done.error())) << done.error().message;
    return std::string(codeName(done.error().code)) + ": " + done.error().message;
  }
  std::string refusalOf(std::function<void(reapi::ExecuteResponse&)> lie) {
    cluster_.lie = std::move(lie);
    return refusal();
  }
  // Gives the output directory this tree instead.
  std::string refusalOfTree(const std::function<void(reapi::Tree&)>& change) {
    return refusalOf([&](reapi::ExecuteResponse& response) {
      auto* directory = response.mutable_result()->mutable_output_directories(0);
      reapi::Tree tree;
      tree.ParseFromString(cluster_.blobs.get(directory->tree_digest().hash()));
      change(tree);
      *directory->mutable_tree_digest() = toProto(cluster_.blobs.put(tree.SerializeAsString()));
    });
  }

  testing_support::TempDirectory dir_;
  LyingCluster cluster_;
  testing_support::MemoryBlobStore farm_;
  testing_support::ManualClock clock_;
  sandbox::Cancel cancel_;
  ClusterOptions options_;
  std::optional<ClusterRunner> runner_;
  Digest model_, root_;
  v1::Lease lease_;
  std::vector<std::string> stages_;
};

}  // namespace kiln::cluster
