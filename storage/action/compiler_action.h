// The REAPI Action of a compile or reference run: a pure function of the CompileSpec, so that equal specs
// have equal action digests for every coordinator and every rebuilder. Nothing of a DeliverySpec, a job or a
// URL enters.
//
// Input root: toolchain/ (the spec's toolchain tree) and input/ (spec.json and the model's files). Command:
// toolchain/bin/kiln-cc <verb> --model input/<model> --spec input/spec.json --out output.
#pragma once

#include <vector>

#include "manifest/spec/compile_spec.h"
#include "storage/blob/upload.h"

namespace kiln::storage {

// kEmulate compiles as kCompile does, into output/artifact, and leaves in output/emulation the code that an
// emulated device runs, each file named after the digest of the device image it stands for.
enum class CompilerVerb { kReference, kCompile, kEmulate };

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

// The spec that fixtures are made from: `spec` with everything taken out that does not change inputs or
// expected outputs (the target, fallback, budgets), so that all targets of a model share one reference
// action.
CompileSpec referenceSpec(const CompileSpec& spec);

}  // namespace kiln::storage
