#include <map>

#include "compiler_core/tuner/bench.h"
#include "compiler_core/tuner/serve.h"

namespace kiln::tuner {
namespace {

class Processors final : public Engine {
 public:
  Processors(std::unique_ptr<Bench> bench, KernelInputs inputs, std::vector<KernelTensor> outputs)
      : bench_(std::move(bench)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  Result<std::vector<void*>> load(std::uint64_t id, const KernelProgram& program) override {
    KILN_ASSIGN(KernelRun run, KernelRun::load(program, outputs_, bench_->threads()));
    KILN_TRY(run.run(*bench_, inputs_, 0));
    runs_.erase(id);
    return runs_.emplace(id, std::move(run)).first->second.outputs();
  }

  Result<std::uint64_t> sample(std::uint64_t id) override {
    const auto found = runs_.find(id);
    if (found == runs_.end()) return fail(Code::kNotFound, "no such program is loaded");
    return found->second.sample(*bench_, inputs_);
  }

  std::uint64_t runsPerSample(std::uint64_t id) const override { return runs_.at(id).runsPerSample(); }
  void unload(std::uint64_t id) override { runs_.erase(id); }

 private:
  const std::unique_ptr<Bench> bench_;
  KernelInputs inputs_;
  const std::vector<KernelTensor> outputs_;
  std::map<std::uint64_t, KernelRun> runs_;
};

}  // namespace

Result<std::unique_ptr<Engine>> openProcessors(const MeasureSetup& setup) {
  KILN_ASSIGN(auto bench, Bench::open(setup.processors));
  KILN_ASSIGN(KernelInputs inputs, KernelInputs::make(setup.tensors, setup.seed, setup.weightBytes));
  return std::make_unique<Processors>(std::move(bench), std::move(inputs), setup.tensors.outputs);
}

}  // namespace kiln::tuner
