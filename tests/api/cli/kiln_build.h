// `kiln` against the gRPC edge of a farm that builds whatever it is asked to.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "manifest/artifact/oci.h"
#include "manifest/json/json.h"
#include "storage/tree/digest_proto.h"
#include "tests/api/cli/kiln_process.h"
#include "tests/api/support/fake_farm.h"
#include "tests/support/sample_spec.h"

namespace kiln::testing_support {

struct KilnBuild : testing::Test {
  TempDirectory directory;
  std::unique_ptr<storage::LocalBlobStore> store =
      std::move(*storage::LocalBlobStore::open({.directory = directory / "store"}));
  FakeFarm farm{*store};
  std::string hash = "sha256:" + std::string(64, 'a');  // of the artifact of the last job

  KilnResult kiln(std::vector<std::string> arguments) {
    return runKiln(arguments, {{"KILN_ENDPOINT", farm.endpoint()}}, directory.path());
  }
  void file(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(directory / name).parent_path());
    std::ofstream(directory / name, std::ios::binary) << content;
  }
  // Puts an artifact of `spec` into store and index; returns its digest.
  std::string publish(const CompileSpec& spec) {
    auto evidence = sampleEvidence();
    evidence["program"]["inputs"][0]["dimNames"] = {"", ""};
    evidence["program"]["outputs"][0]["dimNames"] = {"", ""};
    const auto manifest = makeManifest(spec, evidence);
    EXPECT_TRUE(manifest) << manifest.error().message;
    const auto text = *toCanonicalJson(manifest->toJson()), oci = *makeOciManifest(*manifest, digestOf(text));
    EXPECT_TRUE(storage::putBlob(*store, "default", asBytes(text)));
    const auto digest = *storage::putBlob(*store, "default", asBytes(oci));
    *farm.script.artifacts[digest.text()].mutable_manifest() = toProto(digest);
    return digest.text();
  }
  // What the farm is asked to build, as it writes it into the manifest.
  static CompileSpec asked(const v1::SubmitJobRequest& request) {
    CompileSpec spec;
    spec.profiles = {{"default", {}}};
    EXPECT_TRUE(applySubmitted(*parseJson(request.spec_json()), spec));
    const Target target = *parseTarget(request.targets(0));
    spec.target = target.name;
    spec.features = target.features;
    spec.toolchainDigest = digestOf("toolchain");
    for (const auto& source : request.sources())
      spec.files.push_back({spec.files.empty() ? "model.onnx" : source.path(),
                            source.has_blob() ? *fromProto(source.blob()) : digestOf("fetched")});
    return spec;
  }
  // Each job is built as `change` leaves its spec.
  void succeeds(std::function<void(CompileSpec&)> change = [](CompileSpec&) {}) {
    farm.script.watch = {jobIn(v1::JOB_QUEUED, 1), jobIn(v1::JOB_RUNNING, 2), jobIn(v1::JOB_SUCCEEDED, 3)};
    farm.script.jobs = {farm.script.watch.back()};
    farm.script.submit = [this, change](const v1::SubmitJobRequest& request, v1::Job* job) {
      CompileSpec spec = asked(request);
      change(spec);
      hash = publish(spec);
      farm.script.watch.back().mutable_artifacts(0)->set_digest(hash);
      *job = farm.script.watch.front();
      return grpc::Status::OK;
    };
  }
};

}  // namespace kiln::testing_support
