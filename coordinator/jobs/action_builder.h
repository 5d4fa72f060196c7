// The REAPI Action of a compile or reference run: a pure function of the CompileSpec, so that equal specs
// have equal action digests on every coordinator. Nothing of a DeliverySpec, a job or a URL enters.
//
// Input root: toolchain/ (the spec's toolchain tree) and input/ (spec.json and the model's files). Command:
// toolchain/bin/kiln-cc <verb> --model input/<model> --spec input/spec.json --out output.
#pragma once

#include <vector>

#include "manifest/spec/compile_spec.h"
#include "storage/blob/upload.h"
#include "storage/index/records.h"

namespace kiln::jobs {

struct BuiltAction {
  // Adds a blob; its digest.
  Digest keep(std::string bytes);

  Digest action;
  std::vector<storage::UploadItem>
      blobs;  // Action, Command, spec.json and Directories: in the CAS before it runs
};

// kInvalidArgument if the spec's file paths are unsafe or clash. `kind` is kReference or kCompile.
Result<BuiltAction> buildAction(index::ActionKind kind, const CompileSpec& spec);

// The spec that fixtures are made from: `spec` with everything taken out that does not change inputs or
// expected outputs (the target, fallback, budgets), so that all targets of a model share one reference
// action.
CompileSpec referenceSpec(const CompileSpec& spec);

// A fetch has no REAPI action; its identity is the digest of {"commit","path","url"} in canonical JSON.
Digest fetchAction(const index::GitSource& source);

}  // namespace kiln::jobs
