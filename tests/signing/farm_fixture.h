// A farm in miniature: a store with the blobs of one compiled artifact, two builders with receipts, its
// provenance, a signer and a trust root. Tests damage one thing and see who notices.
#pragma once

#include <gtest/gtest.h>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "manifest/artifact/oci.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/provenance.h"
#include "signing/receipt/receipt.h"
#include "signing/server/local_signer.h"
#include "signing/trust/trust_root.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/memory_records.h"
#include "tests/support/sample_fixtures.h"
#include "tests/support/sample_policy.h"
#include "tests/support/sample_spec.h"
#include "tests/support/temp_directory.h"

namespace kiln::signing {

inline constexpr char kBuilderId[] = "urn:kiln:builder:test";

class FixedClock final : public Clock {
 public:
  explicit FixedClock(const char* time) : time_(parseRfc3339(time).value()) {}
  TimePoint now() const override { return time_; }
  void set(TimePoint time) { time_ = time; }

 private:
  TimePoint time_;
};

struct Farm {
  FixedClock clock{"2026-11-20T06:00:00Z"};
  testing_support::TempDirectory directory;
  testing_support::MemoryBlobStore store;
  PrivateKey key = PrivateKey::create().value();
  Authority authority = Authority::create(clock.now()).value();
  testing_support::MemoryRecords records;
  LocalSigner signer{key, authority.certificate(), records, store, clock};
  TrustRoot root = developmentRoot(key.publicKey(), kBuilderId, clock.now());

  Manifest manifest = makeManifest(testing_support::sampleSpec(), testing_support::sampleEvidence()).value();
  std::string manifestText = toCanonicalJson(manifest.toJson()).value();
  std::string ociText = makeOciManifest(manifest, put(manifestText)).value();
  Digest artifact = put(ociText);
  Digest action = putAction(manifest.spec);
  Digest sandboxPolicy = put(testing_support::samplePolicyText("test"));

  testing_support::FixtureContents fixtures = testing_support::sampleFixtures();
  std::string fixtureList = testing_support::fixtureListOf(fixtures);

  std::vector<std::string> receipts;
  Provenance provenance;

  Farm() {
    put(testing_support::kSampleProgram);
    put(testing_support::kSampleWeights);
    for (const auto& [path, content] : fixtures) put(content);
    provenance.byproducts.push_back({kFixturesByproduct, "", put(fixtureList), {}});
    provenance.externalParameters = externalParameters(manifest.spec).value();
    provenance.internalParameters = {
        {"action", action.text()}, {"sandboxPolicy", sandboxPolicy.text()}, {"workerClass", "test"}};
    provenance.resolvedDependencies = dependencies(manifest.spec);
    provenance.builderId = kBuilderId;
    provenance.builderVersion = {{"kiln", "0.1.0"}};
    provenance.invocationId = "job-1";
    provenance.startedOn = clock.now();
    provenance.finishedOn = clock.now() + std::chrono::seconds(2);
    addBuilder("w1", "acme", goodReceipt());
    addBuilder("w2", "other", goodReceipt());
  }

  Digest put(std::string_view bytes) { return storage::putBlob(store, "default", asBytes(bytes)).value(); }

  Receipt goodReceipt() const {
    Receipt receipt{action, "lease", 1, "", "", 0, sandboxPolicy, {}};
    receipt.outputs.push_back({"output/evidence.json", digestOf("evidence")});
    receipt.outputs.push_back({"output/manifest.json", digestOf(manifestText)});
    receipt.outputs.push_back({"output/program.so", manifest.program.digest});
    receipt.outputs.push_back({"output/weights/0000.bin", manifest.weights[0].digest});
    return receipt;
  }

  // A receipt document by a new worker key, named in the provenance.
  void addBuilder(const std::string& worker, const std::string& operatorName, Receipt receipt) {
    addBuilder(worker, operatorName, std::move(receipt), PrivateKey::create().value());
  }
  void addBuilder(const std::string& worker, const std::string& operatorName, Receipt receipt,
                  const PrivateKey& workerKey) {
    receipt.worker = worker;
    receipt.operatorName = operatorName;
    Certificate certificate =
        authority.issue(worker, operatorName, workerKey.publicKey(), clock.now()).value();
    receipts.push_back(receiptDocument(makeReceipt(receipt, workerKey).value(), certificate).value());
    provenance.builders.push_back({worker, operatorName, digestOf(receipts.back())});
  }
  // A check of the artifact by worker w3 that found `passed`, with its receipt document. `emulation`: the
  // name of a file that the device, an emulated one if it says so, was given. `gpu`: what the report says of
  // one.
  CheckStatement check(bool passed, std::string* receiptDocumentText, bool emulated = false,
                       const std::string& emulation = "", const Json& gpu = {}) {
    CheckStatement out;
    out.builderId = kBuilderId;
    out.invocationId = "job-1";
    out.plan = put("{}");
    out.action = putCheckAction(out.plan, "", emulation);
    out.worker = "w3";
    out.operatorName = "acme";
    out.startedOn = out.finishedOn = clock.now();
    out.report = {
        {"passed", passed},
        {"items", {{{"kind", "fixture"}, {"name", "y"}, {"passed", passed}, {"detail", "8 elements"}}}},
        {"measured", Json::object()},
        {"device", Json::object()}};
    if (emulated) out.report["device"]["emulated"] = true;
    if (!gpu.is_null()) out.report["device"]["gpu"] = gpu;
    Receipt receipt{out.action, "lease", 1, out.worker, out.operatorName, 0, sandboxPolicy, {}};
    receipt.outputs.push_back({"output/report.json", put(toCanonicalJson(out.report).value())});
    const PrivateKey workerKey = PrivateKey::create().value();
    Certificate certificate =
        authority.issue(out.worker, out.operatorName, workerKey.publicKey(), clock.now()).value();
    *receiptDocumentText = receiptDocument(makeReceipt(receipt, workerKey).value(), certificate).value();
    out.receipt = digestOf(*receiptDocumentText);
    return out;
  }

  Digest putCheckAction(const Digest& plan, const std::string& extra = "",
                        const std::string& emulation = "") {
    namespace reapi = ::build::bazel::remote::execution::v2;
    auto set = [](reapi::Digest* message, const Digest& digest) {
      message->set_hash(digest.hex());
      message->set_size_bytes(static_cast<std::int64_t>(digest.size));
    };
    auto add = [&](auto* node, const char* name, const Digest& digest) {
      node->set_name(name);
      set(node->mutable_digest(), digest);
    };
    reapi::Command command;
    for (const char* argument :
         {"kiln-check", "--artifact", "artifact", "--plan", "plan/check.json", "--out", "output"})
      command.add_arguments(argument);
    command.add_output_paths("output");
    reapi::Directory weights, artifactDirectory, planDirectory, top;
    add(weights.add_files(), "0000.bin", manifest.weights[0].digest);
    if (!extra.empty()) add(artifactDirectory.add_files(), "extra", put(extra));
    add(artifactDirectory.add_files(), "manifest.json", digestOf(manifestText));
    add(artifactDirectory.add_files(), "program.so", manifest.program.digest);
    add(artifactDirectory.add_directories(), "weights", put(weights.SerializeAsString()));
    add(planDirectory.add_files(), "check.json", plan);
    add(top.add_directories(), "artifact", put(artifactDirectory.SerializeAsString()));
    if (!emulation.empty()) {
      reapi::Directory code;
      add(code.add_files(), emulation.c_str(), put("code"));
      add(top.add_directories(), "emulation", put(code.SerializeAsString()));
    }
    add(top.add_directories(), "plan", put(planDirectory.SerializeAsString()));
    reapi::Action check;
    set(check.mutable_command_digest(), put(command.SerializeAsString()));
    set(check.mutable_input_root_digest(), put(top.SerializeAsString()));
    return put(check.SerializeAsString());
  }

  void dropBuilders() {
    receipts.clear();
    provenance.builders.clear();
  }

  Digest putAction(const CompileSpec& spec, std::vector<std::string> arguments = {}) {
    namespace reapi = ::build::bazel::remote::execution::v2;
    auto set = [](reapi::Digest* message, const Digest& digest) {
      message->set_hash(digest.hex());
      message->set_size_bytes(static_cast<std::int64_t>(digest.size));
    };
    reapi::Command command;
    if (arguments.empty())
      arguments = {"toolchain/bin/kiln-cc", "compile", "--model", "input/model.onnx", "--spec",
                   "input/spec.json",       "--out",   "output"};
    for (const std::string& argument : arguments) command.add_arguments(argument);
    command.add_output_paths("output");
    reapi::Directory data, input, top;
    auto* external = data.add_files();
    external->set_name("weights.bin");
    set(external->mutable_digest(), spec.files[1].digest);
    auto* model = input.add_files();
    model->set_name("model.onnx");
    set(model->mutable_digest(), spec.files[0].digest);
    auto* specFile = input.add_files();
    specFile->set_name("spec.json");
    set(specFile->mutable_digest(), put(toCanonicalJson(spec.toJson()).value()));
    auto* dataNode = input.add_directories();
    dataNode->set_name("data");
    set(dataNode->mutable_digest(), put(data.SerializeAsString()));
    auto* inputNode = top.add_directories();
    inputNode->set_name("input");
    set(inputNode->mutable_digest(), put(input.SerializeAsString()));
    auto* toolchain = top.add_directories();
    toolchain->set_name("toolchain");
    set(toolchain->mutable_digest(), spec.toolchainDigest);
    reapi::Action action;
    set(action.mutable_command_digest(), put(command.SerializeAsString()));
    set(action.mutable_input_root_digest(), put(top.SerializeAsString()));
    return put(action.SerializeAsString());
  }

  SignRequest request() const {
    return {"default", provenanceStatement(artifact, provenance).value(), artifact.size, receipts};
  }
  std::string sign() { return signer.sign(request()).value(); }
};

}  // namespace kiln::signing
