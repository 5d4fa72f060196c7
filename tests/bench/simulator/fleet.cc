#include "tests/bench/simulator/fleet.h"

#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <fstream>

namespace kiln::fleet {
namespace {

// A connection takes 128 calls at a time (coordinator/LIMITS.md), and each worker has one.
constexpr int kWorkersPerConnection = 100;
constexpr int kOperators = 4;

std::shared_ptr<grpc::Channel> connect(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
}

signing::WorkerIdentity makeIdentity(const signing::Authority& authority, const std::string& directory,
                                     int number) {
  const std::string name = "w" + std::to_string(number), prefix = directory + "/" + name;
  const signing::PrivateKey key = signing::PrivateKey::create().value();
  const auto certificate = authority.issue(name, "operator" + std::to_string(number % kOperators),
                                           key.publicKey(), SystemClock().now());
  std::ofstream(prefix + ".pem") << certificate.value().pem();
  if (!key.save(prefix + ".key")) std::abort();
  return signing::WorkerIdentity::load(prefix + ".pem", prefix + ".key").value();
}

}  // namespace

Fleet::Fleet(const Options& options, const JobMix& mix, const signing::Authority& authority)
    : guard_(io_.get_executor()),
      around_{io_, mix, SteadyClock(), options.sandboxPolicy, {}, {}, 0},
      endpoints_(options.endpoints.size()) {
  const int connections = (options.workers + kWorkersPerConnection - 1) / kWorkersPerConnection;
  for (const std::string& endpoint : options.endpoints)
    for (int i = 0; i < connections; ++i) stubs_.push_back(v1::WorkerService::NewStub(connect(endpoint)));
  for (int number = 0; number < options.workers; ++number) {
    std::vector<SimulatedWorker::Stub*> stubs;
    for (std::size_t i = 0; i < endpoints_; ++i) {
      const std::size_t endpoint = (static_cast<std::size_t>(number) + i) % endpoints_;
      stubs.push_back(stubs_[endpoint * static_cast<std::size_t>(connections) +
                             static_cast<std::size_t>(number % connections)]
                          .get());
    }
    workers_.push_back(std::make_unique<SimulatedWorker>(
        around_, makeIdentity(authority, options.directory, number), options.slots, std::move(stubs)));
  }
  thread_ = std::thread([this] { io_.run(); });
}

Fleet::~Fleet() {
  pause();
  io_.stop();
  thread_.join();
}

void Fleet::resume(Duration spread) {
  ask([&] {
    const auto count = static_cast<std::int64_t>(workers_.size());
    for (std::int64_t i = 0; i < count; ++i)
      workers_[static_cast<std::size_t>(i)]->resume(spread * i / count);
  });
}

void Fleet::pause() {
  ask([&] {
    for (const auto& worker : workers_) worker->pause();
  });
  while (ask([&] { return around_.callsInFlight; }) > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

Seen Fleet::take() {
  return ask([&] { return std::exchange(around_.seen, {}); });
}

std::unordered_map<std::string, TimePoint> Fleet::firstLeases() {
  return ask([&] { return around_.firstLeases; });
}

int Fleet::watch(std::size_t endpoint) {
  return ask([&] {
    int watched = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if ((i + workers_[i]->at()) % endpoints_ != endpoint) continue;
      workers_[i]->watch();
      ++watched;
    }
    return watched;
  });
}

}  // namespace kiln::fleet
