#include "coordinator/jobs/submission.h"

#include <gtest/gtest.h>

#include "storage/tree/digest_proto.h"

namespace kiln::jobs {
namespace {

v1::SubmitJobRequest request() {
  v1::SubmitJobRequest out;
  out.set_instance("default");
  out.set_idempotency_key("k1");
  out.add_targets("cpu:x86-64-v3");
  auto* model = out.add_sources();
  model->set_path("models/digits.onnx");
  *model->mutable_blob() = toProto(digestOf(std::string_view("model")));
  return out;
}

void expectRefused(const v1::SubmitJobRequest& bad, Code code, std::string_view part) {
  auto submission = readSubmission(bad);
  ASSERT_FALSE(submission) << part;
  EXPECT_EQ(submission.error().code, code) << submission.error().message;
  EXPECT_NE(submission.error().message.find(part), std::string::npos) << submission.error().message;
}

TEST(Submission, NormalisesTheModelName) {
  auto submission = readSubmission(request());
  ASSERT_TRUE(submission) << submission.error().message;
  EXPECT_EQ(submission->sources[0].path, "model.onnx");
  EXPECT_EQ(submission->modelName, "models/digits.onnx");
  EXPECT_EQ(submission->delivery, DeliverySpec{});
  auto other = request();
  other.mutable_sources(0)->set_path("copy.onnx");
  auto spec = [](const v1::SubmitJobRequest& r) {
    auto s = readSubmission(r);
    return compileSpec(s->spec, s->sources, digestOf(std::string_view("t")),
                       index::TargetRecord{s->targets[0]});
  };
  EXPECT_EQ(*spec(request()), *spec(other)) << "a name must not change a digest";
}

TEST(Submission, SortsExternalData) {
  auto one = request();
  for (const char* path : {"z.bin", "a/b.bin"}) {
    auto* source = one.add_sources();
    source->set_path(path);
    *source->mutable_blob() = toProto(digestOf(std::string_view(path)));
  }
  auto submission = readSubmission(one);
  ASSERT_TRUE(submission) << submission.error().message;
  EXPECT_EQ(submission->sources[1].path, "a/b.bin");
  EXPECT_EQ(submission->sources[2].path, "z.bin");
}

TEST(Submission, RefusesWhatIsMalformed) {
  auto bad = request();
  bad.set_idempotency_key("");
  expectRefused(bad, Code::kInvalidArgument, "idempotency_key");
  bad = request();
  bad.set_idempotency_key("a b");
  expectRefused(bad, Code::kInvalidArgument, "idempotency_key");
  bad = request();
  bad.clear_sources();
  expectRefused(bad, Code::kInvalidArgument, "sources");
  bad = request();
  bad.clear_targets();
  expectRefused(bad, Code::kInvalidArgument, "targets");
  bad = request();
  bad.add_targets("cpu:x86-64-v3");
  expectRefused(bad, Code::kInvalidArgument, "twice");
  bad = request();
  bad.set_targets(0, "native");
  expectRefused(bad, Code::kInvalidArgument, "native");
  bad = request();
  bad.set_targets(0, "vulkan:1.4");
  expectRefused(bad, Code::kUnimplemented, "cpu:x86-64-v3");
  bad = request();
  bad.mutable_sources(0)->mutable_blob()->set_hash("nothex");
  expectRefused(bad, Code::kInvalidArgument, "sources[0]");
  bad = request();
  bad.set_spec_json(R"({"nonsense":1})");
  expectRefused(bad, Code::kInvalidArgument, "spec_json");
  bad = request();
  bad.set_delivery_json(R"({"builders":0})");
  expectRefused(bad, Code::kInvalidArgument, "delivery_json");
}

TEST(Submission, WhatIsKeptWithAJobIsBounded) {
  auto large = request();
  const std::string spec = "{}", delivery = toCanonicalJson(DeliverySpec{}.toJson()).value();
  large.set_spec_json(spec + std::string((256 << 10) - spec.size(), ' '));
  large.set_delivery_json(delivery + std::string((1 << 20) - delivery.size(), ' '));
  const auto taken = readSubmission(large);
  EXPECT_TRUE(taken) << taken.error().message;
  auto bad = large;
  bad.mutable_spec_json()->push_back(' ');
  expectRefused(bad, Code::kInvalidArgument, "spec_json has more than 256 KiB");
  bad = large;
  bad.mutable_delivery_json()->push_back(' ');
  expectRefused(bad, Code::kInvalidArgument, "delivery_json has more than 1024 KiB");
}

TEST(Submission, RefusesUnsafeExternalData) {
  for (const char* path : {"../../etc/passwd", "/etc/passwd", "model.onnx", "spec.json", "a\nb", ""}) {
    auto bad = request();
    auto* source = bad.add_sources();
    source->set_path(path);
    *source->mutable_blob() = toProto(digestOf(std::string_view("x")));
    expectRefused(bad, Code::kInvalidArgument, "sources[1]");
  }
}

TEST(Submission, GitSourcesArePinnedAndRemote) {
  auto git = request();
  auto* source = git.mutable_sources(0)->mutable_git();
  source->set_url("https://git.example/models.git");
  source->set_commit(std::string(40, 'a'));
  source->set_path("dir/m.onnx");
  auto submission = readSubmission(git);
  ASSERT_TRUE(submission) << submission.error().message;
  EXPECT_FALSE(submission->sources[0].blob);
  source->set_commit("main");
  expectRefused(git, Code::kInvalidArgument, "commit");
  source->set_commit(std::string(40, 'a'));
  source->set_url("file:///srv/models.git");
  expectRefused(git, Code::kInvalidArgument, "https");
  source->set_url("https://git.example/models.git");
  source->set_path("../x");
  expectRefused(git, Code::kInvalidArgument, "sources[0]");
}

// What a server takes for the same repository must not evade a recall of it.
TEST(Submission, ARepositoryHasOneSpelling) {
  auto git = request();
  auto* source = git.mutable_sources(0)->mutable_git();
  source->set_commit(std::string(40, 'a'));
  source->set_path("m.onnx");
  for (const char* good :
       {"https://git.example/models.git", "https://git.example:8443/a/B%20c", "ssh://git@git.example/x",
        "ssh://git@git.example:2222/x", "https://[::1]/x", "https://[::1]:444/x", "https://git.example"}) {
    source->set_url(good);
    const auto taken = readSubmission(git);
    EXPECT_TRUE(taken) << good << ": " << taken.error().message;
  }
  for (const char* other : {"https://GIT.example/x", "https://git.example./x", "https://git.example:443/x",
                            "https://git.example:/x", "https://git.example:0443/x",
                            "ssh://git@git.example:22/x", "https://git.example//x", "https://git.example/./x",
                            "https://git.example/a/../x", "https://git.example/x/", "https://git.example/x/.",
                            "https://git.example/x?y", "https://git.example/x#y", "https://git.example/%78",
                            "https://git.example/%2e", "https://git.example/a%2fb", "https://git.example/%zz",
                            "https://git.example/x%2", "https://[::1]:443/x"}) {
    source->set_url(other);
    expectRefused(git, Code::kInvalidArgument, "the git URL");
  }
}

TEST(Submission, AnOriginMayBeAnyUrl) {
  auto claimed = request();
  auto* origin = claimed.mutable_sources(0)->mutable_origin();
  origin->set_url("file:///home/a/models");
  origin->set_commit(std::string(40, 'b'));
  origin->set_path("m.onnx");
  auto submission = readSubmission(claimed);
  ASSERT_TRUE(submission) << submission.error().message;
  EXPECT_EQ(submission->sources[0].origin->url, "file:///home/a/models");
}

}  // namespace
}  // namespace kiln::jobs
