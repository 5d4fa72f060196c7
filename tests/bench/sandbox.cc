// What isolation costs an action: one program started bare and in the sandbox, and a toolchain tree written
// for the first time and bound again.
#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "storage/blob/local_blob_store.h"
#include "storage/tree/upload_tree.h"
#include "worker/executor/tree_cache.h"
#include "worker/sandbox/outputs.h"
#include "worker/sandbox/sandbox.h"

namespace kiln {
namespace {

constexpr char kInstance[] = "bench";
constexpr std::uint64_t kCacheBytes = 8ull << 30;

class Folder {
 public:
  Folder() {
    std::string pattern = "/tmp/kiln-bench-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { (void)sandbox::removeTree(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A program that ends at once, as an action's tool is: static.
void bare(benchmark::State& state) {
  std::string program = KILN_BENCH_PROGRAM, verb = "exit", code = "0";
  char* argv[] = {program.data(), verb.data(), code.data(), nullptr};
  for (auto _ : state) {
    pid_t pid = 0;
    int status = 0;
    if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0)
      state.SkipWithError("the program does not run");
  }
}
BENCHMARK(bare)->Unit(benchmark::kMillisecond)->UseRealTime();

void sandboxed(benchmark::State& state) {
  const Folder folder;
  mkdir((folder / "tools").c_str(), 0755);
  std::ifstream from(KILN_BENCH_PROGRAM, std::ios::binary);
  std::ofstream(folder / "tools/program", std::ios::binary) << from.rdbuf();
  chmod((folder / "tools/program").c_str(), 0755);
  const auto box = sandbox::Sandbox::make(sandbox::compilePolicy(), sandbox::Host::detect());
  if (!box) return state.SkipWithError(box.error().message.c_str());
  sandbox::Command command;
  command.arguments = {"/tools/program", "exit", "0"};
  command.binds = {{folder / "tools", "/tools"}};
  for (auto _ : state) {
    const auto ran = box->run(command, {});
    if (!ran || ran->exitCode != 0) return state.SkipWithError("the sandbox does not run it");
  }
}
BENCHMARK(sandboxed)->Unit(benchmark::kMillisecond)->UseRealTime();

// The tree that infra/toolchain/build made, from a store whose blobs were verified lately or not.
struct Toolchain {
  Folder folder;
  std::unique_ptr<storage::LocalBlobStore> store;
  Digest tree;

  static std::unique_ptr<Toolchain> make(benchmark::State& state) {
    auto out = std::make_unique<Toolchain>();
    mkdir((out->folder / "store").c_str(), 0755);
    auto store = storage::LocalBlobStore::open({.directory = out->folder / "store"});
    if (!store) return state.SkipWithError(store.error().message.c_str()), nullptr;
    out->store = std::move(*store);
    auto tree = storage::uploadTree(*out->store, kInstance, KILN_BENCH_TREE);
    if (!tree) return state.SkipWithError("no tree; run infra/toolchain/build"), nullptr;
    out->tree = *tree;
    return out;
  }
};

void toolchainCold(benchmark::State& state) {
  const auto toolchain = Toolchain::make(state);
  if (!toolchain) return;
  std::int64_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const Folder trees;
    executor::TreeCache cache(trees.path(), kCacheBytes);
    state.ResumeTiming();
    const auto tree = cache.get(*toolchain->store, kInstance, toolchain->tree);
    if (!tree) return state.SkipWithError(tree.error().message.c_str());
    bytes += static_cast<std::int64_t>((*tree)->bytes);
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(toolchainCold)->Unit(benchmark::kMillisecond)->UseRealTime();

void toolchainWarm(benchmark::State& state) {
  const auto toolchain = Toolchain::make(state);
  if (!toolchain) return;
  const Folder trees;
  executor::TreeCache cache(trees.path(), kCacheBytes);
  const auto held = cache.get(*toolchain->store, kInstance, toolchain->tree);
  for (auto _ : state) {
    if (!cache.get(*toolchain->store, kInstance, toolchain->tree))
      return state.SkipWithError("the tree is not there");
  }
}
BENCHMARK(toolchainWarm)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace kiln

BENCHMARK_MAIN();
