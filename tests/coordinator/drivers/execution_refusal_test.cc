// What Execute refuses before anything is queued, and in which words.
#include <gmock/gmock.h>

#include "coordinator/jobs/foreign_action.h"
#include "tests/coordinator/drivers/execution_fixture.h"

namespace kiln::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExecutionRefusal : public ExecutionTest {
 protected:
  grpc::Status refusal(const reapi::ExecuteRequest& request) {
    const auto updates = execute(request);
    EXPECT_FALSE(updates->next());
    return updates->end();
  }
  grpc::Status refusal(const Digest& action) {
    reapi::ExecuteRequest request;
    *request.mutable_action_digest() = toProto(action);
    return refusal(request);
  }
  grpc::Status refusal(const reapi::Action& action) { return refusal(put(action.SerializeAsString())); }
  // What is named as missing.
  template <class Asked>
  std::vector<std::string> missing(const Asked& asked) {
    const grpc::Status status = refusal(asked);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
    google::rpc::Status rich;
    EXPECT_TRUE(rich.ParseFromString(status.error_details()));
    return missingOf(rich);
  }
  void expectInvalid(const grpc::Status& status, const std::string& why) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr(why));
  }
  void TearDown() override {
    EXPECT_TRUE(pool_.execute("SELECT FROM jobs")->empty()) << "nothing was queued";
  }
};

TEST_F(ExecutionRefusal, MissingBytesAreNamedForTheClientToUpload) {
  const Digest gone = digestOf(std::string_view("never uploaded"));
  EXPECT_THAT(missing(gone), ElementsAre(subjectOf(gone))) << "the action";
  reapi::Action action = this->action(command("a"));
  *action.mutable_command_digest() = toProto(gone);
  EXPECT_THAT(missing(action), ElementsAre(subjectOf(gone))) << "its command";
  action = this->action(command("a"));
  *action.mutable_input_root_digest() = toProto(gone);
  EXPECT_THAT(missing(action), ElementsAre(subjectOf(gone))) << "its input root";
  reapi::Directory root;
  root.add_files()->set_name("gone");
  *root.mutable_files(0)->mutable_digest() = toProto(gone);
  *action.mutable_input_root_digest() = toProto(put(root.SerializeAsString()));
  EXPECT_THAT(missing(action), ElementsAre(subjectOf(gone))) << "an input";
  reapi::Command withRoot = command("a");
  auto& property = *withRoot.mutable_platform()->add_properties();
  property.set_name("kiln-root");
  property.set_value("sha256:" + gone.hex() + "/" + std::to_string(gone.size));
  EXPECT_THAT(missing(this->action(withRoot)), ElementsAre(subjectOf(gone))) << "the tree at /";
}

TEST_F(ExecutionRefusal, OfManyMissingBytesSomeAreNamed) {
  reapi::Directory root;
  for (int i = 10; i < 70; ++i) {
    auto& file = *root.add_files();
    file.set_name(std::to_string(i));
    *file.mutable_digest() = toProto(digestOf(file.name()));
  }
  reapi::Action action = this->action(command("a"));
  *action.mutable_input_root_digest() = toProto(put(root.SerializeAsString()));
  const grpc::Status status = refusal(action);
  EXPECT_THAT(status.error_message(), HasSubstr("60 blobs"));
  EXPECT_LT(status.error_details().size(), 6000u) << "in base64 it fits into the 8 KiB of any client";
  EXPECT_EQ(missing(action).size(), 50u);
}

// A damaged Directory is put aside, and the client is to send it again.
TEST_F(ExecutionRefusal, DamagedInputsAreMissing) {
  const reapi::Action action = this->action(command("a"));
  const Digest root = fromProto(action.input_root_digest()).value();
  const Digest digest = put(action.SerializeAsString());
  damage(root);
  EXPECT_THAT(missing(digest), ElementsAre(subjectOf(root)));
}

TEST_F(ExecutionRefusal, WhatNoRequestMaySay) {
  reapi::ExecuteRequest request;
  *request.mutable_action_digest() = toProto(putAction("a"));
  request.set_digest_function(reapi::DigestFunction::BLAKE3);
  expectInvalid(refusal(request), "BLAKE3");
  request.set_digest_function(static_cast<reapi::DigestFunction::Value>(99));
  expectInvalid(refusal(request), "99");
  request.set_digest_function(reapi::DigestFunction::SHA256);
  for (const char* instance : {"operations", "a/blobs", "a//b", "/"}) {
    request.set_instance_name(instance);
    expectInvalid(refusal(request), "instance name");
  }
  request.clear_instance_name();
  request.mutable_action_digest()->set_size_bytes(-1);
  expectInvalid(refusal(request), "action_digest");
  request.clear_action_digest();
  expectInvalid(refusal(request), "action_digest");
}

TEST_F(ExecutionRefusal, ActionsAndCommandsAreBounded) {
  expectInvalid(refusal(put("\xff no action")), "no Action");
  reapi::Action action = this->action(command("a"));
  action.set_salt(std::string(jobs::kMaxForeignAction, 'x'));
  expectInvalid(refusal(action), "more than the 65536 allowed");
  reapi::Command large = command(std::string(jobs::kMaxForeignCommand, 'x'));
  expectInvalid(refusal(this->action(large)), "more than the 524288 allowed");
  action = this->action(command("a"));
  *action.mutable_command_digest() = toProto(put("\xff no command"));
  expectInvalid(refusal(action), "no Command");
}

TEST_F(ExecutionRefusal, InputRootsAreBounded) {
  reapi::Action action = this->action(command("a"));
  *action.mutable_input_root_digest() = toProto(put("\xff no directory"));
  expectInvalid(refusal(action), "input root");
  Digest below = fromProto(this->action(command("a")).input_root_digest()).value();
  for (int level = 0; level < 65; ++level) {
    reapi::Directory one;
    one.add_directories()->set_name("d");
    *one.mutable_directories(0)->mutable_digest() = toProto(below);
    below = put(one.SerializeAsString());
  }
  *action.mutable_input_root_digest() = toProto(below);
  expectInvalid(refusal(action), "deeper than 64 directories");
  for (int level = 0; level < 60; ++level) {
    reapi::Directory one;
    one.add_directories()->set_name(std::string(255, 'd'));
    *one.mutable_directories(0)->mutable_digest() = toProto(level == 0 ? put("") : below);
    below = put(one.SerializeAsString());
  }
  *action.mutable_input_root_digest() = toProto(below);
  expectInvalid(refusal(action), "a path of more than 1024 bytes");
  reapi::Directory large;
  large.mutable_node_properties()->add_properties()->set_value(std::string(5 << 20, 'x'));
  *action.mutable_input_root_digest() = toProto(put(large.SerializeAsString()));
  expectInvalid(refusal(action), "more than the 4194304 allowed");
}

// A large tree takes minutes where the store is far away.
TEST_F(ExecutionRefusal, ACoordinatorThatStopsWalksNoTree) {
  const Digest action = putAction("a");
  feed_.close();
  const grpc::Status status = refusal(action);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("stopping"));
}

TEST_F(ExecutionRefusal, NobodyWhoExecutesIsSaidAtOnce) {
  one_->description.clear_kinds();
  one_->description.add_kinds(v1::ACTION_COMPILE);
  ASSERT_TRUE(one_->synchronize({}));
  const grpc::Status status = refusal(putAction("a"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("no worker"));
}

}  // namespace
}  // namespace kiln::service::testing
