// What goes along with the answers of Execute, over a real database and store.
#include "coordinator/rpc/execution_service.h"

#include "coordinator/drivers/executed_result.h"
#include "coordinator/reapi/known_results.h"
#include "coordinator/rpc/action_cache_service.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service::testing {
namespace {

class ExecutionTest : public FarmTest {
 protected:
  ExecutionTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&executions_);
    executor_ = builder.BuildAndStart();
    stub_ = reapi::Execution::NewStub(executor_->InProcessChannel({}));
    reapi::Action action;
    *action.mutable_command_digest() = toProto(put("a command"));
    *action.mutable_input_root_digest() = toProto(digestOf(""));
    *request_.mutable_action_digest() = toProto(put(action.SerializeAsString()));
  }
  ~ExecutionTest() override { executor_->Shutdown(); }

  // The action's result, as the cache has it from now on: a.o, and a log of each kind.
  void know() {
    reapi::UpdateActionResultRequest update;
    *update.mutable_action_digest() = request_.action_digest();
    reapi::ActionResult& result = *update.mutable_action_result();
    auto& file = *result.add_output_files();
    file.set_path("a.o");
    *file.mutable_digest() = toProto(put("an object"));
    *result.mutable_stdout_digest() = toProto(put("said"));
    *result.mutable_stderr_digest() = toProto(put("warned"));
    reapi::ActionResult kept;
    ASSERT_TRUE(cache_.update(update, {"alice", quota::Uploader::kClient}, kept).ok());
  }
  reapi::ExecuteResponse execute() {
    grpc::ClientContext context;
    const auto stream = stub_->Execute(&context, request_);
    google::longrunning::Operation operation;
    while (stream->Read(&operation)) {
    }
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(status.ok() && operation.done()) << status.error_message();
    reapi::ExecuteResponse response;
    EXPECT_TRUE(operation.response().UnpackTo(&response));
    return response;
  }

  ExecutedResults executed_{farm_.planning};
  reapi_cache::KnownResults known_{farm_.stores, executed_};
  ActionCacheService cache_{farm_.stores, known_, {pool_, clock_, *farm_.leasing.quotas}};
  ExecutionService executions_{farm_.planning,  farm_.admissions, farm_.leasing,
                               farm_.observers, driver_,          known_};
  std::unique_ptr<grpc::Server> executor_;
  std::unique_ptr<reapi::Execution::Stub> stub_;
  reapi::ExecuteRequest request_;
};

TEST_F(ExecutionTest, WhatAClientHintsAtGoesAlong) {
  know();
  const reapi::ExecuteResponse plain = execute();
  ASSERT_TRUE(plain.cached_result());
  EXPECT_EQ(plain.result().stdout_raw() + plain.result().stderr_raw(), "");
  EXPECT_EQ(plain.result().output_files(0).contents(), "");
  request_.set_inline_stdout(true);
  EXPECT_EQ(execute().result().stdout_raw(), "said");
  EXPECT_EQ(execute().result().stderr_raw(), "");
  request_.set_inline_stderr(true);
  for (const char* path : {"a.o", "no output"}) request_.add_inline_output_files(path);
  const reapi::ExecuteResponse whole = execute();
  EXPECT_EQ(whole.result().stderr_raw(), "warned");
  EXPECT_EQ(whole.result().output_files(0).contents(), "an object");
  EXPECT_EQ(whole.result().output_files(0).digest().hash(), digestOf("an object").hex());
}

}  // namespace
}  // namespace kiln::service::testing
