// How many calls move the files of an action, and what is believed of what they bring.
#include <fmt/core.h>

#include "tests/worker/cluster/cluster_fixture.h"

namespace kiln::cluster {
namespace {

using testing::HasSubstr;

class ClusterTransfers : public ClusterFixture {
 protected:
  // Gives the action this many more inputs of so many bytes each, all different.
  void addInputs(int count, std::size_t bytes) {
    reapi::Directory input;
    for (int i = 0; i < count; ++i) {
      std::string text(bytes, 'x');
      text.replace(0, 6, fmt::format("{:06}", i));
      addFile(input, fmt::format("f{:06}", i), text);
    }
    reapi::Directory root;
    auto* node = root.add_directories();
    node->set_name("input");
    *node->mutable_digest() = toProto(put(input.SerializeAsString()));
    useInputRoot(put(root.SerializeAsString()));
  }
  // Has the honest cluster leave this many files more.
  void addOutputs(int count, std::size_t bytes) {
    cluster_.lie = [=, this](reapi::ExecuteResponse& response) {
      for (int i = 0; i < count; ++i) {
        std::string text(bytes, 'o');
        text.replace(0, 6, fmt::format("{:06}", i));
        auto* file = response.mutable_result()->add_output_files();
        file->set_path(fmt::format("output/f{:06}", i));
        *file->mutable_digest() = toProto(cluster_.blobs.put(text));
      }
    };
  }
  ClusterBlobs& blobs() { return cluster_.blobs; }
};

TEST_F(ClusterTransfers, AThousandInputsTakeFewCalls) {
  addInputs(1000, 200);
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(blobs().uploads, 1004);  // action, command and two directories beside
  EXPECT_EQ(blobs().asked, 1);
  EXPECT_LE(blobs().batchesIn, 2);
  EXPECT_EQ(blobs().streamsIn, 0);
}

TEST_F(ClusterTransfers, AThousandOutputsTakeFewCalls) {
  addOutputs(1000, 200);
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->result.output_files_size(), 1002);
  EXPECT_LE(blobs().batchesOut, 2);
  EXPECT_EQ(blobs().streamsOut, 1) << "the Tree";
  // Again: the farm has them all, and the cluster must have them still.
  lease_.set_epoch(8);
  ASSERT_TRUE(run());
  EXPECT_LE(blobs().batchesOut, 4);
}

// What a cluster takes at once is its own to say.
TEST_F(ClusterTransfers, BatchesKeepToTheClustersLimit) {
  cluster_.capabilities.said.mutable_cache_capabilities()->set_max_batch_total_size_bytes(10'000);
  addInputs(40, 1000);
  addOutputs(40, 1000);
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_LE(blobs().largestBatch, 10'000u);
  EXPECT_GE(blobs().largestBatch, 5'000u);
  EXPECT_GE(blobs().batchesIn, 5);
  EXPECT_GE(blobs().batchesOut, 4);
  EXPECT_EQ(done->result.output_files_size(), 42);
  // Beyond it a blob goes by itself.
  cluster_.capabilities.said.mutable_cache_capabilities()->set_max_batch_total_size_bytes(500);
  blobs().largestBatch = 0;
  addInputs(3, 1001);
  addOutputs(3, 1001);
  const int before = blobs().streamsIn;
  ASSERT_TRUE(run());
  EXPECT_LE(blobs().largestBatch, 500u);
  EXPECT_GE(blobs().streamsIn, before + 3);
}

TEST_F(ClusterTransfers, WhatTheClusterSaysOfItselfMayBeNothing) {
  cluster_.capabilities.known = false;
  ASSERT_TRUE(run());
  cluster_.capabilities.known = true;
  cluster_.capabilities.said.mutable_cache_capabilities()->set_max_batch_total_size_bytes(-1);
  ASSERT_TRUE(run());
}

TEST_F(ClusterTransfers, AClusterThatCannotServeIsRefusedByName) {
  auto& said = cluster_.capabilities.said;
  said.mutable_cache_capabilities()->add_digest_functions(reapi::DigestFunction::BLAKE3);
  EXPECT_THAT(refusal(), HasSubstr("its digests are not SHA-256"));
  said.mutable_cache_capabilities()->add_digest_functions(reapi::DigestFunction::SHA256);
  EXPECT_EQ(refusal(), "no error");
  said.mutable_execution_capabilities()->set_exec_enabled(false);
  EXPECT_THAT(refusal(), HasSubstr("it executes nothing for this instance"));
  said.mutable_execution_capabilities()->set_exec_enabled(true);
  EXPECT_EQ(refusal(), "no error");
}

// In a batch as in a stream.
TEST_F(ClusterTransfers, ABatchThatLiesIsRefused) {
  using Response = reapi::BatchReadBlobsResponse;
  const std::vector<std::pair<std::function<void(Response&)>, const char*>> lies{
      {[](Response& all) { all.mutable_responses(0)->set_data("other bytes"); }, "DATA_LOSS"},
      {[](Response& all) { all.mutable_responses()->RemoveLast(); }, "leaves out"},
      {[](Response& all) { all.mutable_responses()->SwapElements(0, 1); }, nullptr},
      {[](Response& all) { all.mutable_responses(0)->set_compressor(reapi::Compressor::ZSTD); }, "DATA_LOSS"},
      {[](Response& all) { all.mutable_responses(0)->mutable_status()->set_code(grpc::NOT_FOUND); },
       "NOT_FOUND"},
      {[](Response& all) { *all.add_responses() = Response::Response(); }, nullptr},
      {[](Response& all) {
         std::swap(*all.mutable_responses(0)->mutable_data(), *all.mutable_responses(1)->mutable_data());
       },
       "DATA_LOSS"},
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    blobs().lie = lies[i].first;
    if (lies[i].second)
      EXPECT_THAT(refusal(), HasSubstr(lies[i].second)) << i;
    else
      EXPECT_EQ(refusal(), "no error") << i;
  }
}

}  // namespace
}  // namespace kiln::cluster
