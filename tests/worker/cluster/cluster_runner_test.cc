// Leases through a cluster that is honest, and through one that lies.
#include "worker/cluster/cluster_runner.h"

#include <fmt/core.h>

#include "tests/worker/cluster/cluster_fixture.h"

namespace kiln::cluster {
namespace {

using testing::HasSubstr;

using ClusterRunnerTest = ClusterFixture;

TEST_F(ClusterRunnerTest, WhatTheFarmGetsHasTheFormOfItsOwnExecutor) {
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  const reapi::ActionResult& result = done->result;
  ASSERT_EQ(result.output_files_size(), 2);
  EXPECT_EQ(result.output_directories_size(), 0);
  EXPECT_EQ(result.output_files(0).path(), "output/program.so");
  EXPECT_FALSE(result.output_files(0).is_executable());
  EXPECT_EQ(result.output_files(1).path(), "output/weights/0.bin");
  EXPECT_TRUE(result.output_files(1).is_executable());
  EXPECT_EQ(result.stderr_raw(), "stage: codegen\n");
  EXPECT_FALSE(result.has_execution_metadata());
  for (const auto& file : result.output_files())
    EXPECT_TRUE(*storage::hasBlob(farm_, kInstance, *fromProto(file.digest())));
  EXPECT_THAT(stages_, testing::ElementsAre("cluster-upload", "cluster-queued", "cluster-download"));
}

TEST_F(ClusterRunnerTest, TheClusterGetsTheActionWithItsPlatformAndNoCache) {
  ASSERT_TRUE(run());
  EXPECT_TRUE(cluster_.lastRequest.skip_cache_lookup());
  EXPECT_EQ(cluster_.lastRequest.instance_name(), "");
  const reapi::Action& action = cluster_.lastAction;
  EXPECT_TRUE(action.do_not_cache());
  EXPECT_EQ(action.salt(), "kiln run-1 7");
  EXPECT_EQ(action.timeout().seconds(), 600);
  EXPECT_EQ(*fromProto(action.input_root_digest()), root_);
  for (const reapi::Platform* platform : {&action.platform(), &cluster_.lastCommand.platform()}) {
    ASSERT_EQ(platform->properties_size(), 2);
    EXPECT_EQ(platform->properties(0).name(), "OSFamily");
    EXPECT_EQ(platform->properties(1).value(), "a");
  }
  EXPECT_EQ(cluster_.lastCommand.output_directories(0), "output");  // for servers of API 2.0
  EXPECT_EQ(cluster_.blobs.instances(), std::set<std::string>{""});
}

TEST_F(ClusterRunnerTest, OnlyWhatIsMissingIsSent) {
  ASSERT_TRUE(run());
  EXPECT_EQ(cluster_.blobs.uploads, 6);  // action, command, two directories, two files
  lease_.set_epoch(8);                   // another salt, so another action
  ASSERT_TRUE(run());
  EXPECT_EQ(cluster_.blobs.uploads, 7);
}

TEST_F(ClusterRunnerTest, TheReceiptsDocumentSaysThatTheSandboxIsNotOurs) {
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  const auto text = storage::getBlob(farm_, kInstance, done->sandboxPolicy, 1 << 16);
  ASSERT_TRUE(text);
  const auto policy = readSandboxPolicy(*text);
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_FALSE(policy->own);
  EXPECT_EQ(policy->name, "reapi-cluster/1");
  EXPECT_THAT(*text, HasSubstr(R"("platform":{"OSFamily":"linux","Pool":"a"})"));
}

TEST_F(ClusterRunnerTest, BothFormsOfDirectoriesAndPlainFilesAreRead) {
  const auto whole = run();
  ASSERT_TRUE(whole);
  cluster_.lie = [&](reapi::ExecuteResponse& response) {
    auto* directory = response.mutable_result()->mutable_output_directories(0);
    reapi::Tree tree;
    tree.ParseFromString(cluster_.blobs.get(directory->tree_digest().hash()));
    directory->clear_tree_digest();
    *directory->mutable_root_directory_digest() =
        toProto(cluster_.blobs.put(tree.root().SerializeAsString()));
  };
  const auto directories = run();
  ASSERT_TRUE(directories) << directories.error().message;
  EXPECT_EQ(directories->result.SerializeAsString(), whole->result.SerializeAsString());
  cluster_.lie = [&](reapi::ExecuteResponse& response) {
    response.mutable_result()->clear_output_directories();
    for (int i : {1, 0}) {
      *response.mutable_result()->add_output_files() = whole->result.output_files(i);
      response.mutable_result()->mutable_output_files(1 - i)->set_contents("not these bytes");
    }
  };
  const auto files = run();
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->result.SerializeAsString(), whole->result.SerializeAsString());
}

TEST_F(ClusterRunnerTest, AFailedToolIsAResultWithoutOutputs) {
  cluster_.lie = [](reapi::ExecuteResponse& response) { response.mutable_result()->set_exit_code(3); };
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->result.exit_code(), 3);
  EXPECT_EQ(done->result.output_files_size(), 0);
}

TEST_F(ClusterRunnerTest, LongLogsAreFetchedAndShortened) {
  cluster_.lie = [&](reapi::ExecuteResponse& response) {
    response.mutable_result()->clear_stderr_raw();
    *response.mutable_result()->mutable_stderr_digest() =
        toProto(cluster_.blobs.put(std::string(3 << 20, 'l')));
  };
  const auto done = run();
  ASSERT_TRUE(done) << done.error().message;
  const auto log = storage::getBlob(farm_, kInstance, *fromProto(done->result.stderr_digest()), 2 << 20);
  ASSERT_TRUE(log);
  EXPECT_THAT(*log, HasSubstr("[2097152 bytes left out]"));
}

TEST_F(ClusterRunnerTest, OtherLeasesAreNotTaken) {
  for (const auto kind : {v1::ACTION_CHECK, v1::ACTION_REFERENCE, v1::ACTION_FETCH, v1::ACTION_EXECUTE}) {
    lease_.set_kind(kind);
    EXPECT_THAT(refusal(), HasSubstr("compiles alone"));
  }
  EXPECT_EQ(cluster_.executed, 0);
}

TEST_F(ClusterRunnerTest, OtherBytesThanTheDigestsAreRefused) {
  EXPECT_THAT(refusalOf([&](reapi::ExecuteResponse&) { cluster_.blobs.set(digestOf("weights"), "WEIGHTS"); }),
              HasSubstr("DATA_LOSS"));
  EXPECT_FALSE(*storage::hasBlob(farm_, kInstance, digestOf("weights")));
  // Though the farm has the true bytes.
  put("weights");
  EXPECT_THAT(refusal(), HasSubstr("DATA_LOSS"));
}

TEST_F(ClusterRunnerTest, OutputsThatAreNotThereAreRefused) {
  EXPECT_THAT(
      refusalOf([&](reapi::ExecuteResponse&) { cluster_.blobs.forget(digestOf("weights")); }),
      HasSubstr("UNAVAILABLE: cluster " + cluster_.address + ": download from the cluster: NOT_FOUND"));
  EXPECT_THAT(refusalOf([](reapi::ExecuteResponse& response) {
                response.mutable_result()->clear_output_directories();
              }),
              HasSubstr("a success without any output"));
  EXPECT_THAT(refusalOf([&](reapi::ExecuteResponse& response) {
                cluster_.blobs.forget(*fromProto(response.result().output_directories(0).tree_digest()));
              }),
              HasSubstr("reading the output directory: NOT_FOUND"));
  EXPECT_THAT(refusalOf([](reapi::ExecuteResponse& response) { response.clear_result(); }),
              HasSubstr("without a result"));
}

TEST_F(ClusterRunnerTest, WrongSizesAreRefused) {
  EXPECT_THAT(refusalOfTree([](reapi::Tree& tree) {
                tree.mutable_root()->mutable_files(0)->mutable_digest()->set_size_bytes(5);
              }),
              HasSubstr("DATA_LOSS"));
  EXPECT_THAT(
      refusalOfTree([](reapi::Tree& tree) {
        tree.mutable_root()->mutable_files(0)->mutable_digest()->set_size_bytes(std::int64_t{1} << 40);
      }),
      HasSubstr("DATA_LOSS"));
  EXPECT_THAT(
      refusalOf([](reapi::ExecuteResponse& response) {
        response.mutable_result()->mutable_output_directories(0)->mutable_tree_digest()->set_size_bytes(
            std::int64_t{1} << 40);
      }),
      HasSubstr("a Tree of more than 16 MiB"));
}

TEST_F(ClusterRunnerTest, AnotherActionsResultIsRefused) {
  cluster_.executes = {[&](grpc::ServerContext&, grpc::ServerWriter<Operation>& stream) {
    *cluster_.lastRequest.mutable_action_digest() = toProto(digestOf("another action"));
    return cluster_.finish(stream);
  }};
  EXPECT_THAT(refusal(),
              HasSubstr("DATA_LOSS: cluster " + cluster_.address + ": the cluster speaks of another"));
}

TEST_F(ClusterRunnerTest, AStaleCacheIsRefused) {
  EXPECT_THAT(refusalOf([](reapi::ExecuteResponse& response) { response.set_cached_result(true); }),
              HasSubstr("answered from a cache"));
}

TEST_F(ClusterRunnerTest, TreesBeyondTheSandboxesLimitsAreRefused) {
  EXPECT_THAT(refusalOfTree([](reapi::Tree& tree) {
                tree.clear_children();
                tree.mutable_root()->clear_directories();
                for (int i = 0; i < 9000; ++i) {
                  auto* file = tree.mutable_root()->add_files();
                  file->set_name(fmt::format("z{:05}", i));
                  *file->mutable_digest() = toProto(digestOf("weights"));
                }
              }),
              HasSubstr("more than 8192 entries"));
  EXPECT_THAT(refusalOfTree([](reapi::Tree& tree) {
                reapi::Directory deeper;
                for (int i = 0; i < 12; ++i) {
                  *tree.add_children() = deeper;
                  const Digest digest = digestOf(deeper.SerializeAsString());
                  deeper.Clear();
                  auto* node = deeper.add_directories();
                  node->set_name("d");
                  *node->mutable_digest() = toProto(digest);
                }
                *tree.mutable_root() = deeper;
              }),
              HasSubstr("deeper than 8 directories"));
  EXPECT_THAT(refusalOfTree([](reapi::Tree& tree) { tree.clear_children(); }), HasSubstr("not in it"));
}

TEST_F(ClusterRunnerTest, PathsThatLeaveTheOutputAreRefused) {
  for (const char* name : {"..", ".", "a/b", "", "a\nb", "\xff"}) {
    EXPECT_THAT(
        refusalOfTree([&](reapi::Tree& tree) { tree.mutable_root()->mutable_files(0)->set_name(name); }),
        HasSubstr("DATA_LOSS"))
        << name;
  }
  for (const char* path : {"../x", "/etc/passwd", "output/../x", "output", "output//x", "output/./x",
                           "other/x", "output/", "output/\x01"}) {
    EXPECT_THAT(refusalOf([&](reapi::ExecuteResponse& response) {
                  auto* file = response.mutable_result()->add_output_files();
                  file->set_path(path);
                  *file->mutable_digest() = toProto(digestOf("weights"));
                }),
                HasSubstr("DATA_LOSS"))
        << path;
  }
  for (const char* path : {"", "out", "..", "outputs", "output/../.."}) {
    EXPECT_THAT(refusalOf([&](reapi::ExecuteResponse& response) {
                  response.mutable_result()->mutable_output_directories(0)->set_path(path);
                }),
                HasSubstr("DATA_LOSS"))
        << path;
  }
}

TEST_F(ClusterRunnerTest, LinksAndPathsGivenTwiceAreRefused) {
  EXPECT_THAT(refusalOfTree([](reapi::Tree& tree) {
                auto* link = tree.mutable_root()->add_symlinks();
                link->set_name("link");
                link->set_target("program.so");
              }),
              HasSubstr("output/link is a link"));
  EXPECT_THAT(refusalOf([](reapi::ExecuteResponse& response) {
                response.mutable_result()->add_output_symlinks()->set_path("output/l");
              }),
              HasSubstr("holds links"));
  EXPECT_THAT(refusalOf([](reapi::ExecuteResponse& response) {
                auto* file = response.mutable_result()->add_output_files();
                file->set_path("output/program.so");
                *file->mutable_digest() = toProto(digestOf("weights"));
              }),
              HasSubstr("there twice"));
}

}  // namespace
}  // namespace kiln::cluster
