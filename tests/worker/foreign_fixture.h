// Foreign actions with a shell: a root tree of this host's /bin/sh, some tools, their libraries and the
// program that misbehaves.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/tree/tree_builder.h"
#include "tests/support/memory_blob_store.h"
#include "tests/worker/sandbox_fixture.h"
#include "worker/executor/executor.h"

namespace kiln::executor {

// What a command of this host prints.
inline std::string printed(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (std::size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, got);
  pclose(pipe);
  return text;
}

struct ShellTree {
  Digest root;
  std::vector<storage::UploadItem> items;
};

// Read once: it is the same for every test.
inline const ShellTree& shellTree() {
  static const ShellTree made = [] {
    ShellTree tree;
    storage::TreeBuilder builder;
    std::set<std::string> libraries;
    const auto add = [&](const std::string& at, const std::string& path) {
      const Digest digest = *digestOfFile(path);
      tree.items.push_back({digest, std::filesystem::canonical(path), ""});
      EXPECT_TRUE(builder.addFile(at, digest, true));
    };
    for (const char* name : {"sh", "cat", "chmod", "cp", "dd", "env", "ln", "ls", "mkdir", "mkfifo", "mv",
                             "rm", "rmdir", "sleep", "touch", "wc"}) {
      const std::string path = std::string("/bin/") + name;
      const std::string program = access(path.c_str(), X_OK) == 0 ? path : "/usr" + path;
      add("usr/bin/" + std::string(name), program);
      std::istringstream words(printed("ldd " + program));
      for (std::string word; words >> word;)
        if (word.starts_with("/")) libraries.insert(word);
    }
    add("usr/bin/hostile", sandbox::hostilePath());
    for (const std::string& library : libraries) {
      const std::string name = library.substr(library.rfind('/') + 1);
      add((name.starts_with("ld-linux") ? "lib64/" : "lib/x86_64-linux-gnu/") + name, library);
    }
    EXPECT_TRUE(builder.addSymlink("bin", "usr/bin"));
    for (const char* empty : {"dev", "proc", "tmp", "etc"}) EXPECT_TRUE(builder.addDirectory(empty));
    storage::BuiltTree built = builder.build();
    tree.root = built.root;
    for (storage::UploadItem& item : built.directories) tree.items.push_back(std::move(item));
    return tree;
  }();
  return made;
}

class ForeignTest : public testing::Test {
 protected:
  static constexpr const char* kInstance = "default";

  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-foreign-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    ASSERT_TRUE(storage::uploadMissing(store_, kInstance, shellTree().items));
    put("");  // in every store, but for this one
    auto uids = sandbox::UidRange::claim();
    ASSERT_TRUE(uids) << uids.error().message;
    uids_.emplace(std::move(*uids));
    host_.uidBase = uids_->base();
    open();
    auto* path = command_.add_environment_variables();
    path->set_name("PATH");
    path->set_value("/usr/bin");
    auto* root = command_.mutable_platform()->add_properties();
    root->set_name("kiln-root");
    root->set_value(shellTree().root.text() + "/" + std::to_string(shellTree().root.size));
  }
  void TearDown() override {
    executor_.reset();
    EXPECT_TRUE(sandbox::removeTree(dir_));
  }
  // A new executor under policy_.
  void open() {
    executor_.reset();
    auto sandbox = sandbox::Sandbox::make(policy_, host_);
    ASSERT_TRUE(sandbox) << sandbox.error().message;
    sandbox_.emplace(std::move(*sandbox));
    auto executor = Executor::make(store_, *sandbox_, dir_ + "/state");
    ASSERT_TRUE(executor) << executor.error().message;
    executor_ = std::move(*executor);
  }

  Digest put(const std::string& bytes) { return *storage::putBlob(store_, kInstance, asBytes(bytes)); }
  std::string get(const reapi::Digest& digest) {
    auto bytes = storage::getBlob(store_, kInstance, *fromProto(digest), 64 << 20);
    return bytes ? *bytes : "error: " + bytes.error().message;
  }
  void addInput(const std::string& path, const std::string& text, bool executable = false) {
    ASSERT_TRUE(inputs_.addFile(path, put(text), executable));
  }

  Result<reapi::ActionResult> runArguments(const std::vector<std::string>& arguments) {
    const storage::BuiltTree tree = inputs_.build();
    for (const storage::UploadItem& item : tree.directories) put(item.bytes);
    reapi::Command command = command_;
    for (const std::string& argument : arguments) command.add_arguments(argument);
    reapi::Action action = action_;
    *action.mutable_command_digest() = toProto(put(command.SerializeAsString()));
    *action.mutable_input_root_digest() = toProto(tree.root);
    ActionRequest request;
    request.instance = kInstance;
    request.action = put(action.SerializeAsString());
    request.profile = Profile::kForeign;
    request.worker = "w1";
    request.timeLimit = std::chrono::seconds(120);
    return executor_->run(request);
  }
  Result<reapi::ActionResult> run(const std::string& script) {
    return runArguments({"/bin/sh", "-c", script});
  }
  // stdout and stderr of a script, or the error.
  std::string said(const std::string& script) {
    const auto result = run(script);
    if (!result) return std::string(codeName(result.error().code)) + ": " + result.error().message;
    return result->stdout_raw() + result->stderr_raw();
  }
  std::string errorOf(const std::string& script) {
    const auto result = run(script);
    return result ? "no error" : std::string(codeName(result.error().code)) + ": " + result.error().message;
  }

  std::string dir_;
  std::optional<sandbox::UidRange> uids_;
  sandbox::Host host_ = sandbox::Host::detect();
  sandbox::Policy policy_ = sandbox::executePolicy();
  testing_support::MemoryBlobStore store_;
  std::optional<sandbox::Sandbox> sandbox_;
  std::unique_ptr<Executor> executor_;
  storage::TreeBuilder inputs_;
  reapi::Command command_;
  reapi::Action action_;
};

}  // namespace kiln::executor
