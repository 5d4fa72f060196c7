// Runs an artifact's reproducible actions again from an export alone: the compile of its spec, and the
// reference evaluation that made its fixtures. What came out is for the caller to compare; nothing is
// concluded here.
#pragma once

#include <string>
#include <vector>

#include "manifest/json/json.h"
#include "manifest/spec/compile_spec.h"

namespace kiln::rebuilder {

struct RebuildRequest {
  std::string layout;  // an export with inputs (storage/oci/oci_export.h)
  CompileSpec spec;    // of the artifact's verified Manifest; the Actions are made from it, not read
  std::string state;   // a directory that this run makes and removes
  std::string out;     // an existing directory: compile/... and reference/... are written into it
};

struct RebuiltAction {
  Digest action;  // as the spec defines it, whatever was absent
  int exitCode = 0;
  std::string log;                 // the end of stderr, at most 16 KiB
  std::vector<ModelFile> outputs;  // sorted by path, relative to the action's output directory
};

struct Rebuilt {
  Digest sandboxPolicy;
  std::string sandboxPolicyText;  // its canonical JSON
  std::vector<ModelFile> absent;  // files of the toolchain that the export left out
  RebuiltAction compile, reference;

  // {"absent":[{path,digest,size}],"compile":{...},"reference":{...},"sandboxPolicy":{...}}; an action is
  // {"action":{digest,size},"exitCode","log","outputs":[{path,digest,size}]}.
  Json toJson() const;
};

// kFailedPrecondition without a working sandbox; kNotFound naming a blob that the export lacks; others as
// Executor::run. A tool's own failure is in `exitCode`, and the actions after it are not run.
Result<Rebuilt> rebuild(const RebuildRequest& request);

}  // namespace kiln::rebuilder
