// The graphs that all profiles of a compile are made from. Private to this folder.
#pragma once

#include <vector>

#include "compiler_core/driver/compiler.h"
#include "compiler_core/frontend/graph/model.h"

namespace kiln::driver {

struct ImportedProfiles {
  // Signatures, symbols and weights are those of all profiles; where each has a module of its own, the module
  // and the evidence are the first one's.
  frontend::Captured common;
  // One per profile in the spec's order, or none: then all are made from the common one.
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> own;

  mlir::ModuleOp moduleOf(std::size_t profile) { return own.empty() ? *common.module : *own[profile]; }
};

// One module whose dimensions range over all profiles. Where that leaves open what each profile by itself
// settles, such as the sizes of a feature pyramid for a few sizes of images, each profile is captured for
// itself; but with outOfProfile "pad", which needs the ranges. Errors as compile() has them; those of one
// profile say which.
Result<ImportedProfiles> importProfiles(mlir::MLIRContext& context, const frontend::Model& model,
                                        const CompileRequest& request);

// An error about a node (kInvalidArgument) may be the model's fault or that of the sizes and pins asked for:
// adds them where others make a difference. A pin's fault is kUnimplemented.
Error withSizes(mlir::MLIRContext& context, const frontend::Model& model, const CompileRequest& request,
                const std::vector<analysis::Profile>& profiles, Error error);

// What a pass complains of (kInternal) in the module of `profile` may be a node that no size of it fits,
// which shows only once the sizes are numbers: then that refusal, otherwise `error`.
Error blamedOnSizes(mlir::MLIRContext& context, const frontend::Model& model, const CompileRequest& request,
                    const analysis::Profile& profile, Error error);

}  // namespace kiln::driver
