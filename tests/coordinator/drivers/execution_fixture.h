// Clients of the Execution service over a whole coordinator: what they execute, and a worker by hand that
// reports what it left.
#pragma once

#include <fstream>

#include "coordinator/drivers/executed_result.h"
#include "coordinator/jobs/executed_outputs.h"
#include "coordinator/rpc/execution_service.h"
#include "google/rpc/error_details.pb.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service::testing {

using google::longrunning::Operation;

// A client's stream of updates; given up when it is destroyed, so that a test that fails ends.
class Updates {
 public:
  using Reader = std::unique_ptr<grpc::ClientReader<Operation>>;
  template <class Start>
  explicit Updates(Start start) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    reader_ = start(context_);
  }
  ~Updates() {
    if (reader_) giveUp();
  }
  Updates(Updates&&) = delete;

  // The next one; nothing once the stream has ended.
  std::optional<Operation> next() {
    Operation update;
    return reader_->Read(&update) ? std::optional(std::move(update)) : std::nullopt;
  }
  // Reads to the last one.
  Operation last() {
    Operation out;
    while (auto update = next()) out = std::move(*update);
    return out;
  }
  grpc::Status end() { return std::exchange(reader_, nullptr)->Finish(); }
  void giveUp() {
    context_.TryCancel();
    end();
  }

 private:
  grpc::ClientContext context_;
  Reader reader_;
};

inline reapi::ExecutionStage::Value stageOf(const Operation& operation) {
  reapi::ExecuteOperationMetadata metadata;
  EXPECT_TRUE(operation.metadata().UnpackTo(&metadata));
  return metadata.stage();
}
inline reapi::ExecuteResponse responseOf(const Operation& operation) {
  reapi::ExecuteResponse out;
  EXPECT_TRUE(operation.done());
  EXPECT_TRUE(operation.response().UnpackTo(&out));
  return out;
}
// The subjects of a PreconditionFailure that says MISSING of each.
inline std::vector<std::string> missingOf(const google::rpc::Status& status) {
  std::vector<std::string> out;
  google::rpc::PreconditionFailure failure;
  EXPECT_EQ(status.details_size(), 1);
  if (status.details_size() != 1 || !status.details(0).UnpackTo(&failure)) return out;
  for (const auto& violation : failure.violations()) {
    EXPECT_EQ(violation.type(), "MISSING");
    out.push_back(violation.subject());
  }
  return out;
}
inline std::string subjectOf(const Digest& digest) {
  return "blobs/" + digest.hex() + "/" + std::to_string(digest.size);
}

class ExecutionTest : public FarmTest {
 protected:
  ExecutionTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&executions_);
    executionServer_ = builder.BuildAndStart();
    stub_ = reapi::Execution::NewStub(executionServer_->InProcessChannel({}));
    one_ = executor("w1");
  }
  ~ExecutionTest() override {
    feed_.close();
    executionServer_->Shutdown();
  }

  std::unique_ptr<testing_support::FakeWorker> executor(const std::string& name) {
    auto out = worker(name);
    out->description.clear_kinds();
    out->description.add_kinds(v1::ACTION_EXECUTE);
    bool isKnown = false;  // a busy machine may not answer in the time that an idle call has
    for (int calls = 0; calls < 5 && !isKnown; ++calls) isKnown = out->synchronize({}).has_value();
    EXPECT_TRUE(isKnown);
    return out;
  }

  // A command that leaves out.txt, over one input file.
  static reapi::Command command(const std::string& argument) {
    reapi::Command out;
    out.add_arguments("bin/tool");
    out.add_arguments(argument);
    out.add_output_paths("out.txt");
    return out;
  }
  reapi::Action action(const reapi::Command& command, const std::string& input = "the input") {
    reapi::Directory root;
    auto& file = *root.add_files();
    file.set_name("in.txt");
    *file.mutable_digest() = toProto(put(input));
    reapi::Action out;
    *out.mutable_command_digest() = toProto(put(command.SerializeAsString()));
    *out.mutable_input_root_digest() = toProto(put(root.SerializeAsString()));
    return out;
  }
  Digest putAction(const std::string& argument) { return put(action(command(argument)).SerializeAsString()); }

  std::unique_ptr<Updates> execute(const reapi::ExecuteRequest& request) {
    return std::make_unique<Updates>(
        [&](grpc::ClientContext& context) { return stub_->Execute(&context, request); });
  }
  std::unique_ptr<Updates> execute(const Digest& action, bool skipCache = false) {
    reapi::ExecuteRequest request;
    *request.mutable_action_digest() = toProto(action);
    request.set_skip_cache_lookup(skipCache);
    return execute(request);
  }
  std::unique_ptr<Updates> wait(const std::string& name) {
    reapi::WaitExecutionRequest request;
    request.set_name(name);
    return std::make_unique<Updates>(
        [&](grpc::ClientContext& context) { return stub_->WaitExecution(&context, request); });
  }

  // The only lease that there is for it; an empty one where there is none.
  static v1::Lease leaseOf(testing_support::FakeWorker& worker) {
    const auto response = worker.synchronize({}, std::chrono::seconds(20));  // at once where there is one
    EXPECT_TRUE(response && response->run_size() == 1);
    return response && response->run_size() > 0 ? response->run(0) : v1::Lease();
  }
  reapi::ActionResult leaving(const std::string& text, int exitCode = 0) {
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
    const auto outputs = jobs::readExecuted(result);
    ASSERT_TRUE(outputs) << outputs.error().message;
    for (const jobs::OutputFile& output : outputs->named.files)
      receipt.outputs.push_back({output.path, output.digest});
    const auto identity = signing::WorkerIdentity::load(directory_ / "w1.pem", directory_ / "w1.key");
    v1::LeaseReport report = reportOn(lease);
    *report.mutable_finished()->mutable_result() = result;
    report.mutable_finished()->set_receipt_json(identity->sign(receipt).value());
    deliver(lease, report);
  }
  // Reports that there is no result.
  void failWith(const v1::Lease& lease, Code code, bool retryable) {
    v1::LeaseReport report = reportOn(lease);
    report.mutable_finished()->set_error_code(static_cast<int>(code));
    report.mutable_finished()->set_error_message("why");
    report.mutable_finished()->set_retryable(retryable);
    deliver(lease, report);
  }
  // Has the action executed by the worker.
  Operation run(const Digest& action, const reapi::ActionResult& result, bool skipCache = false) {
    const auto updates = execute(action, skipCache);
    EXPECT_TRUE(updates->next());
    finish(leaseOf(*one_), result);
    return updates->last();
  }
  // The instance's store has it no more.
  void lose(const Digest& digest) {
    for (const auto& one : std::filesystem::recursive_directory_iterator(directory_ / "store/refs"))
      if (one.path().filename() == digest.hex()) std::filesystem::remove(one.path());
    ASSERT_FALSE(storage::hasBlob(*blobs_, instance_, digest).value());
  }
  // Its bytes are others from now on.
  void damage(const Digest& digest) {
    const std::string path = directory_ / ("store/blobs/" + digest.hex().substr(0, 2) + "/" + digest.hex());
    std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::ofstream(path) << std::string(digest.size, 'x');
  }
  static std::string jobOf(const Operation& operation) { return operationNamed(operation.name())->id; }

 private:
  static v1::LeaseReport reportOn(const v1::Lease& lease) {
    v1::LeaseReport out;
    out.set_lease_id(lease.id());
    out.set_epoch(lease.epoch());
    return out;
  }
  void deliver(const v1::Lease& lease, const v1::LeaseReport& report) {
    ASSERT_TRUE(one_->synchronize({report}));
    ASSERT_TRUE(advance(lease.job()));
    feed_.publishJob({lease.instance(), lease.job()});
  }

 protected:
  ExecutedResults results_{farm_.planning};
  ExecutionService executions_{farm_.planning,  farm_.admissions, farm_.leasing,
                               farm_.observers, driver_,          results_};
  std::unique_ptr<grpc::Server> executionServer_;
  std::unique_ptr<reapi::Execution::Stub> stub_;
  std::unique_ptr<testing_support::FakeWorker> one_;
};

}  // namespace kiln::service::testing
