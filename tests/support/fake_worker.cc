#include "tests/support/fake_worker.h"

#include <grpcpp/grpcpp.h>
#include <cstring>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "manifest/artifact/manifest.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/spec/target_device.h"
#include "manifest/statement/check_statement.h"
#include "storage/remote/status.h"
#include "storage/tree/digest_proto.h"
#include "tests/support/sample_fixtures.h"
#include "tests/support/sample_spec.h"
#include "tests/support/sample_tuning.h"

namespace kiln::testing_support {
namespace {

constexpr std::uint64_t kLimit = 8 << 20;

void save(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

template <class T>
Result<T> load(storage::BlobStore& blobs, const std::string& instance, const reapi::Digest& digest) {
  KILN_ASSIGN(Digest wanted, fromProto(digest));
  KILN_ASSIGN(std::string bytes, storage::getBlob(blobs, instance, wanted, kLimit));
  T message;
  if (!message.ParseFromString(bytes)) return fail(Code::kDataLoss, "a blob of the action does not parse");
  return message;
}

// The document NAME or DIRECTORY/NAME of the action's input/.
Result<Json> inputOf(storage::BlobStore& blobs, const v1::Lease& lease, const std::string& name,
                     const std::string& directory = "") {
  KILN_ASSIGN(auto action, load<reapi::Action>(blobs, lease.instance(), lease.action()));
  KILN_ASSIGN(auto root, load<reapi::Directory>(blobs, lease.instance(), action.input_root_digest()));
  KILN_ASSIGN(auto input, load<reapi::Directory>(blobs, lease.instance(), root.directories(0).digest()));
  for (const auto& child : input.directories())
    if (child.name() == directory) {
      KILN_ASSIGN(input, load<reapi::Directory>(blobs, lease.instance(), child.digest()));
      break;
    }
  for (const auto& file : input.files())
    if (file.name() == name) {
      KILN_ASSIGN(Digest digest, fromProto(file.digest()));
      KILN_ASSIGN(std::string text, storage::getBlob(blobs, lease.instance(), digest, kLimit));
      return parseStrictJson(text);
    }
  return fail(Code::kNotFound, "the action has no " + name);
}

// Of a kernel of samplePlan(). The digests of both have the order of their signatures there.
std::string moduleOf(const std::string& signature) {
  return "module " + signature;
}

Result<CompileSpec> specOf(storage::BlobStore& blobs, const v1::Lease& lease) {
  KILN_ASSIGN(const Json json, inputOf(blobs, lease, "spec.json"));
  return CompileSpec::fromJson(json);
}

}  // namespace

FakeWorker::FakeWorker(std::shared_ptr<grpc::Channel> channel, storage::BlobStore& blobs,
                       const signing::Authority& authority, const std::string& directory,
                       const std::string& name, const std::string& operatorName, TimePoint now)
    : stub_(v1::WorkerService::NewStub(std::move(channel))), blobs_(blobs) {
  auto key = signing::PrivateKey::create().value();
  auto certificate = authority.issue(name, operatorName, key.publicKey(), now).value();
  std::string prefix = directory + "/" + name;
  save(prefix + ".pem", certificate.pem());
  if (Status saved = key.save(prefix + ".key"); !saved) std::abort();
  identity_ = std::make_unique<signing::WorkerIdentity>(
      signing::WorkerIdentity::load(prefix + ".pem", prefix + ".key").value());
  description.set_certificate_pem(certificate.pem());
  description.add_targets("cpu:x86-64-v3");
  description.set_slots(2);
  for (auto kind : {v1::ACTION_FETCH, v1::ACTION_REFERENCE, v1::ACTION_COMPILE, v1::ACTION_EMULATE,
                    v1::ACTION_PLAN, v1::ACTION_TUNE, v1::ACTION_IR})
    description.add_kinds(kind);
}

Result<v1::SynchronizeResponse> FakeWorker::synchronize(const std::vector<v1::LeaseReport>& reports,
                                                        std::chrono::milliseconds timeout) {
  v1::SynchronizeRequest request;
  *request.mutable_worker() = description;
  for (const v1::LeaseReport& report : reports) *request.add_leases() = report;
  constexpr std::chrono::milliseconds kMost{20'000};
  if (!reports.empty()) timeout = kMost;
  while (true) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    v1::SynchronizeResponse response;
    const grpc::Status status = stub_->Synchronize(&context, request, &response);
    if (status.ok()) return response;
    // The coordinator answers an idle call half a second before its deadline, which a busy machine may be
    // late for. Whatever it gave meanwhile it gives again.
    if (status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED || timeout >= kMost)
      return fail(fromGrpc(status));
    timeout = std::min(2 * timeout, kMost);
  }
}

std::vector<v1::Lease> FakeWorker::poll() {
  auto response = synchronize({});
  if (!response) return {};
  return {response->run().begin(), response->run().end()};
}

v1::LeaseReport FakeWorker::running(const v1::Lease& lease, const std::string& stage) {
  v1::LeaseReport report;
  report.set_lease_id(lease.id());
  report.set_epoch(lease.epoch());
  report.mutable_running()->set_stage(stage);
  return report;
}

Result<ToolOutcome> FakeWorker::compile(const v1::Lease& lease, bool reference) {
  ToolOutcome out;
  KILN_ASSIGN(CompileSpec spec, specOf(blobs_, lease));
  if (reference) {
    out.files["default/input_0.npy"] = "input of " + spec.files[0].digest.hex();
    out.files[kFixtureList] = fixtureListOf(out.files);
    return out;
  }
  out.files["program.so"] = kSampleProgram;
  out.files["weights/0000.bin"] = kSampleWeights;
  Json evidence = sampleEvidence();
  if (wantsDevice(spec.target)) {
    out.files["weights/0001.bin"] = kSampleWeights;
    const bool vulkan = isVulkan(spec.target);
    out.files[vulkan ? "kernels/vulkan.spv" : "kernels/sm_90a.cubin"] = kSampleKernels;
    evidence = vulkan ? vulkanEvidence(spec.target.substr(std::strlen("vulkan:"))) : deviceEvidence();
  }
  if (spec.tuning) {
    KILN_ASSIGN(const Json json, inputOf(blobs_, lease, kTuningEntriesFile));
    KILN_ASSIGN(const TuningEntries entries, TuningEntries::fromJson(json));
    Json kernels = Json::array();
    for (const TuningEntry& entry : entries.entries)
      kernels.push_back({{"symbol", "kiln_k" + std::to_string(kernels.size())},
                         {"signature", entry.signature},
                         {"tuned", entryDigest(entries.target, entry)}});
    evidence["stages"]["schedule"] = {{"kernels", std::move(kernels)}};
  }
  KILN_ASSIGN(out.files["evidence.json"], toCanonicalJson(evidence));
  KILN_ASSIGN(Manifest manifest, makeManifest(spec, evidence));
  KILN_ASSIGN(out.files["manifest.json"], toCanonicalJson(manifest.toJson()));
  return out;
}

Result<ToolOutcome> FakeWorker::plan(const v1::Lease& lease) {
  KILN_ASSIGN(const CompileSpec spec, specOf(blobs_, lease));
  KernelPlan plan = samplePlan();
  plan.target = spec.target;
  ToolOutcome out;
  for (PlannedKernel& kernel : plan.kernels) {
    const std::string module = moduleOf(kernel.signature);
    kernel.signature = digestOf(module).text();
    out.files[moduleFile(kernel.signature)] = module;
  }
  KILN_ASSIGN(out.files[kKernelPlanFile], toCanonicalJson(plan.toJson()));
  return out;
}

Result<ToolOutcome> FakeWorker::tune(const v1::Lease& lease) {
  KILN_ASSIGN(const Json json, inputOf(blobs_, lease, kKernelPlanFile, "plan"));
  KILN_ASSIGN(const KernelPlan plan, KernelPlan::fromJson(json));
  TuningRecord record = sampleRecord();
  record.target = plan.target;
  for (TunedKernel& kernel : record.kernels) kernel.signature = digestOf(moduleOf(kernel.signature)).text();
  std::erase_if(record.kernels, [&](const TunedKernel& kernel) { return !plan.find(kernel.signature); });
  for (const v1::Device& device : description.devices())
    if (device.api() == "vulkan" && std::ranges::find(lease.devices(), device.id()) != lease.devices().end())
      record.device = {
          "vulkan",
          device.name(),
          {"Vulkan " + device.api_version(), "driver " + device.driver(), "type " + device.type()},
          2,
          {}};
  ToolOutcome out;
  KILN_ASSIGN(out.files[kTuningRecordFile], toCanonicalJson(record.toJson()));
  return out;
}

ToolOutcome FakeWorker::check(const v1::Lease& lease) const {
  ToolOutcome out;
  Json report{{"passed", true},
              {"items", {{{"kind", "fixture"}, {"name", "y"}, {"detail", ""}, {"passed", true}}}},
              {"measured", Json::object()},
              {"device", {{"processor", "fake"}}}};
  for (const v1::Device& device : description.devices()) {
    if (device.kind() != "gpu" || std::ranges::find(lease.devices(), device.id()) == lease.devices().end())
      continue;
    report["device"]["gpu"] = {{"name", device.name()}, {"computeCapability", "9.0"}};
    if (device.api() == "vulkan")
      report["device"]["gpu"] = {{"name", device.name()},     {"api", "vulkan"},
                                 {"driver", device.driver()}, {"apiVersion", device.api_version()},
                                 {"type", device.type()},     {"conformance", device.conformance()}};
    if (device.emulated()) report["device"]["emulated"] = true;
  }
  out.files[kCheckReport] = toCanonicalJson(report).value();
  return out;
}

Result<v1::LeaseReport> FakeWorker::run(const v1::Lease& lease) {
  ToolOutcome outcome;
  if (lease.kind() == v1::ACTION_FETCH) {
    const std::string& path = lease.git().path();
    outcome.files[path.substr(path.rfind('/') + 1)] = "fetched model";
  } else if (lease.kind() == v1::ACTION_CHECK) {
    outcome = check(lease);
  } else if (lease.kind() == v1::ACTION_PLAN) {
    KILN_ASSIGN(outcome, plan(lease));
  } else if (lease.kind() == v1::ACTION_TUNE) {
    KILN_ASSIGN(outcome, tune(lease));
  } else {
    KILN_ASSIGN(outcome, compile(lease, lease.kind() == v1::ACTION_REFERENCE));
  }
  if (lease.kind() == v1::ACTION_EMULATE)
    outcome.files = {{"artifact/program.so", kSampleProgram},
                     {"emulation/" + digestOf(kSampleProgram).hex() + ".so", "code"}};
  if (lease.kind() == v1::ACTION_IR) {
    std::map<std::string, std::string> files{{"ir/01-capture.mlir", "module {}"},
                                             {"ir/10-program.ll", "; a program"}};
    for (auto& [path, bytes] : outcome.files) files.emplace("artifact/" + path, std::move(bytes));
    outcome.files = std::move(files);
  }
  if (tamper) tamper(lease, outcome);
  v1::LeaseReport report;
  report.set_lease_id(lease.id());
  report.set_epoch(lease.epoch());
  signing::Receipt receipt;
  KILN_ASSIGN(receipt.action, fromProto(lease.action()));
  receipt.lease = lease.id();
  receipt.epoch = lease.epoch();
  receipt.exitCode = outcome.exitCode;
  receipt.sandboxPolicy = digestOf(sandboxPolicy);
  if (uploadsPolicy) KILN_TRY(storage::putBlob(blobs_, lease.instance(), asBytes(sandboxPolicy)));
  auto* result = report.mutable_finished()->mutable_result();
  result->set_exit_code(outcome.exitCode);
  result->set_stderr_raw(outcome.standardError);
  for (const auto& [path, bytes] : outcome.files) {
    KILN_ASSIGN(Digest digest, storage::putBlob(blobs_, lease.instance(), asBytes(bytes)));
    auto* file = result->add_output_files();
    file->set_path("output/" + path);
    *file->mutable_digest() = toProto(digest);
    receipt.outputs.push_back({"output/" + path, digest});
  }
  KILN_ASSIGN(*report.mutable_finished()->mutable_receipt_json(), identity_->sign(receipt));
  if (forge) forge(lease, *report.mutable_finished());
  return report;
}

Result<int> FakeWorker::work() {
  int done = 0;
  for (;;) {
    std::vector<v1::Lease> leases = poll();
    if (leases.empty()) return done;
    std::vector<v1::LeaseReport> reports;
    for (const v1::Lease& lease : leases) {
      KILN_ASSIGN(v1::LeaseReport report, run(lease));
      reports.push_back(std::move(report));
    }
    KILN_TRY(synchronize(reports));
    done += static_cast<int>(leases.size());
  }
}

}  // namespace kiln::testing_support
