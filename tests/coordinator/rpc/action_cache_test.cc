// What the action cache answers and takes, over a real database and store.
#include "coordinator/rpc/action_cache_service.h"

#include "coordinator/drivers/executed_result.h"
#include "coordinator/reapi/inlined.h"
#include "coordinator/reapi/known_results.h"
#include "coordinator/rpc/capabilities_service.h"
#include "storage/index/reapi/client_results.h"
#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service::testing {
namespace {

class ActionCacheTest : public FarmTest {
 protected:
  Digest putAction(bool doNotCache = false) {
    reapi::Action action;
    *action.mutable_command_digest() = toProto(put("a command"));
    *action.mutable_input_root_digest() = toProto(digestOf(""));
    action.set_do_not_cache(doNotCache);
    return put(action.SerializeAsString());
  }
  reapi::UpdateActionResultRequest update(const Digest& action) {
    reapi::UpdateActionResultRequest request;
    *request.mutable_action_digest() = toProto(action);
    auto& file = *request.mutable_action_result()->add_output_files();
    file.set_path("a.o");
    *file.mutable_digest() = toProto(put("an object"));
    *request.mutable_action_result()->mutable_stdout_digest() = toProto(put("a log"));
    return request;
  }
  Status write(const reapi::UpdateActionResultRequest& request) {
    reapi::ActionResult kept;
    return statusFromGrpc(cache_.update(request, {"alice", quota::Uploader::kClient}, kept));
  }
  Status read(reapi::GetActionResultRequest request, const Digest& action) {
    *request.mutable_action_digest() = toProto(action);
    result_.Clear();
    return statusFromGrpc(cache_.GetActionResult(nullptr, &request, &result_));
  }
  static Code codeOf(const Status& status) { return status ? Code() : status.error().code; }

  ExecutedResults executed_{farm_.planning};
  reapi_cache::KnownResults known_{farm_.stores, executed_};
  ActionCacheService cache_{farm_.stores, known_, {pool_, clock_, *farm_.leasing.quotas}};
  reapi::ActionResult result_;
};

TEST_F(ActionCacheTest, AClientsResultAnswersLaterOnes) {
  const Digest action = putAction();
  EXPECT_EQ(codeOf(read({}, action)), Code::kNotFound);
  const Status written = write(update(action));
  ASSERT_TRUE(written) << written.error().message;
  ASSERT_TRUE(read({}, action));
  EXPECT_EQ(result_.output_files(0).path(), "a.o");
  EXPECT_EQ(result_.output_files(0).contents(), "");
  EXPECT_EQ(index::clientResult(*pool_.acquire().value(), "default", action).value()->writer, "alice");
  Digest otherSize = action;
  ++otherSize.size;
  EXPECT_EQ(codeOf(read({}, otherSize)), Code::kNotFound);
  reapi::GetActionResultRequest elsewhere;
  elsewhere.set_instance_name("other");
  EXPECT_EQ(codeOf(read(elsewhere, action)), Code::kNotFound);
}

TEST_F(ActionCacheTest, InlinesWhatIsAskedForAndFits) {
  const Digest action = putAction();
  auto request = update(action);
  auto& large = *request.mutable_action_result()->add_output_files();
  large.set_path("large");
  *large.mutable_digest() = toProto(put(std::string(reapi_cache::kMaxInlined, 'x')));
  ASSERT_TRUE(write(request));
  reapi::GetActionResultRequest wanted;
  wanted.set_inline_stdout(true);
  wanted.set_inline_stderr(true);
  for (const char* path : {"large", "a.o", "no such output"}) wanted.add_inline_output_files(path);
  ASSERT_TRUE(read(wanted, action));
  EXPECT_EQ(result_.stdout_raw(), "a log");
  EXPECT_EQ(result_.output_files(0).contents(), "an object");
  EXPECT_EQ(result_.output_files(1).contents(), "") << "there is no room left";
}

// A message holds 4 MiB, whatever a client asks for.
TEST_F(ActionCacheTest, ALargeResultLeavesLessRoomForWhatIsInlined) {
  reapi::ActionResult result;
  auto& file = *result.add_output_files();
  file.set_path("half");
  *file.mutable_digest() = toProto(put(std::string(reapi_cache::kMaxInlined / 2, 'x')));
  const reapi_cache::Inlining wanted{false, false, {"half"}};
  reapi::ActionResult small = result;
  ASSERT_TRUE(reapi_cache::addInlined(farm_.stores.blobs, "default", wanted, small));
  EXPECT_EQ(small.output_files(0).contents().size(), reapi_cache::kMaxInlined / 2);
  for (const std::uint64_t padding :
       {reapi_cache::kMaxAnswer - reapi_cache::kMaxInlined / 2, reapi_cache::kMaxAnswer + 9}) {
    reapi::ActionResult large = result;
    large.set_stdout_raw(std::string(padding, 'l'));
    ASSERT_TRUE(reapi_cache::addInlined(farm_.stores.blobs, "default", wanted, large));
    EXPECT_EQ(large.output_files(0).contents(), "") << padding;
  }
}

TEST_F(ActionCacheTest, AResultWhoseBlobsAreGoneAnswersNobody) {
  // Of an entry that an earlier release or a broken store left.
  const Digest action = putAction();
  auto request = update(action);
  ASSERT_TRUE(write(request));
  *request.mutable_action_result()->mutable_output_files(0)->mutable_digest() = toProto(digestOf("gone"));
  ASSERT_TRUE(index::putClientResult(
      *pool_.acquire().value(),
      {"default", action, request.action_result().SerializeAsString(), "alice", clock_.now()}));
  EXPECT_EQ(codeOf(read({}, action)), Code::kNotFound);
  ASSERT_TRUE(index::putClientResult(*pool_.acquire().value(),
                                     {"default", action, "no message", "alice", clock_.now()}));
  EXPECT_EQ(codeOf(read({}, action)), Code::kNotFound);
}

TEST_F(ActionCacheTest, WritesWantActionCommandAndOutputs) {
  EXPECT_EQ(codeOf(write(update(digestOf("no action")))), Code::kFailedPrecondition);
  EXPECT_EQ(codeOf(write(update(putAction(true)))), Code::kFailedPrecondition) << "do_not_cache";
  EXPECT_EQ(codeOf(write(update(put("\xff\xff no action")))), Code::kInvalidArgument);
  reapi::Action withoutCommand;
  *withoutCommand.mutable_command_digest() = toProto(digestOf("no command"));
  EXPECT_EQ(codeOf(write(update(put(withoutCommand.SerializeAsString())))), Code::kFailedPrecondition);
  auto request = update(putAction());
  *request.mutable_action_result()->mutable_stderr_digest() = toProto(digestOf("not uploaded"));
  const Status missing = write(request);
  EXPECT_EQ(codeOf(missing), Code::kFailedPrecondition);
  EXPECT_NE(missing.error().message.find(digestOf("not uploaded").text()), std::string::npos);
  request = update(putAction());
  request.mutable_action_result()->mutable_output_files(0)->set_path("../a.o");
  EXPECT_EQ(codeOf(write(request)), Code::kInvalidArgument);
  EXPECT_EQ(codeOf(read({}, putAction())), Code::kNotFound) << "nothing of all that was kept";
}

TEST_F(ActionCacheTest, RefusesWhatNoRequestMaySay) {
  const Digest action = putAction();
  auto request = update(action);
  request.set_digest_function(reapi::DigestFunction::SHA1);
  EXPECT_EQ(codeOf(write(request)), Code::kInvalidArgument);
  request = update(action);
  request.set_instance_name("a/blobs");
  EXPECT_EQ(codeOf(write(request)), Code::kInvalidArgument);
  request = update(action);
  request.mutable_action_digest()->set_hash("x");
  EXPECT_EQ(codeOf(write(request)), Code::kInvalidArgument);
  reapi::GetActionResultRequest wanted;
  wanted.set_digest_function(reapi::DigestFunction::MD5);
  EXPECT_EQ(codeOf(read(wanted, action)), Code::kInvalidArgument);
}

TEST_F(ActionCacheTest, WritesCountAsUploads) {
  farm_.leasing.quotas->replace(
      quota::QuotaRules::parse(
          R"({"apiVersion": "kiln/v1", "kind": "Quotas", "default": {"uploadedBytesPerHour": 20}})")
          .value());
  EXPECT_EQ(codeOf(write(update(putAction()))), Code::kResourceExhausted);
}

TEST_F(ActionCacheTest, WhatNobodyUsesGoesWithACollection) {
  const Digest used = putAction();
  ASSERT_TRUE(write(update(used)));
  reapi::Action other;
  *other.mutable_command_digest() = toProto(put("a command"));
  other.set_salt("another");
  const Digest unused = put(other.SerializeAsString());
  ASSERT_TRUE(write(update(unused)));
  clock_.advance(std::chrono::hours(20 * 24));
  ASSERT_TRUE(read({}, used));
  clock_.advance(std::chrono::hours(11 * 24));
  const auto there = [&](const Digest& action) {
    return index::clientResult(*pool_.acquire().value(), "default", action).value().has_value();
  };
  ASSERT_TRUE(garbage_.collect({}, true));
  EXPECT_TRUE(there(unused)) << "a dry run";
  ASSERT_TRUE(garbage_.collect({}, false));
  EXPECT_TRUE(there(used));
  EXPECT_FALSE(there(unused));
  EXPECT_EQ(codeOf(read({}, used)), Code::kNotFound) << "its blobs are no roots, and went";
}

TEST(Capabilities, SayWhatIsServedAndToWhom) {
  const auto all = capabilities({});
  const auto& cache = all.cache_capabilities();
  ASSERT_EQ(cache.digest_functions_size(), 1);
  EXPECT_EQ(cache.digest_functions(0), reapi::DigestFunction::SHA256);
  EXPECT_EQ(cache.supported_compressors_size(), 2);
  EXPECT_EQ(cache.max_batch_total_size_bytes(), static_cast<std::int64_t>(storage::kMaxBatchBytes));
  EXPECT_EQ(cache.max_cas_blob_size_bytes(), static_cast<std::int64_t>(storage::kMaxBlobBytes));
  EXPECT_EQ(cache.symlink_absolute_path_strategy(), reapi::SymlinkAbsolutePathStrategy::DISALLOWED);
  EXPECT_TRUE(cache.action_cache_update_capabilities().update_enabled());
  EXPECT_TRUE(all.execution_capabilities().exec_enabled());
  EXPECT_EQ(all.low_api_version().minor(), 0);
  EXPECT_EQ(all.high_api_version().minor(), 3);
  const auto reader = capabilities({.update = false, .execute = false});
  EXPECT_FALSE(reader.cache_capabilities().action_cache_update_capabilities().update_enabled());
  EXPECT_FALSE(reader.execution_capabilities().exec_enabled());
}

}  // namespace
}  // namespace kiln::service::testing
