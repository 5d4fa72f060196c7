// A signed artifact in a store, as a farm publishes it, with the trust to accept it.
#pragma once

#include <fstream>

#include "api/node/fetch.h"
#include "api/node/trust.h"
#include "manifest/statement/ir_statement.h"
#include "signing/bundle/bundle.h"
#include "tests/signing/farm_fixture.h"

namespace kiln::testing_support {

struct SignedArtifact {
  signing::Farm farm;
  node::ArtifactRef ref;
  node::Trust trust;
  std::string bundle;

  // Valid now, by the system's clock.
  SignedArtifact() {
    farm.root = signing::developmentRoot(farm.key.publicKey(), signing::kBuilderId, SystemClock().now());
    trust.root = farm.root;
    trust.policy = node::defaultPolicy();
    trust.policy.allowDevelopment = true;
    bundle = farm.sign();
    ref.instance = "default";
    ref.artifact = farm.artifact;
    ref.bundles = {farm.put(bundle)};
    ref.fixtures.push_back({kFixtureList, digestOf(farm.fixtureList)});
    for (const auto& [path, content] : farm.fixtures) ref.fixtures.push_back({path, digestOf(content)});
  }

  // Every blob that the artifact consists of, by what it is.
  std::vector<std::pair<std::string, Digest>> blobs() const {
    return {{"artifact.json", ref.artifact},
            {"manifest.json", digestOf(farm.manifestText)},
            {"program.so", farm.manifest.program.digest},
            {"weights/0000.bin", farm.manifest.weights[0].digest},
            {"bundle", ref.bundles[0]},
            {"fixtures/fixtures.json", ref.fixtures[0].digest},
            {"fixtures/default/input_0.npy", ref.fixtures[1].digest}};
  }

  // An IR of it in the store, and the statement about it, signed by `key`.
  IrStatement addIr(const signing::PrivateKey& key) {
    IrStatement ir;
    ir.builderId = signing::kBuilderId;
    ir.worker = "w1";
    ir.operatorName = "acme";
    ir.toolchain = farm.manifest.spec.toolchainDigest;
    ir.files = {{"01-capture.mlir", farm.put("module {}")}, {"10-program.ll", farm.put("; a program")}};
    ir.startedOn = ir.finishedOn = farm.clock.now();
    const std::string statement = irStatement(ref.artifact, ir).value();
    const auto envelope = signing::signEnvelope(signing::kInTotoPayload, statement, key).value();
    ref.bundles.push_back(farm.put(signing::makeBundle(envelope, key.publicKey()).value()));
    return ir;
  }

  // root.json and policy.json for programs.
  void writeTrust(const std::string& directory) const {
    std::ofstream(directory + "/root.json") << trust.root.toJson().dump();
    std::ofstream(directory + "/policy.json") << trust.policy.toJson().dump();
  }
};

}  // namespace kiln::testing_support
