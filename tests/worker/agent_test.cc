// The agent against a coordinator played by the test, over a Unix socket, with actions played by the test as
// well.
#include "worker/agent/agent.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "kiln/v1/worker.grpc.pb.h"
#include "signing/keys/certificate.h"
#include "storage/tree/digest_proto.h"
#include "tests/support/set_clock.h"
#include "worker/agent/report.h"
#include "worker/sandbox/outputs.h"

namespace kiln::agent {
namespace {

// Leases in `wanted` are to run; finished reports are kept and forgotten. An answer without news waits, as a
// coordinator does that has nothing to hand out.
class Coordinator final : public v1::WorkerService::Service {
 public:
  grpc::Status Synchronize(grpc::ServerContext* context, const v1::SynchronizeRequest* request,
                           v1::SynchronizeResponse* response) override {
    std::unique_lock lock(mutex_);
    ++calls_;
    last_ = *request;
    for (const auto& report : request->leases()) {
      if (!report.has_finished()) continue;
      finished_.push_back(report);
      wanted_.erase(report.lease_id());
      response->add_forget(report.lease_id());
    }
    changed_.notify_all();
    const auto seen = version_;
    while (version_ == seen && response->forget().empty() && !request->draining() &&
           !context->IsCancelled() && request->leases_size() >= static_cast<int>(wanted_.size())) {
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    for (const auto& [id, lease] : wanted_) *response->add_run() = lease;
    return grpc::Status::OK;
  }

  void want(const std::string& id, std::uint64_t epoch = 1) {
    const std::lock_guard lock(mutex_);
    v1::Lease lease;
    lease.set_id(id);
    lease.set_epoch(epoch);
    lease.set_kind(v1::ACTION_COMPILE);
    *lease.mutable_action() = toProto(digestOf("action " + id));
    wanted_[id] = lease;
    ++version_;
  }
  void withdraw(const std::string& id) {
    const std::lock_guard lock(mutex_);
    wanted_.erase(id);
    ++version_;
  }
  // Waits until `holds` is true of what has been heard.
  template <class Predicate>
  bool await(const Predicate& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), holds);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, v1::Lease> wanted_;
  std::vector<v1::LeaseReport> finished_;
  v1::SynchronizeRequest last_;
  int calls_ = 0, version_ = 0;
};

// Actions that report a stage and end when the test lets them, or when cancelled.
class PlayedRunner final : public Runner {
 public:
  Result<Outcome> run(const v1::Lease& lease, int, const sandbox::Cancel& cancel,
                      const std::function<void(const std::string&)>& onStage) override {
    if (beforeStage_) beforeStage_();
    onStage("codegen");
    pollfd wait[2] = {{cancel.fd(), POLLIN, 0}, {release_.fd(), POLLIN, 0}};
    poll(wait, 2, -1);
    if (wait[0].revents & POLLIN) return fail(Code::kCancelled, "cancelled");
    Outcome outcome;
    outcome.sandboxPolicy = digestOf("policy");
    auto* file = outcome.result.add_output_files();
    file->set_path("output/program.so");
    *file->mutable_digest() = toProto(digestOf("program of " + lease.id()));
    return outcome;
  }
  std::vector<std::string> warmToolchains() const override { return {std::string(64, 'a')}; }
  std::vector<v1::Device> devices() const override { return {}; }
  std::string missingGpus() const override { return "libcuda.so.1: not here"; }
  void release() { release_.request(); }

  std::function<void()> beforeStage_;

 private:
  sandbox::Cancel release_;
};

class AgentTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-agent-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    const auto key = signing::PrivateKey::create();
    authority_.emplace(*signing::Authority::create(clock_.now()));
    const auto certificate = authority_->issue("w1", "acme", key->publicKey(), clock_.now());
    ASSERT_TRUE(certificate);
    certificate_.emplace(*certificate);
    ASSERT_TRUE(key->save(dir_ + "/w1.key"));
    std::ofstream(dir_ + "/w1.pem") << certificate->pem();
    auto identity = signing::WorkerIdentity::load(dir_ + "/w1.pem", dir_ + "/w1.key");
    ASSERT_TRUE(identity) << identity.error().message;
    identity_.emplace(std::move(*identity));
    startCoordinator();
    startAgent();
  }
  void TearDown() override {
    stopAgent();
    stopCoordinator();
    EXPECT_TRUE(sandbox::removeTree(dir_));
  }

  void startCoordinator() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + dir_ + "/s", grpc::InsecureServerCredentials());
    builder.RegisterService(&coordinator_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void stopCoordinator() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  void startAgent() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
    AgentOptions options;
    options.description.set_name("w1");
    options.description.set_slots(2);
    options.drainTime = std::chrono::milliseconds(300);
    options.called = [this](bool answered) { ++(answered ? answered_ : failed_); };
    agent_ =
        std::make_unique<Agent>(std::make_shared<storage::Endpoints>(grpc::CreateCustomChannel(
                                    "unix:" + dir_ + "/s", grpc::InsecureChannelCredentials(), arguments)),
                                runner_, *identity_, waits_, options);
    thread_ = std::thread([this] { clean_ = agent_->run(false); });
  }
  void stopAgent() {
    if (!thread_.joinable()) return;
    agent_->stop();
    thread_.join();
    EXPECT_TRUE(clean_);
    agent_.reset();
  }

  const SystemClock clock_;
  const SteadyClock waits_;
  std::string dir_;
  std::optional<signing::Authority> authority_;
  std::optional<signing::Certificate> certificate_;
  std::optional<signing::WorkerIdentity> identity_;
  Coordinator coordinator_;
  PlayedRunner runner_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Agent> agent_;
  std::thread thread_;
  bool clean_ = false;
  std::atomic<int> answered_ = 0, failed_ = 0;  // calls
};

TEST_F(AgentTest, ReportsStagesThenTheResultWithAReceiptBoundToTheLease) {
  coordinator_.want("a", 7);
  ASSERT_TRUE(coordinator_.await([&] {
    return coordinator_.last_.leases_size() == 1 &&
           coordinator_.last_.leases(0).running().stage() == "codegen";
  }));
  EXPECT_EQ(coordinator_.last_.worker().toolchains(0), std::string(64, 'a'));
  EXPECT_EQ(coordinator_.last_.worker().facts().at("gpu"), "none: libcuda.so.1: not here");
  runner_.release();
  ASSERT_TRUE(coordinator_.await([&] { return coordinator_.finished_.size() == 1; }));
  const v1::LeaseReport report = coordinator_.finished_[0];
  EXPECT_EQ(report.epoch(), 7u);
  EXPECT_EQ(report.finished().error_code(), 0) << report.finished().error_message();
  const auto receipt = signing::verifyReceipt(report.finished().receipt_json(), *certificate_,
                                              authority_->certificate(), clock_.now());
  ASSERT_TRUE(receipt) << receipt.error().message;
  EXPECT_EQ(receipt->lease, "a");
  EXPECT_EQ(receipt->epoch, 7u);
  EXPECT_EQ(receipt->worker, "w1");
  EXPECT_EQ(receipt->operatorName, "acme");
  EXPECT_EQ(receipt->action, digestOf("action a"));
  EXPECT_EQ(receipt->sandboxPolicy, digestOf("policy"));
  ASSERT_EQ(receipt->outputs.size(), 1u);
  EXPECT_EQ(receipt->outputs[0].digest, digestOf("program of a"));
}

// By its Tree, and by its root Directory where the action wanted no Tree.
TEST_F(AgentTest, AReceiptNamesDirectoriesInTheFormThatTheActionWanted) {
  Outcome outcome;
  outcome.sandboxPolicy = digestOf("policy");
  for (const char* path : {"tree", "root", "both"}) {
    auto& directory = *outcome.result.add_output_directories();
    directory.set_path(path);
    if (path != std::string("root")) *directory.mutable_tree_digest() = toProto(digestOf("a Tree"));
    if (path != std::string("tree")) *directory.mutable_root_directory_digest() = toProto(digestOf("a root"));
  }
  v1::Lease lease;
  lease.set_id("a");
  lease.set_epoch(1);
  *lease.mutable_action() = toProto(digestOf("an action"));
  const v1::Finished report = makeReport(lease, outcome, *identity_);
  EXPECT_EQ(report.error_message(), "");
  const auto receipt =
      signing::verifyReceipt(report.receipt_json(), *certificate_, authority_->certificate(), clock_.now());
  ASSERT_TRUE(receipt) << receipt.error().message;
  ASSERT_EQ(receipt->outputs.size(), 3u);
  EXPECT_EQ(receipt->outputs[0].digest, digestOf("a Tree")) << "both";
  EXPECT_EQ(receipt->outputs[1].digest, digestOf("a root"));
  EXPECT_EQ(receipt->outputs[2].digest, digestOf("a Tree"));
}

TEST_F(AgentTest, AClockThatIsPutBackHoldsNothingUp) {
  std::optional<testing_support::SetClock> clock;
  runner_.beforeStage_ = [&] {
    // The call that says so waits at the coordinator, as the worker does for its answer.
    EXPECT_TRUE(coordinator_.await([&] { return coordinator_.last_.leases_size() == 1; }));
    clock.emplace(-std::chrono::hours(24));
  };
  coordinator_.want("a");
  EXPECT_TRUE(coordinator_.await([&] {
    return coordinator_.last_.leases_size() == 1 &&
           coordinator_.last_.leases(0).running().stage() == "codegen";
  })) << "the stage is told a day later";
  runner_.release();
  EXPECT_TRUE(coordinator_.await([&] { return coordinator_.finished_.size() == 1; }));
}

TEST_F(AgentTest, KeepsRunningWhileTheCoordinatorIsAwayAndReportsWhenItIsBack) {
  coordinator_.want("a");
  ASSERT_TRUE(coordinator_.await([&] { return coordinator_.last_.leases_size() == 1; }));
  stopCoordinator();
  for (int i = 0; i < 2000 && failed_ == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GT(failed_, 0);
  runner_.release();  // ends while nobody is there to hear it
  startCoordinator();
  ASSERT_TRUE(coordinator_.await([&] { return coordinator_.finished_.size() == 1; }));
  EXPECT_EQ(coordinator_.finished_[0].finished().error_code(), 0);
  stopAgent();
  EXPECT_GT(answered_, 0);
}

// Two coordinators of one farm, which know the same.
TEST_F(AgentTest, GoesOnAtTheNextCoordinatorWhereOneDies) {
  stopAgent();
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + dir_ + "/s2", grpc::InsecureServerCredentials());
  builder.RegisterService(&coordinator_);
  const std::unique_ptr<grpc::Server> second = builder.BuildAndStart();
  const auto both = storage::Endpoints::open("unix:" + dir_ + "/s,unix:" + dir_ + "/s2", {});
  ASSERT_TRUE(both) << both.error().message;
  AgentOptions options;
  options.description.set_name("w1");
  options.description.set_slots(2);
  Agent agent(*both, runner_, *identity_, waits_, options);
  bool clean = false;
  std::thread running([&] { clean = agent.run(false); });
  coordinator_.want("a");
  EXPECT_TRUE(coordinator_.await([&] { return coordinator_.last_.leases_size() == 1; }));
  stopCoordinator();
  runner_.release();
  EXPECT_TRUE(coordinator_.await([&] { return coordinator_.finished_.size() == 1; }));
  EXPECT_EQ(coordinator_.finished_[0].finished().error_code(), 0);
  agent.stop();
  running.join();
  EXPECT_TRUE(clean);
  second->Shutdown(std::chrono::system_clock::now());
}

TEST_F(AgentTest, AWithdrawnLeaseIsKilledAndItsSlotUsedAgain) {
  coordinator_.want("a");
  coordinator_.want("b");
  ASSERT_TRUE(coordinator_.await([&] { return coordinator_.last_.leases_size() == 2; }));
  coordinator_.withdraw("a");
  coordinator_.want("c");
  ASSERT_TRUE(coordinator_.await([&] {
    return coordinator_.last_.leases_size() == 2 && coordinator_.last_.leases(1).lease_id() == "c";
  }));
  EXPECT_TRUE(coordinator_.finished_.empty());
}

TEST_F(AgentTest, StoppingDrainsThenEndsWhatIsLeftAndSaysSo) {
  coordinator_.want("a");
  ASSERT_TRUE(coordinator_.await([&] { return coordinator_.last_.leases_size() == 1; }));
  stopAgent();
  ASSERT_EQ(coordinator_.finished_.size(), 1u);
  EXPECT_EQ(coordinator_.finished_[0].finished().error_code(), static_cast<int>(Code::kUnavailable));
  EXPECT_TRUE(coordinator_.finished_[0].finished().retryable());
  EXPECT_TRUE(coordinator_.last_.draining());
}

TEST_F(AgentTest, StoppingWithoutACoordinatorIsQuick) {
  ASSERT_TRUE(coordinator_.await([&] { return coordinator_.calls_ > 0; }));
  stopCoordinator();
  const auto begin = std::chrono::steady_clock::now();
  stopAgent();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace kiln::agent
