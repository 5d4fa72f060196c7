// kiln-worker: takes leases from a coordinator and runs them in the sandbox.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "compiler_core/runtime/device/cuda_driver.h"
#include "compiler_core/runtime/device/vulkan_driver.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "manifest/base/usage.h"
#include "manifest/spec/target.h"
#include "storage/blob/metered_blob_store.h"
#include "storage/direct/direct_blob_store.h"
#include "storage/logging/log.h"
#include "storage/remote/endpoints.h"
#include "storage/remote/remote_blob_store.h"
#include "storage/telemetry/host_metrics.h"
#include "storage/telemetry/metrics_server.h"
#include "storage/tracing/exporter.h"
#include "worker/agent/agent.h"
#include "worker/agent/doctor.h"
#include "worker/agent/lease_runner.h"
#include "worker/agent/traced_runner.h"
#include "worker/agent/worker_metrics.h"
#include "worker/cluster/serve.h"
#include "worker/devices/describe.h"
#include "worker/devices/driver_probe.h"
#include "worker/devices/host_level.h"
#include "worker/devices/watch.h"
#include "worker/sandbox/uid_range.h"

namespace kiln::agent {
namespace {

// Exit codes as everywhere in Kiln.
constexpr int kInternalExit = 1, kUsageExit = 2, kUnavailableExit = 7;

struct Flags {
  std::string coordinator, tlsCa, certificate, key, state, credentials, caFile, proxy, fetcher, checker;
  int slots = 1;
  std::uint32_t uidBase = 0;
  std::uint32_t drainSeconds = 5;
  std::uint64_t memoryMiB = 0;
  std::vector<std::string> fetchHosts;
  std::vector<std::string> targets = servedTargets();
  std::vector<std::string> gpuDrivers{runtime::kCudaDriverLibrary, runtime::kVulkanLoaderLibrary};
  std::string probedDriver, testedDevice;  // of the command probe-driver
  std::string executor;                    // a cluster's; "": this machine
  bool json = false;
  telemetry::MetricsFlags metrics;
  std::string logFormat = "text", traces;
};

std::string besideThisProgram(const char* name) {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
}

// kFailedPrecondition if another worker has this directory.
Result<UniqueFd> lockState(const std::string& dir) {
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return fail(errnoError(errno, "--state " + dir));
  UniqueFd lock(open((dir + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return fail(errnoError(errno, "--state " + dir));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Code::kFailedPrecondition, "--state " + dir + ": another worker uses this directory");
  }
  return lock;
}

// Over a network a worker shows the certificate that its receipts are signed with.
// Workers with one list have different ones of its coordinators come first.
Result<std::shared_ptr<storage::Endpoints>> connect(const Flags& flags, const std::string& name) {
  KILN_ASSIGN(const auto names, storage::splitEndpoints(flags.coordinator));
  for (const std::string& one : names)
    if (storage::isNetworkEndpoint(one) && flags.tlsCa.empty())
      return fail(Code::kInvalidArgument, "--coordinator " + one + ": a network wants --tls-ca");
  return storage::Endpoints::open(
      flags.coordinator, {.ca = flags.tlsCa, .certificate = flags.certificate, .key = flags.key, .token = ""},
      std::hash<std::string>()(name));
}

int report(const Error& error) {
  std::fprintf(stderr, "kiln-worker: %s: %s\n", std::string(codeName(error.code)).c_str(),
               error.message.c_str());
  return error.code == Code::kFailedPrecondition ? kUnavailableExit
                                                 : static_cast<int>(exitCodeOf(error.code));
}

sandbox::Policy withMemory(const Flags& flags, sandbox::Policy policy) {
  if (flags.memoryMiB != 0) policy.limits.memoryBytes = flags.memoryMiB << 20;
  return policy;
}

int doctor(const Flags& flags) {
  if (!flags.executor.empty()) {
    const auto cluster = cluster::parseExecutor(flags.executor);
    if (!cluster) return report(cluster.error());
    std::fputs(cluster::describeSandbox(cluster->where).c_str(), stdout);
    return 0;
  }
  const auto sandbox =
      sandbox::Sandbox::make(withMemory(flags, sandbox::compilePolicy()), sandbox::Host::detect());
  if (!sandbox) return report(sandbox.error());
  const Diagnosis diagnosis = diagnose(*sandbox, flags.fetcher);
  const std::string text = flags.json ? diagnosis.toJson().dump() + "\n" : diagnosis.text();
  std::fputs(text.c_str(), stdout);
  return diagnosis.probe.usable() ? 0 : kUnavailableExit;
}

devices::DriverProbe driverProbe() {
  return devices::DriverProbe("/proc/self/exe");
}

int listDevices(const Flags& flags) {
  devices::DriverProbe probe = driverProbe();
  const SteadyClock clock;
  devices::Registry registry(probe, clock);
  registry.discover(flags.gpuDrivers);
  const auto devices = registry.devices();
  const std::string text = flags.json ? devices::toJson(devices, registry.missing()).dump(2) + "\n"
                                      : devices::toText(devices, registry.missing());
  std::fputs(text.c_str(), stdout);
  return 0;
}

bool checks(const Flags& flags) {
  return access(flags.checker.c_str(), X_OK) == 0;
}

v1::WorkerDescription describe(const Flags& flags, const signing::WorkerIdentity& identity,
                               const Diagnosis& diagnosis) {
  v1::WorkerDescription description;
  description.set_name(identity.name());
  description.set_operator_(identity.operatorName());
  description.set_certificate_pem(identity.certificatePem());
  description.set_slots(flags.slots);
  for (const std::string& target : flags.targets) description.add_targets(target);
  description.add_kinds(v1::ACTION_REFERENCE);
  description.add_kinds(v1::ACTION_COMPILE);
  description.add_kinds(v1::ACTION_EMULATE);
  description.add_kinds(v1::ACTION_IR);
  description.add_kinds(v1::ACTION_PLAN);
  description.add_kinds(v1::ACTION_TUNE);
  description.add_kinds(v1::ACTION_EXECUTE);
  if (!flags.fetchHosts.empty()) description.add_kinds(v1::ACTION_FETCH);
  if (checks(flags)) description.add_kinds(v1::ACTION_CHECK);
  description.set_host_level(devices::hostLevel());
  description.mutable_facts()->insert(diagnosis.facts.begin(), diagnosis.facts.end());
  return description;
}

// What runs checks: on the processor and emulated devices, and on GPUs.
struct Checks {
  std::unique_ptr<sandbox::Sandbox> sandbox, gpuSandbox;
  std::unique_ptr<executor::Executor> checker, gpuChecker;
  std::unique_ptr<DeviceRunner> runner;

  static Result<Checks> make(const Flags& flags, const sandbox::Host& host, storage::BlobStore& store,
                             devices::Registry& registry) {
    Checks made;
    const auto prepare = [&](sandbox::Policy policy, const char* state, auto& sandbox,
                             auto& executor) -> Status {
      KILN_ASSIGN(auto confined, sandbox::Sandbox::make(std::move(policy), host));
      sandbox = std::make_unique<sandbox::Sandbox>(std::move(confined));
      KILN_ASSIGN(executor, executor::Executor::makeFor({"kiln-check", flags.checker}, store, *sandbox,
                                                        flags.state + state));
      return {};
    };
    KILN_TRY(prepare(sandbox::checkPolicy(), "/checks", made.sandbox, made.checker));
    KILN_TRY(prepare(sandbox::gpuCheckPolicy(sandbox::gpuNodes()), "/gpu-checks", made.gpuSandbox,
                     made.gpuChecker));
    made.runner = std::make_unique<DeviceRunner>("check", registry, *made.checker, *made.gpuChecker);
    return made;
  }
};

Status work(const Flags& flags) {
  KILN_TRY(telemetry::checkMetricsFlags(flags.metrics));
  KILN_ASSIGN(const auto identity, signing::WorkerIdentity::load(flags.certificate, flags.key));
  KILN_ASSIGN(const UniqueFd lock, lockState(flags.state));
  sandbox::Host host = sandbox::Host::detect(flags.state);
  std::optional<sandbox::UidRange> uids;
  if (flags.uidBase != 0) {
    host.uidBase = flags.uidBase;
  } else if (geteuid() == 0) {
    KILN_ASSIGN(uids, sandbox::UidRange::claim());
    host.uidBase = uids->base();
  }
  KILN_ASSIGN(const auto sandbox, sandbox::Sandbox::make(withMemory(flags, sandbox::compilePolicy()), host));
  const Diagnosis diagnosis = diagnose(sandbox, flags.fetcher);
  if (!diagnosis.probe.usable()) {
    return fail(
        Code::kFailedPrecondition,
        "no sandbox, no worker; `kiln-worker doctor` says the same at any time:\n" + diagnosis.text());
  }
  for (const auto& check : diagnosis.probe.checks) {
    if (check.verdict == sandbox::Verdict::kWarning)
      logging::warning("sandbox is not as it might be", {{"check", check.name}, {"detail", check.detail}});
  }

  KILN_ASSIGN(const auto coordinators, connect(flags, identity.name()));
  storage::RemoteBlobStore coordinator(coordinators);
  storage::DirectBlobStore remote(coordinators, coordinator);
  const auto metered = std::make_shared<telemetry::Registry>();
  storage::MeteredBlobStore store(remote, *metered, "coordinator");
  KILN_ASSIGN(const auto executor, executor::Executor::make(store, sandbox, flags.state + "/actions"));
  std::unique_ptr<executor::Fetcher> fetcher;
  if (!flags.fetchHosts.empty()) {
    KILN_ASSIGN(auto confined, sandbox::Sandbox::make(sandbox::fetchPolicy(), host));
    KILN_ASSIGN(fetcher, executor::Fetcher::make(store, std::move(confined), flags.state + "/fetches",
                                                 {flags.fetcher, flags.fetchHosts, flags.credentials,
                                                  flags.caFile, flags.proxy}));
  }
  const SystemClock wallClock;
  const SteadyClock clock;
  WorkerMetrics metrics(*metered, flags.slots, wallClock, clock);
  devices::DriverProbe probe = driverProbe();
  devices::Registry registry(probe, clock);
  registry.discover(flags.gpuDrivers);
  const devices::Watch watch(registry, clock);
  std::optional<Checks> checking;
  if (checks(flags)) {
    KILN_ASSIGN(checking, Checks::make(flags, host, store, registry));
  }
  KILN_ASSIGN(const auto tuneSandbox, sandbox::Sandbox::make(sandbox::tunePolicy(), host));
  KILN_ASSIGN(const auto tuning, executor::Executor::make(store, tuneSandbox, flags.state + "/tunes"));
  KILN_ASSIGN(const auto gpuTuneSandbox,
              sandbox::Sandbox::make(sandbox::gpuTunePolicy(sandbox::gpuNodes()), host));
  KILN_ASSIGN(const auto gpuTuning,
              executor::Executor::make(store, gpuTuneSandbox, flags.state + "/gpu-tunes"));
  KILN_ASSIGN(const auto foreignSandbox,
              sandbox::Sandbox::make(withMemory(flags, sandbox::executePolicy()), host));
  KILN_ASSIGN(const auto foreign, executor::Executor::make(store, foreignSandbox, flags.state + "/foreign"));
  DeviceRunner tuner("tune", registry, *tuning, *gpuTuning, besideThisProgram("kiln-measure"));
  LeaseRunner runner(*executor, fetcher.get(), checking ? &*checking->runner : nullptr, tuner, registry,
                     [&](v1::ActionKind kind, Duration took) { metrics.sandboxEnded(kind, took); });
  runner.takeForeign({&*foreign, identity.name()});
  KILN_ASSIGN(const auto exporter, tracing::exportTo(flags.traces, "kiln-worker"));
  tracing::addTraceMetrics(*metered, exporter.get());
  std::optional<TracedRunner> traced;
  if (exporter) traced.emplace(runner, *exporter, wallClock);
  MeteredRunner counted(traced ? static_cast<Runner&>(*traced) : runner, metrics, clock);
  metrics.addCache("actions", *executor);
  metrics.addCache("tunes", *tuning);
  metrics.addCache("gpu-tunes", *gpuTuning);
  metrics.addCache("foreign", *foreign);
  if (checking) metrics.addCache("checks", *checking->checker);
  if (checking) metrics.addCache("gpu-checks", *checking->gpuChecker);
  telemetry::addProcessMetrics(*metered);
  telemetry::addDiskMetrics(*metered, "state", flags.state);
  KILN_ASSIGN(const auto watched,
              telemetry::serveMetrics(flags.metrics, metered, [&] { return metrics.health(); }));
  Agent agent(coordinators, counted, identity, clock,
              {.description = describe(flags, identity, diagnosis),
               .drainTime = std::chrono::seconds(flags.drainSeconds),
               .called = [&](bool answered) { metrics.called(answered); }});
  logging::info("worker starts", {{"worker", identity.name()},
                                  {"operator", identity.operatorName()},
                                  {"slots", std::to_string(flags.slots)},
                                  {"coordinator", flags.coordinator}});
  const bool clean = agent.run(true);
  // An action's thread still uses what would now be destroyed. The sandbox dies with this process.
  if (!clean) _exit(kInternalExit);
  logging::info("worker ends", {{"worker", identity.name()}});
  return {};
}

// The same for a cluster's capacity: nothing runs here, so neither sandbox nor state is asked for.
Status workForCluster(const Flags& flags) {
  cluster::ServeOptions options;
  KILN_ASSIGN(options.cluster, cluster::parseExecutor(flags.executor));
  options.slots = flags.slots;
  options.targets = flags.targets;
  options.drainSeconds = flags.drainSeconds;
  options.metrics = flags.metrics;
  options.traces = flags.traces;
  KILN_ASSIGN(const auto identity, signing::WorkerIdentity::load(flags.certificate, flags.key));
  KILN_ASSIGN(const auto coordinators, connect(flags, identity.name()));
  KILN_ASSIGN(const bool clean, cluster::serve(options, identity, coordinators));
  if (!clean) _exit(kInternalExit);
  return {};
}

int run(int argc, char** argv) {
  Flags flags;
  flags.fetcher = besideThisProgram("kiln-fetcher");
  flags.checker = besideThisProgram("kiln-check");
  flags.slots = std::max(1, static_cast<int>(std::thread::hardware_concurrency() / 2));
  CLI::App app(
      "Runs compile actions for a Kiln coordinator.\n"
      "example: kiln-worker --coordinator unix:/run/kiln/coordinator.sock --certificate w1.pem --key w1.key "
      "--state /var/lib/kiln/w1",
      "kiln-worker");
  app.add_option("--coordinator", flags.coordinator,
                 "gRPC endpoint, unix:/path or host:port; several of one farm with commas between")
      ->envname("KILN_COORDINATOR");
  app.add_option("--tls-ca", flags.tlsCa, "authorities of the coordinator's certificate, PEM; for host:port");
  app.add_option("--certificate", flags.certificate, "this worker's certificate, PEM");
  app.add_option("--key", flags.key, "its private key, PEM, mode 0600");
  app.add_option("--state", flags.state, "a directory of this worker's own; its contents are transient");
  app.add_option("--slots", flags.slots, "actions at a time")->check(CLI::Range(1, 32));
  app.add_option("--executor", flags.executor, cluster::kExecutorHelp);
  app.add_option("--targets", flags.targets, "targets to compile for")->delimiter(',');
  app.add_option("--fetch-hosts", flags.fetchHosts,
                 "fetch git sources, from these hosts only; of Git LFS also those that its server sends to")
      ->delimiter(',');
  app.add_option("--fetch-credentials", flags.credentials,
                 "a directory with credentials for private repositories: the file git, and ssh keys");
  app.add_option("--fetch-ca-file", flags.caFile, "certificate authorities of the fetch hosts, PEM");
  app.add_option("--fetch-proxy", flags.proxy, "URL of a proxy for fetching");
  app.add_option("--fetcher", flags.fetcher, "the program kiln-fetcher");
  app.add_option("--checker", flags.checker, "the program kiln-check; without it the worker does not check");
  app.add_option(
         "--gpu-driver", flags.gpuDrivers,
         "CUDA driver library or Vulkan loader to look for devices with (repeatable); a path, or a name that "
         "the loader finds")
      ->capture_default_str();
  app.add_option("--drain-seconds", flags.drainSeconds, "how long actions may go on after SIGTERM");
  app.add_option("--memory-mib", flags.memoryMiB, "memory limit of an action; part of the sandbox policy");
  app.add_option("--uid-base", flags.uidBase, "first host uid of actions, for a worker run by root")
      ->check(CLI::Range(1000u, 4'000'000'000u));
  app.add_option("--metrics", flags.metrics.address, telemetry::kMetricsHelp);
  app.add_option("--metrics-port-file", flags.metrics.portFile, telemetry::kMetricsPortFileHelp);
  app.add_option("--traces", flags.traces, tracing::kTracesHelp);
  app.add_option("--log-format", flags.logFormat, logging::kFormatHelp)
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  CLI::App* doctorCommand = app.add_subcommand("doctor", "say what this host lacks for running a worker");
  doctorCommand->add_flag("--json", flags.json, "as JSON");
  doctorCommand->add_option("--executor", flags.executor,
                            "a cluster as of the worker: print the document that its receipts name instead");
  CLI::App* devicesCommand = app.add_subcommand("devices", "say which devices this host has");
  devicesCommand->add_flag("--json", flags.json, "as JSON");
  devicesCommand->add_option("--gpu-driver", flags.gpuDrivers, "as of the worker (repeatable)");
  CLI::App* probeCommand =
      app.add_subcommand("probe-driver", "what the worker asks a driver, in a process of its own");
  probeCommand->group("")->add_option("LIBRARY", flags.probedDriver)->required();
  probeCommand->add_option("--test", flags.testedDevice, "try this device out");
  try {
    parseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  if (*doctorCommand) return doctor(flags);
  if (*devicesCommand) return listDevices(flags);
  if (*probeCommand) return devices::probeDriver(flags.probedDriver, flags.testedDevice);
  for (const auto& [name, value] :
       {std::pair<const char*, const std::string*>{"--coordinator", &flags.coordinator},
        {"--certificate", &flags.certificate},
        {"--key", &flags.key},
        {"--state", &flags.state}}) {
    if (!value->empty() || (value == &flags.state && !flags.executor.empty())) continue;
    std::fprintf(stderr, "kiln-worker: error: %s is required; see kiln-worker --help\n", name);
    return kUsageExit;
  }
  signal(SIGPIPE, SIG_IGN);
  logging::start("kiln-worker", logging::formatNamed(flags.logFormat));
  const auto done = flags.executor.empty() ? work(flags) : workForCluster(flags);
  return done ? 0 : report(done.error());
}

}  // namespace
}  // namespace kiln::agent

int main(int argc, char** argv) {
  return kiln::runMain("kiln-worker", [&] { return kiln::agent::run(argc, argv); });
}
