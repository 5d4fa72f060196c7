// `kiln build` and the job commands against the gRPC edge of a farm.
#include <sys/stat.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "tests/api/cli/kiln_build.h"
#include "tests/api/client/onnx_bytes.h"

namespace kiln {
namespace {

using testing_support::jobIn;
using testing_support::KilnBuild;

TEST_F(KilnBuild, UploadsSubmitsWatchesAndEndsWithTheArtifact) {
  succeeds();
  using namespace testing_support;
  file("m/model.onnx", varintField(1, 8) + field(7, field(5, externalTensor("w/data.bin")) +
                                                        field(11, floatInput("x", {"N"})) +
                                                        field(12, floatInput("w", {"1"}))));
  file("m/w/data.bin", "weights");
  farm.script.toolchains.emplace_back().set_label("kiln-test");
  const auto result = kiln({"build", "m/model.onnx", "--target", "cpu:x86-64-v3", "--profile", "N=1:1:1",
                            "--builders", "2", "--toolchain", "kiln-test"});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(result.lastLine(), "artifact " + hash);
  EXPECT_NE(result.err.find("codegen"), std::string::npos) << "progress by stage: " << result.err;
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << "plain lines when stderr is no terminal";
  ASSERT_EQ(farm.script.submitted.size(), 1u);
  const auto& request = farm.script.submitted[0];
  EXPECT_EQ(request.idempotency_key().size(), 32u);
  EXPECT_EQ(request.toolchain(), "kiln-test");
  ASSERT_EQ(request.sources_size(), 2);
  EXPECT_EQ(request.sources(0).path(), "model.onnx");
  EXPECT_EQ(request.sources(1).path(), "w/data.bin");
  EXPECT_EQ(request.sources(1).blob().hash(), digestOf("weights").hex());
  const auto digest = digestOf("weights");
  EXPECT_TRUE(store->findMissing("default", {&digest, 1})->empty());
  EXPECT_EQ(parseJson(request.delivery_json())->at("builders"), 2);
  const auto spec = parseJson(request.spec_json());
  EXPECT_EQ(spec->at("profiles").at(0).at("dims").at(0).at("dim"), "N");
}

TEST_F(KilnBuild, SaysWhichNumericsAreWanted) {
  succeeds();
  file("model.onnx", testing_support::emptyModel());
  const auto built = kiln(
      {"build", "model.onnx", "--target", "cpu:x86-64-v3", "--precision", "int8", "--reassociation", "on"});
  EXPECT_EQ(built.exit, 0) << built.err;
  ASSERT_EQ(farm.script.submitted.size(), 1u);
  const auto numerics = parseJson(farm.script.submitted[0].spec_json())->at("numerics");
  EXPECT_EQ(numerics.at("precision"), "int8");
  EXPECT_EQ(numerics.at("reassociation"), "on");
  EXPECT_EQ(kiln({"build", "model.onnx", "--reassociation", "some"}).exit, 2);
}

TEST_F(KilnBuild, SumsHaveTheOrderOfTheScheduleUnlessAnotherIsWanted) {
  succeeds();
  file("model.onnx", testing_support::emptyModel());
  const auto built = kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(built.exit, 0) << built.err;
  ASSERT_EQ(farm.script.submitted.size(), 1u);
  const auto numerics = parseJson(farm.script.submitted[0].spec_json())->at("numerics");
  EXPECT_EQ(numerics.at("reassociation"), "deterministic");
}

// Somebody wrote another artifact into the job's row: as well signed, but not what was asked for.
TEST_F(KilnBuild, AnArtifactOfSomethingElseIsExit5) {
  file("model.onnx", testing_support::emptyModel());
  const auto built = [&](std::function<void(CompileSpec&)> change, std::vector<std::string> more = {}) {
    succeeds(std::move(change));
    std::vector<std::string> arguments = {"build", "model.onnx", "--target", "cpu:x86-64-v3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return kiln(arguments);
  };
  EXPECT_EQ(built([](CompileSpec&) {}).exit, 0);
  const auto model = built([](CompileSpec& spec) { spec.files[0].digest = digestOf("another"); });
  EXPECT_EQ(model.exit, 5);
  EXPECT_NE(model.err.find(digestOf(testing_support::emptyModel()).text()), std::string::npos) << model.err;
  EXPECT_EQ(model.out.find("artifact"), std::string::npos) << "no artifact line for scripts to take";
  EXPECT_EQ(built([](CompileSpec& spec) { spec.files.push_back({"w.bin", digestOf("w")}); }).exit, 5);
  const auto target = built([](CompileSpec& spec) {
    spec.target = "cpu:x86-64-v4";
    spec.features = parseTarget("cpu:x86-64-v4")->features;
  });
  EXPECT_EQ(target.exit, 5);
  EXPECT_NE(target.err.find("cpu:x86-64-v4"), std::string::npos) << target.err;
  const auto options = built([](CompileSpec& spec) { spec.numerics.contraction = "off"; });
  EXPECT_EQ(options.exit, 5);
  EXPECT_NE(options.err.find("options"), std::string::npos) << options.err;
  const auto toolchain = digestOf("toolchain").text(), other = digestOf("other").text();
  for (const char* tree : {"toolchain", "other"})
    farm.script.toolchains.emplace_back().mutable_toolchain_digest()->set_hash(digestOf(tree).hex());
  EXPECT_EQ(built([](CompileSpec&) {}, {"--toolchain", toolchain}).exit, 0);
  EXPECT_EQ(built([](CompileSpec&) {}, {"--toolchain", other}).exit, 5);
}

TEST_F(KilnBuild, NothingIsSentToAnInstanceThatIsNotThere) {
  succeeds();
  file("model.onnx", testing_support::emptyModel());
  const Digest model = digestOf(testing_support::emptyModel());
  for (const bool byVariable : {false, true}) {
    std::vector<std::string> words{"build", "model.onnx", "--target", "cpu:x86-64-v3"};
    std::map<std::string, std::string> environment{{"KILN_ENDPOINT", farm.endpoint()}};
    if (byVariable)
      environment["KILN_INSTANCE"] = "nope";
    else
      words.insert(words.end(), {"--instance", "nope"});
    const auto refused = testing_support::runKiln(words, environment, directory.path());
    EXPECT_EQ(refused.exit, 6) << refused.err;
    EXPECT_NE(refused.err.find("--instance (KILN_INSTANCE): this farm has no instance \"nope\""),
              std::string::npos)
        << refused.err;
  }
  EXPECT_EQ(store->findMissing("nope", {&model, 1})->size(), 1u);
  EXPECT_TRUE(farm.script.submitted.empty());
  EXPECT_EQ(kiln({"gc", "--instance", "nope"}).exit, 6);
  EXPECT_TRUE(farm.script.collections.empty());
}

TEST_F(KilnBuild, EachInvocationHasItsOwnIdempotencyKey) {
  succeeds();
  file("model.onnx", testing_support::emptyModel());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3"}).exit, 0);
  EXPECT_NE(farm.script.submitted[0].idempotency_key(), farm.script.submitted[1].idempotency_key());
}

TEST_F(KilnBuild, JsonAndDetach) {
  succeeds();
  file("model.onnx", testing_support::emptyModel());
  const auto json = kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", "--json"});
  EXPECT_EQ(parseJson(json.out)->at("artifacts").at(0).at("digest"), hash) << json.out;
  EXPECT_EQ(json.err, "");
  EXPECT_EQ(kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", "--detach"}).lastLine(), "job job-1");
  EXPECT_EQ(parseJson(kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", "--detach", "--json"}).out)
                ->at("job"),
            "job-1");
}

TEST_F(KilnBuild, SaysWhichGrantLetItIn) {
  succeeds();
  file("model.onnx", testing_support::emptyModel());
  const std::vector<std::string> command{"build", "model.onnx", "--target", "cpu:x86-64-v3"};
  EXPECT_EQ(kiln(command).err.find("grant"), std::string::npos) << "none is needed";
  farm.script.grant = "main-of-acme";
  const auto told = kiln(command);
  ASSERT_EQ(told.exit, 0) << told.err;
  EXPECT_NE(told.err.find("let in by the grant main-of-acme\n"), std::string::npos) << told.err;
  EXPECT_EQ(told.out, "artifact " + hash + "\n");
  auto json = command;
  json.push_back("--json");
  EXPECT_EQ(parseJson(kiln(json).out)->at("grant"), "main-of-acme");
  farm.script.grant = "x" + std::string(1000, 'y');
  const std::string hostile = kiln(command).err;
  EXPECT_NE(hostile.find("grant xy"), std::string::npos) << hostile;
  EXPECT_LT(hostile.size(), 900u);
}

TEST_F(KilnBuild, AFailedJobDecidesTheExitCodeAndListsWhatIsUnsupported) {
  auto failed = jobIn(v1::JOB_FAILED, 2);
  failed.mutable_error()->set_code(static_cast<int>(Code::kUnimplemented));
  failed.mutable_error()->set_message("2 nodes are not supported");
  failed.mutable_error()->set_exit_code(4);
  failed.mutable_error()->set_details_json(
      R"({"unsupported":[{"node":"n1","op":"Det"},{"node":"n2","op":"Mystery"}]})");
  farm.script.watch = {jobIn(v1::JOB_QUEUED, 1), failed};
  file("model.onnx", testing_support::emptyModel());
  const auto result = kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(result.exit, 4);
  EXPECT_NE(result.err.find("kiln: error: 2 nodes are not supported"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("node=n2"), std::string::npos);
  EXPECT_NE(result.err.find("op=Mystery"), std::string::npos);
  const auto json = parseJson(kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3", "--json"}).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("error").at("details").at("unsupported").size(), 2u);
}

TEST_F(KilnBuild, ModelsThatNameFilesOutsideTheirFolderAreNotSent) {
  file("model.onnx", testing_support::modelWithExternal("../../etc/passwd"));
  const auto result = kiln({"build", "model.onnx", "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(result.exit, 3) << result.err;
  EXPECT_NE(result.err.find("../../etc/passwd"), std::string::npos);
  EXPECT_TRUE(farm.script.submitted.empty());
  EXPECT_EQ(kiln({"build", "missing.onnx", "--target", "cpu:x86-64-v3"}).exit, 6);
}

// A repository at directory/repo with one commit; returns its id.
std::string commitModel(const std::string& directory) {
  const auto script =
      "cd '" + directory +
      "/repo' && git init -q -b trunk . && git add -A && "
      "git -c user.name=t -c user.email=t@example.org commit -q -m model && git rev-parse HEAD > ../commit";
  EXPECT_EQ(std::system(script.c_str()), 0);
  std::string commit;
  std::ifstream(directory + "/commit") >> commit;
  return commit;
}

TEST_F(KilnBuild, ACommitOfALocalRepositoryIsReadHereAndRecorded) {
  succeeds();
  file("repo/models/model.onnx", testing_support::modelWithExternal("w.bin"));
  file("repo/models/w.bin", "weights");
  const auto commit = commitModel(directory.path());
  std::filesystem::rename(directory / "repo", directory / "my r\u00fcpo");
  const auto url = "file://" + directory.path() + "/my%20r%C3%BCpo";
  for (const char* name : {"my r\u00fcpo", "my%20r%C3%BCpo"}) {
    EXPECT_EQ(
        kiln({"build", "git+file://" + directory.path() + "/" + name + "@" + commit + "#models/model.onnx",
              "--target", "cpu:x86-64-v3"})
            .exit,
        0);
    EXPECT_EQ(farm.script.submitted.back().sources(0).origin().url(), url);
  }
  farm.script.submitted.clear();
  const auto result =
      kiln({"build", "git+" + url + "@" + commit + "#models/model.onnx", "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(result.exit, 0) << result.err;
  ASSERT_EQ(farm.script.submitted.size(), 1u);
  const auto& request = farm.script.submitted[0];
  ASSERT_EQ(request.sources_size(), 2);
  EXPECT_EQ(request.sources(0).path(), "model.onnx");
  EXPECT_EQ(request.sources(0).origin().url(), url);
  EXPECT_EQ(request.sources(0).origin().commit(), commit);
  EXPECT_EQ(request.sources(0).origin().path(), "models/model.onnx");
  EXPECT_EQ(request.sources(1).path(), "w.bin");
  EXPECT_EQ(request.sources(1).origin().path(), "models/w.bin");
  EXPECT_EQ(request.sources(1).blob().hash(), digestOf("weights").hex());
}

TEST_F(KilnBuild, ABranchIsRefusedWithTheCommitItPointsTo) {
  file("repo/model.onnx", testing_support::emptyModel());
  const auto commit = commitModel(directory.path());
  const auto result = kiln(
      {"build", "git+file://" + directory.path() + "/repo@trunk#model.onnx", "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(result.exit, 2) << result.err;
  EXPECT_NE(result.err.find(commit), std::string::npos) << result.err;
  EXPECT_TRUE(farm.script.submitted.empty());
}

TEST_F(KilnBuild, WhatGitLfsKeepsIsReadFromTheRepositoryOrNamed) {
  succeeds();
  const std::string model = testing_support::emptyModel();
  const Digest object = digestOf(model);
  file("repo/model.onnx", "version https://git-lfs.github.com/spec/v1\noid " + object.text() + "\nsize " +
                              std::to_string(object.size) + "\n");
  const auto commit = commitModel(directory.path());
  const std::string source = "git+file://" + directory.path() + "/repo@" + commit + "#model.onnx";
  const auto absent = kiln({"build", source, "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(absent.exit, 6);
  EXPECT_NE(absent.err.find("'model.onnx' (Git LFS object " + object.text()), std::string::npos)
      << absent.err;
  EXPECT_NE(absent.err.find("git lfs fetch"), std::string::npos) << absent.err;
  EXPECT_TRUE(farm.script.submitted.empty());
  const std::string hex = object.hex();
  file("repo/.git/lfs/objects/" + hex.substr(0, 2) + "/" + hex.substr(2, 2) + "/" + hex, model);
  const auto built = kiln({"build", source, "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(built.exit, 0) << built.err;
  EXPECT_EQ(farm.script.submitted.at(0).sources(0).blob().hash(), hex);
  EXPECT_EQ(farm.script.submitted.at(0).sources(0).origin().path(), "model.onnx");
}

TEST_F(KilnBuild, ParametersMayComeFromCommits) {
  succeeds();
  file("model.mlir",
       "func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {\n  return %x : tensor<1xf32>\n}\n");
  file("repo/w/model.safetensors", "tensors");
  const auto commit = commitModel(directory.path());
  const std::string far = "git+https://git.example.org/m.git@" + std::string(40, 'c') + "#w/x.npy";
  const auto result =
      kiln({"build", "model.mlir", "--target", "cpu:x86-64-v3", "--params",
            "git+file://" + directory.path() + "/repo@" + commit + "#w/model.safetensors", "--params", far});
  EXPECT_EQ(result.exit, 0) << result.err;
  const auto& request = farm.script.submitted.at(0);
  ASSERT_EQ(request.sources_size(), 3);
  EXPECT_EQ(request.sources(1).path(), "params/0");
  EXPECT_EQ(request.sources(1).blob().hash(), digestOf("tensors").hex());
  EXPECT_EQ(request.sources(1).origin().commit(), commit);
  EXPECT_EQ(request.sources(2).path(), "params/1/x.npy");
  EXPECT_EQ(request.sources(2).git().path(), "w/x.npy");
  EXPECT_NE(request.spec_json().find(R"("parameters":["params/0","params/1/x.npy"])"), std::string::npos)
      << request.spec_json();
  EXPECT_EQ(kiln({"build", "model.mlir", "--target", "cpu:x86-64-v3", "--params", "git+https://h/r#w"}).exit,
            2);
}

// Whoever made the repository gets an error of the process that reads it.
TEST_F(KilnBuild, HostileRepositoriesEndTheirReaderAndSendNothing) {
  file("repo/model.onnx", testing_support::emptyModel());
  const auto commit = commitModel(directory.path());
  const auto build = [&] {
    return kiln({"build", "git+file://" + directory.path() + "/repo@" + commit + "#model.onnx", "--target",
                 "cpu:x86-64-v3"});
  };
  const std::string object =
      directory / ("repo/.git/objects/" + commit.substr(0, 2) + "/" + commit.substr(2));
  std::filesystem::rename(object, directory / "kept");
  const std::string lie = std::string("commit 0") + '\0' + std::string(100'000, 'A');
  std::string packed(compressBound(lie.size()), '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                     reinterpret_cast<const Bytef*>(lie.data()), lie.size()),
            Z_OK);
  std::ofstream(object, std::ios::binary) << packed.substr(0, size);
  const auto liar = build();
  EXPECT_EQ(liar.exit, 5) << liar.err;
  EXPECT_NE(liar.err.find(commit + ": "), std::string::npos) << liar.err;
  std::filesystem::remove(object);
  ASSERT_EQ(::mkfifo(object.c_str(), 0600), 0);
  const auto fifo = build();
  EXPECT_EQ(fifo.exit, 5) << fifo.err;
  EXPECT_NE(fifo.err.find("is a FIFO"), std::string::npos) << fifo.err;
  std::filesystem::remove(object);
  EXPECT_EQ(build().exit, 6);
  std::filesystem::rename(directory / "kept", object);
  file("repo/.git/objects/info/alternates", "/nonexistent\n");
  EXPECT_EQ(build().exit, 4);
  EXPECT_TRUE(farm.script.submitted.empty());
}

TEST_F(KilnBuild, WhatIsNoModelIsNamedBeforeAnythingIsSent) {
  file("net.onnx", "<!DOCTYPE html><title>Sign in</title>");
  const auto page = kiln({"build", "net.onnx", "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(page.exit, 3);
  EXPECT_NE(page.err.find("net.onnx: no ONNX model but an HTML page"), std::string::npos) << page.err;
  // Weights that were not fetched.
  file("m/model.onnx", testing_support::modelWithExternal("w.bin"));
  file("m/w.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n");
  const auto pointer = kiln({"build", "m/model.onnx", "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(pointer.exit, 3);
  EXPECT_NE(pointer.err.find("w.bin: the model keeps weights there, and it is a Git LFS pointer"),
            std::string::npos)
      << pointer.err;
  // In a commit, by its path there.
  file("repo/nets/model.onnx", "{}");
  const auto commit = commitModel(directory.path());
  const auto json = kiln({"build", "git+file://" + directory.path() + "/repo@" + commit + "#nets/model.onnx",
                          "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(json.exit, 3);
  EXPECT_NE(json.err.find("nets/model.onnx: no ONNX model but a JSON file"), std::string::npos) << json.err;
  EXPECT_TRUE(farm.script.submitted.empty());
}

TEST_F(KilnBuild, AllMissingDimensionsAreNamedBeforeAnythingIsSent) {
  using namespace testing_support;
  file("net.onnx", varintField(1, 8) + field(7, field(11, floatInput("x", {"N", "3", "H"})) +
                                                    field(12, floatInput("x", {"N"}))));
  const auto result = kiln({"build", "net.onnx", "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(result.exit, 4);
  EXPECT_NE(result.err.find("--profile N= --profile H="), std::string::npos) << result.err;
  EXPECT_TRUE(farm.script.submitted.empty());
  // Without a farm, with a command line to take over.
  const auto report = kiln({"inspect", "net.onnx"});
  EXPECT_EQ(report.exit, 0) << report.err;
  EXPECT_EQ(report.lastLine(),
            "build     kiln build net.onnx --target cpu:x86-64-v3 --profile N=1 --profile H=1");
  EXPECT_EQ(parseJson(kiln({"inspect", "net.onnx", "--json"}).out)->at("dimensions").size(), 2u);
  EXPECT_EQ(kiln({"inspect", "missing.onnx"}).exit, 6);
  file("odd.onnx",
       varintField(1, 8) +
           field(7, field(1, field(2, "y") + field(4, "Frobnicate")) + field(12, floatInput("y", {"1"}))) +
           field(8, varintField(2, 17)));
  const auto odd = kiln({"inspect", "odd.onnx"});
  EXPECT_EQ(odd.exit, 4);
  EXPECT_NE(odd.out.find("unserved  Frobnicate y: this operator is not served yet"), std::string::npos)
      << odd.out;
}

// Whatever a model, its data and its dimensions are called.
TEST_F(KilnBuild, WhatInspectPrintsBuildsInAShell) {
  using namespace testing_support;
  farm.script.watch = {jobIn(v1::JOB_QUEUED, 1)};
  file("data/-w.bin", "weights");
  ::setenv("KILN_ENDPOINT", farm.endpoint().c_str(), 1);
  for (const std::string name : {"N", "-N", "a b", "it's", "$(id)", "x:0", "\u202e"}) {
    file("-net\n1.onnx", varintField(1, 8) + field(7, field(5, externalTensor("parts/w=.bin")) +
                                                          field(11, floatInput("x", {name})) +
                                                          field(12, floatInput("w", {"1"}))));
    const auto report = kiln({"inspect", "--data", "parts/w=.bin=data/-w.bin", "--", "-net\n1.onnx"});
    ASSERT_EQ(report.exit, 0) << report.err;
    const std::string begin = "\nbuild     ";
    const std::string line = report.out.substr(report.out.find(begin) + begin.size());
    const std::string script =
        "cd '" + directory.path() + "' && kiln() { '" + KILN_PROGRAM + "' \"$@\" --detach; }\n";
    ASSERT_EQ(std::system((script + line).c_str()), 0) << line;
    const auto& request = farm.script.submitted.back();
    EXPECT_EQ(parseJson(request.spec_json())->at("profiles").at(0).at("dims").at(0).at("dim"), name) << line;
    ASSERT_EQ(request.sources_size(), 2) << line;
    EXPECT_EQ(request.sources(1).path(), "parts/w=.bin");
  }
  EXPECT_EQ(farm.script.submitted.size(), 7u);
  ::unsetenv("KILN_ENDPOINT");
}

TEST_F(KilnBuild, RemoteRepositoriesAreTheFarmsToFetch) {
  succeeds();
  const std::string commit(40, 'c');
  const auto result = kiln({"build", "git+https://git.example.org/models.git@" + commit + "#a/model.onnx",
                            "--target", "cpu:x86-64-v3"});
  EXPECT_EQ(result.exit, 0) << result.err;
  const auto& source = farm.script.submitted.at(0).sources(0);
  EXPECT_EQ(source.git().url(), "https://git.example.org/models.git");
  EXPECT_EQ(source.git().commit(), commit);
  EXPECT_EQ(source.git().path(), "a/model.onnx");
  EXPECT_EQ(
      kiln({"build", "git+https://user:secret@host/x@" + commit + "#m", "--target", "cpu:x86-64-v3"}).exit,
      2);
}

TEST_F(KilnBuild, JobCommands) {
  succeeds();
  EXPECT_NE(kiln({"jobs"}).out.find("job-1"), std::string::npos);
  EXPECT_EQ(parseJson(kiln({"jobs", "--json"}).out)->at("jobs").size(), 1u);
  EXPECT_EQ(parseJson(kiln({"jobs", "job-1", "--json"}).out)->at("id"), "job-1");
  EXPECT_EQ(kiln({"watch", "job-1"}).lastLine(), "artifact " + hash);
  const auto late = kiln({"cancel", "job-1"});
  EXPECT_EQ(late.lastLine(), "job job-1 succeeded");
  EXPECT_NE(late.err.find("job job-1 had ended before: it succeeded, and nothing was cancelled"),
            std::string::npos)
      << late.err;
  farm.script.jobs = {jobIn(v1::JOB_RUNNING, 2)};
  const auto cancelled = kiln({"cancel", "job-1"});
  EXPECT_EQ(cancelled.lastLine(), "job job-1 cancelled");
  EXPECT_EQ(cancelled.err, "");
  EXPECT_EQ(kiln({"cancel", "job-2"}).exit, 6);
}

TEST_F(KilnBuild, WorkersAndToolchains) {
  auto& worker = *farm.script.workers.add_workers();
  worker.mutable_description()->set_name(
      "w\x1b[2J1");  // escape sequences of a hostile worker are not passed on
  worker.mutable_description()->add_targets("cpu:x86-64-v3");
  const auto workers = kiln({"workers"});
  EXPECT_EQ(workers.out.find('\x1b'), std::string::npos);
  EXPECT_NE(workers.out.find("cpu: x86-64-v3"), std::string::npos) << workers.out;
  EXPECT_EQ(parseJson(kiln({"workers", "--json"}).out)->at("workers").size(), 1u);

  file("tree/bin/tool", "tool");
  file("tree/toolchain.json", R"({"label":"kiln-9","name":"kiln","version":"9"})");
  const auto added = kiln({"toolchain", "add", "tree", "--default"});
  EXPECT_EQ(added.exit, 0) << added.err;
  EXPECT_EQ(added.lastLine().rfind("toolchain kiln-9 sha256:", 0), 0u) << added.out;
  EXPECT_TRUE(added.out.starts_with("added: ")) << "it says what was done: " << added.out;
  EXPECT_NE(kiln({"toolchain", "list"}).out.find("kiln-9"), std::string::npos);
  EXPECT_EQ(kiln({"toolchain", "show", "kiln-9"}).exit, 0);
  EXPECT_EQ(kiln({"toolchain", "show", "kiln-8"}).exit, 6);
  EXPECT_EQ(kiln({"toolchain", "add", "nowhere"}).exit, 6);
  EXPECT_EQ(kiln({"toolchain", "add", "."}).exit, 2) << "no tree";
}

}  // namespace
}  // namespace kiln
