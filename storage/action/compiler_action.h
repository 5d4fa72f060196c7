// The REAPI Action of a compile or reference run: a pure function of the CompileSpec, so that equal specs
// have equal action digests for every coordinator and every rebuilder. Nothing of a DeliverySpec, a job or a
// URL enters.
//
// Input root: toolchain/ (the spec's toolchain tree) and input/ (spec.json, the model's files and, where the
// spec names one, tuning.json). Command: toolchain/bin/kiln-cc <verb> --model input/<model> --spec
// input/spec.json --out output, with --tuning input/tuning.json for a compile with tuning.
#pragma once

#include <vector>

#include "manifest/spec/compile_spec.h"
#include "storage/blob/upload.h"

namespace kiln::storage {

// kEmulate compiles as kCompile does, into output/artifact, and leaves in output/emulation the code that an
// emulated device runs, each file named after the digest of the device image it stands for.
// kPlan lists the program's kernels (manifest/tuning/kernel_plan.h).
// kIr compiles into output/artifact as well, and leaves the IR behind each stage in output/ir.
enum class CompilerVerb { kReference, kCompile, kEmulate, kPlan, kIr };

struct BuiltAction {
  // Adds a blob; its digest.
  Digest keep(std::string bytes);

  Digest action;
  std::vector<UploadItem> blobs;  // Action, Command, spec.json and Directories: in the CAS before it runs
};

// kInvalidArgument if the spec's file paths are unsafe or clash.
Result<BuiltAction> buildAction(CompilerVerb verb, const CompileSpec& spec);
// The same with another tree, which `toolchain` is the root of, in the place of the spec's toolchain;
// spec.json still names the spec's.
Result<BuiltAction> buildActionWith(const Digest& toolchain, CompilerVerb verb, const CompileSpec& spec);

// The action that measures schedules for the kernels of a plan, for at most `budgetSeconds`. Not
// reproducible: it measures a machine. Input root: toolchain/ and input/ (spec.json and the plan's files in
// plan/). Command: toolchain/bin/kiln-cc tune --plan input/plan --spec input/spec.json --out
// output/record.json --budget <N>s. Which device, the worker adds. `plan`: what the action of kPlan left.
Result<BuiltAction> buildTuneAction(const CompileSpec& spec, const std::vector<ModelFile>& plan,
                                    std::uint32_t budgetSeconds);

// The spec that fixtures are made from: `spec` with everything taken out that does not change inputs or
// expected outputs (the target, fallback, tuning, budgets), so that all targets of a model share one
// reference action.
CompileSpec referenceSpec(const CompileSpec& spec);

}  // namespace kiln::storage
