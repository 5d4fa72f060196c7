#include "tests/bench/simulator/farm.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kiln/v1/artifact.grpc.pb.h"
#include "manifest/json/json.h"
#include "storage/blob/upload.h"
#include "storage/remote/status.h"
#include "storage/tree/digest_proto.h"
#include "storage/tree/tree_builder.h"

namespace kiln::fleet {
namespace {

using testing_support::ChildProcess;

constexpr std::chrono::seconds kPatience{120};

[[noreturn]] void giveUp(const std::string& why) {
  fmt::print(stderr, "bench_fleet: {}\n", why);
  std::exit(1);
}

std::string toolchainText(const Digest& compiler) {
  const Json description{{"apiVersion", "kiln/v1"},
                         {"kind", "Toolchain"},
                         {"name", "kiln"},
                         {"version", "0.1.0"},
                         {"label", "kiln-simulated"},
                         {"components",
                          {{{"name", "kiln-cc"},
                            {"version", "0.1.0"},
                            {"path", "bin/kiln-cc"},
                            {"digest", compiler.text()},
                            {"size", std::to_string(compiler.size)}}}},
                         {"targets", {"cpu:x86-64-v3"}}};
  return toCanonicalJson(description).value();
}

}  // namespace

Farm::Farm(const Options& options)
    : options_(options),
      postgres_(options.noSync ? testing_support::Durability::kOff : testing_support::Durability::kOn),
      conninfo_(postgres_.createDatabase()),
      authority_(signing::Authority::create(SystemClock().now()).value()) {
  std::filesystem::create_directory(directory_ / "keys");
  const Status saved = signing::PrivateKey::create().value().save(directory_ / "keys/signer.pem");
  if (!saved) giveUp(saved.error().message);
  std::ofstream(directory_ / "keys/worker-ca.pem") << authority_.certificate().pem();
  const std::string programs = options.programs + "/";
  ChildProcess makeKey(
      {programs + "kiln-log", "make-key", "--origin", "log.fleet.example", "--out", directory_ / "keys/log"},
      directory_ / "log.log");
  if (makeKey.wait() != 0) giveUp("kiln-log cannot make a key; build the programs first, or see --programs");
  signer_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{programs + "kiln-signer", "serve", "--listen",
                               "unix:" + (directory_ / "signer.sock"), "--key",
                               directory_ / "keys/signer.pem", "--store", directory_ / "store", "--worker-ca",
                               directory_ / "keys/worker-ca.pem", "--database", conninfo_},
      directory_ / "signer.log");
  log_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{programs + "kiln-log", "serve", "--key", directory_ / "keys/log", "--database",
                               conninfo_, "--tiles", directory_ / "tiles"},
      directory_ / "log.log");
  for (int i = 0; i < options.coordinators; ++i) {
    coordinators_.emplace_back();
    restart(coordinators_.size() - 1);
    waitFor(coordinators_.size() - 1);
  }
  channel_ = grpc::CreateChannel(endpoint(coordinators_.size() - 1), grpc::InsecureChannelCredentials());
  blobs_ = std::make_unique<storage::RemoteBlobStore>(channel_);
  auto connection =
      postgres::Connection::open({.conninfo = conninfo_, .statementTimeout = std::chrono::minutes(10)});
  if (!connection) giveUp(connection.error().message);
  database_ = std::make_unique<postgres::Connection>(std::move(*connection));
}

std::string Farm::endpoint(std::size_t coordinator) const {
  return fmt::format("unix:{}/coordinator{}.sock", directory_.path(), coordinator);
}

std::vector<std::string> Farm::endpoints() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < coordinators_.size(); ++i) out.push_back(endpoint(i));
  return out;
}

std::vector<std::string> Farm::coordinatorCommand(std::size_t coordinator) const {
  std::vector<std::string> out{options_.programs + "/kiln-coordinator",
                               "--listen",
                               endpoint(coordinator),
                               "--database",
                               conninfo_,
                               "--store",
                               directory_ / "store",
                               "--signer",
                               "unix:" + (directory_ / "signer.sock"),
                               "--log-key",
                               directory_ / "keys/log.vkey",
                               "--worker-ca",
                               directory_ / "keys/worker-ca.pem",
                               "--builder-id",
                               "urn:kiln:builder:fleet",
                               "--grace-seconds",
                               "2",
                               "--gc-interval-seconds",
                               "0"};
  if (!options_.quotas.empty()) out.insert(out.end(), {"--quotas", options_.quotas});
  return out;
}

void Farm::waitFor(std::size_t coordinator) {
  const auto stub = v1::FleetService::NewStub(
      grpc::CreateChannel(endpoint(coordinator), grpc::InsecureChannelCredentials()));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::ListWorkersRequest request;
    request.set_instance("default");
    v1::ListWorkersResponse response;
    const grpc::Status status = stub->ListWorkers(&context, request, &response);
    if (status.ok()) return;
    if (std::chrono::steady_clock::now() > end || !coordinators_[coordinator]->running())
      giveUp(fmt::format("coordinator {} does not answer: {}; see {}", coordinator, status.error_message(),
                         directory_ / fmt::format("coordinator{}.log", coordinator)));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Status Farm::begin(const std::string& instance, std::string_view sandboxPolicy) {
  KILN_ASSIGN(const Digest compiler, storage::putBlob(*blobs_, instance, asBytes("a simulated compiler")));
  KILN_ASSIGN(const Digest description,
              storage::putBlob(*blobs_, instance, asBytes(toolchainText(compiler))));
  KILN_TRY(storage::putBlob(*blobs_, instance, asBytes(sandboxPolicy)));
  storage::TreeBuilder tree;
  KILN_TRY(tree.addFile("bin/kiln-cc", compiler, true));
  KILN_TRY(tree.addFile("toolchain.json", description, false));
  const storage::BuiltTree built = tree.build();
  KILN_TRY(storage::uploadMissing(*blobs_, instance, built.directories));
  v1::AddToolchainRequest request;
  request.set_instance(instance);
  *request.mutable_toolchain_digest() = toProto(built.root);
  request.set_make_default(true);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {  // the signer may still be starting
    grpc::ClientContext context;
    v1::Toolchain response;
    const grpc::Status status =
        v1::ToolchainService::NewStub(channel_)->AddToolchain(&context, request, &response);
    if (status.ok()) return {};
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE || std::chrono::steady_clock::now() > end)
      return fail(fromGrpc(status));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void Farm::kill(std::size_t coordinator) {
  cpuOfTheKilled_ += usageOf(coordinators_[coordinator]->pid()).cpuSeconds;
  coordinators_[coordinator]->kill();
}

void Farm::restart(std::size_t coordinator) {
  coordinators_[coordinator] = std::make_unique<ChildProcess>(
      coordinatorCommand(coordinator), directory_ / fmt::format("coordinator{}.log", coordinator));
}

ProcessUsage Farm::coordinatorUsage() const {
  ProcessUsage all;
  all.cpuSeconds = cpuOfTheKilled_;
  for (const auto& one : coordinators_) {
    const ProcessUsage usage = usageOf(one->pid());
    all.cpuSeconds += usage.cpuSeconds;
    all.residentMiB += usage.residentMiB;
    all.privateMiB += usage.privateMiB;
    all.threads += usage.threads;
  }
  return all;
}

double Farm::postgresCpuSeconds() const {
  return cpuSecondsOfTree(postgres_.pid());
}

}  // namespace kiln::fleet
