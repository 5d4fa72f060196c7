// What dispatch costs: parallel_for with empty tasks, and the floating-point scope around each task.
#include <benchmark/benchmark.h>

#include "compiler_core/runtime/parallel/fp_state.h"
#include "compiler_core/runtime/parallel/thread_pool.h"

namespace kiln::runtime {
namespace {

// Arguments: threads, tasks. Time per loop; items are tasks.
void parallelFor(benchmark::State& state) {
  const auto pool = *ThreadPool::start(static_cast<unsigned>(state.range(0)));
  const auto tasks = state.range(1);
  for (auto _ : state) {
    pool->run([](void*, std::int64_t task, void*) { benchmark::DoNotOptimize(task); }, nullptr, tasks, {});
  }
  state.SetItemsProcessed(state.iterations() * tasks);
}
BENCHMARK(parallelFor)
    ->ArgsProduct({{1, 2, 4}, {1, 2, 16, 1024}})
    ->ArgNames({"threads", "tasks"})
    ->UseRealTime();

// Setting and restoring the floating-point state, paid once per task.
void floatingPointScope(benchmark::State& state) {
  for (auto _ : state) {
    const FpScope scope;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(floatingPointScope);

}  // namespace
}  // namespace kiln::runtime

BENCHMARK_MAIN();
