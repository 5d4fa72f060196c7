// Foreign actions through the services: from Execute to the client's result, and never to evidence.
#include <gmock/gmock.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "coordinator/drivers/executed_result.h"
#include "coordinator/jobs/executed_outputs.h"
#include "coordinator/rpc/execution_service.h"
#include "google/rpc/error_details.pb.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using google::longrunning::Operation;
using ::testing::HasSubstr;

// What a call was answered with.
struct Answer {
  grpc::Status status;
  std::vector<Operation> updates;

  reapi::ExecuteResponse response() const {
    reapi::ExecuteResponse out;
    if (!updates.empty()) updates.back().response().UnpackTo(&out);
    return out;
  }
};

class ExecutionFlow : public FarmTest {
 protected:
  ExecutionFlow() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    grpc::ServerBuilder builder;
    builder.RegisterService(&executions_);
    executionServer_ = builder.BuildAndStart();
    stub_ = reapi::Execution::NewStub(executionServer_->InProcessChannel({}));
    one_ = worker("w1");
    one_->description.add_kinds(v1::ACTION_EXECUTE);
    EXPECT_TRUE(one_->synchronize({}));
    identity_.emplace(signing::WorkerIdentity::load(directory_ / "w1.pem", directory_ / "w1.key").value());
  }
  ~ExecutionFlow() override {
    feed_.close();
    executionServer_->Shutdown();
  }

  // An action that leaves out.txt.
  Digest putAction(const std::string& argument, bool doNotCache = false) {
    reapi::Command command;
    command.add_arguments("bin/tool");
    command.add_arguments(argument);
    command.add_output_paths("out.txt");
    reapi::Directory root;
    auto& file = *root.add_files();
    file.set_name("in.txt");
    *file.mutable_digest() = toProto(put("the input"));
    reapi::Action action;
    *action.mutable_command_digest() = toProto(put(command.SerializeAsString()));
    *action.mutable_input_root_digest() = toProto(put(root.SerializeAsString()));
    action.set_do_not_cache(doNotCache);
    return put(action.SerializeAsString());
  }

  Answer execute(const Digest& action, bool skipCache = false) {
    reapi::ExecuteRequest request;
    *request.mutable_action_digest() = toProto(action);
    request.set_skip_cache_lookup(skipCache);
    grpc::ClientContext context;
    return read(stub_->Execute(&context, request));
  }
  template <class Reader>
  static Answer read(Reader reader) {
    Answer out;
    for (Operation update; reader->Read(&update);) out.updates.push_back(update);
    out.status = reader->Finish();
    return out;
  }

  // The next lease of the worker, once the call of a client has queued something.
  v1::Lease lease() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      if (auto leases = one_->poll(); !leases.empty()) return leases.front();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("nothing is queued");
  }
  reapi::ActionResult leavingFile(const std::string& text, int exitCode = 0) {
    reapi::ActionResult out;
    auto& file = *out.add_output_files();
    file.set_path("out.txt");
    *file.mutable_digest() = toProto(put(text));
    out.set_stdout_raw("said");
    out.set_exit_code(exitCode);
    return out;
  }
  // Reports that with an honest receipt, and moves the job on.
  void finish(const v1::Lease& lease, const reapi::ActionResult& result) {
    put(one_->sandboxPolicy);
    signing::Receipt receipt;
    receipt.action = fromProto(lease.action()).value();
    receipt.lease = lease.id();
    receipt.epoch = lease.epoch();
    receipt.exitCode = result.exit_code();
    receipt.sandboxPolicy = digestOf(one_->sandboxPolicy);
    for (const jobs::OutputFile& output : jobs::readExecuted(result)->named.files)
      receipt.outputs.push_back({output.path, output.digest});
    v1::LeaseReport report;
    report.set_lease_id(lease.id());
    report.set_epoch(lease.epoch());
    *report.mutable_finished()->mutable_result() = result;
    report.mutable_finished()->set_receipt_json(identity_->sign(receipt).value());
    ASSERT_TRUE(one_->synchronize({report}));
    ASSERT_TRUE(advance(lease.job()));
  }
  // Has the action executed by the worker.
  Answer run(const Digest& action, const reapi::ActionResult& result, bool skipCache = false) {
    auto answer = std::async(std::launch::async, [&] { return execute(action, skipCache); });
    finish(lease(), result);
    return answer.get();
  }

  ExecutedResults results_{farm_.planning};
  ExecutionService executions_{farm_.planning,  farm_.admissions, farm_.leasing,
                               farm_.observers, driver_,          results_};
  std::unique_ptr<grpc::Server> executionServer_;
  std::unique_ptr<reapi::Execution::Stub> stub_;
  std::unique_ptr<testing_support::FakeWorker> one_;
  std::optional<signing::WorkerIdentity> identity_;
};

TEST_F(ExecutionFlow, AnActionIsExecutedOnceAndThenAnsweredFromTheCache) {
  const Digest action = putAction("a");
  const Answer first = run(action, leavingFile("made"));
  ASSERT_TRUE(first.status.ok()) << first.status.error_message();
  ASSERT_TRUE(first.updates.back().done());
  EXPECT_FALSE(first.response().cached_result());
  EXPECT_EQ(first.response().status().code(), 0);
  EXPECT_EQ(first.response().result().output_files(0).path(), "out.txt");
  EXPECT_EQ(first.response().result().stdout_raw(), "said");
  EXPECT_EQ(first.response().result().execution_metadata().worker(), "w1");
  const Answer again = execute(action);
  ASSERT_TRUE(again.status.ok()) << again.status.error_message();
  EXPECT_TRUE(again.response().cached_result());
  EXPECT_EQ(again.response().result().output_files(0).digest().hash(),
            digestOf(std::string_view("made")).hex());
}

TEST_F(ExecutionFlow, AFailingToolIsAResultThatIsNotCached) {
  const Digest action = putAction("fails");
  const Answer first = run(action, leavingFile("half", 3));
  EXPECT_EQ(first.response().status().code(), 0);
  EXPECT_EQ(first.response().result().exit_code(), 3);
  EXPECT_FALSE(run(action, leavingFile("made")).response().cached_result()) << "it ran again";
}

TEST_F(ExecutionFlow, WhatMustNotBeCachedRunsEachTime) {
  const Digest action = putAction("volatile", true);
  run(action, leavingFile("one"));
  EXPECT_FALSE(run(action, leavingFile("two")).response().cached_result());
}

TEST_F(ExecutionFlow, MissingBytesAreNamedForTheClientToUpload) {
  reapi::Command command;
  command.add_arguments("x");
  reapi::Directory root;
  root.add_files()->set_name("gone");
  const Digest gone = digestOf(std::string_view("never uploaded"));
  *root.mutable_files(0)->mutable_digest() = toProto(gone);
  reapi::Action action;
  *action.mutable_command_digest() = toProto(put(command.SerializeAsString()));
  *action.mutable_input_root_digest() = toProto(put(root.SerializeAsString()));
  const Answer answer = execute(put(action.SerializeAsString()));
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  google::rpc::Status rich;
  google::rpc::PreconditionFailure failure;
  ASSERT_TRUE(rich.ParseFromString(answer.status.error_details()));
  ASSERT_TRUE(rich.details(0).UnpackTo(&failure));
  ASSERT_EQ(failure.violations_size(), 1);
  EXPECT_EQ(failure.violations(0).type(), "MISSING");
  EXPECT_EQ(failure.violations(0).subject(), "blobs/" + gone.hex() + "/" + std::to_string(gone.size));
}

TEST_F(ExecutionFlow, AResultThatTheCommandDoesNotDeclareIsRefused) {
  const Digest action = putAction("lies");
  const auto client = std::async(std::launch::async, [&] { return execute(action); });
  const v1::Lease first = lease();
  reapi::ActionResult other = leavingFile("made");
  other.mutable_output_files(0)->set_path("other.txt");
  finish(first, other);
  const auto kept = pool_.execute("SELECT 1 FROM action_results WHERE job_id = $1", {first.job()});
  EXPECT_EQ(kept->size(), 0);
  ASSERT_TRUE(pool_.execute("UPDATE jobs SET cancel_wanted = true WHERE id = $1", {first.job()}));
  ASSERT_TRUE(advance(first.job()));
}

TEST_F(ExecutionFlow, NobodyWhoExecutesIsSaidAtOnce) {
  auto& kinds = *one_->description.mutable_kinds();
  kinds.RemoveLast();
  ASSERT_TRUE(one_->synchronize({}));
  const Answer answer = execute(putAction("a"));
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("no worker"));
}

TEST_F(ExecutionFlow, AnUnknownOperationIsNotFound) {
  for (const char* name : {"", "default/operations/none", "x", "default/operations/"}) {
    reapi::WaitExecutionRequest request;
    request.set_name(name);
    grpc::ClientContext context;
    EXPECT_EQ(read(stub_->WaitExecution(&context, request)).status.error_code(), grpc::StatusCode::NOT_FOUND)
        << name;
  }
}

// Trust does not move: the same action, executed for a client, proves nothing to a build.
TEST_F(ExecutionFlow, AnExecutedCompileIsNoEvidenceForABuild) {
  const v1::Job planned = submitted(request("first"));
  std::optional<Digest> compile;
  for (const auto& action : planned.actions())
    if (action.kind() == v1::ACTION_COMPILE) compile = fromProto(action.action()).value();
  ASSERT_TRUE(compile);
  ASSERT_TRUE(pool_.execute("UPDATE jobs SET cancel_wanted = true WHERE id = $1", {planned.id()}));
  ASSERT_TRUE(advance(planned.id()));

  reapi::Tree tree;
  auto& file = *tree.mutable_root()->add_files();
  file.set_name("program.so");
  *file.mutable_digest() = toProto(put("a planted program"));
  reapi::ActionResult planted;
  planted.add_output_directories()->set_path("output");
  *planted.mutable_output_directories(0)->mutable_tree_digest() = toProto(put(tree.SerializeAsString()));
  const Answer executed = run(*compile, planted);
  ASSERT_EQ(executed.response().result().output_directories_size(), 1) << executed.status.error_message();

  const v1::Job build = submitted(request("second"));
  EXPECT_EQ(build.state(), v1::JOB_QUEUED) << "nothing of it is known";
  settle(build.id(), {one_.get()});
  const v1::Job done = get(build.id());
  EXPECT_EQ(done.state(), v1::JOB_SUCCEEDED) << done.error().message();
  for (const auto& action : done.actions())
    for (const auto& builder : action.builders()) EXPECT_EQ(builder.job(), build.id());
}

}  // namespace
}  // namespace kiln::service
