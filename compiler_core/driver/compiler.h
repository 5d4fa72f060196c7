// The compiler as a library: model in, program and weights out. Pure: the result depends on the request
// alone. No MLIR and no JSON in this header.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/driver/evidence.h"
#include "compiler_core/driver/observer.h"
#include "compiler_core/ir/evidence.h"
#include "compiler_core/package/weights.h"
#include "compiler_core/partition/partition.h"
#include "compiler_core/reference/host_tensor.h"
#include "compiler_core/schedule/choice/schedule_override.h"
#include "manifest/base/result.h"
#include "manifest/spec/composite.h"
#include "manifest/spec/pin.h"
#include "manifest/spec/target.h"

namespace kiln::driver {

// For debugging. Every value between two operations becomes an output of the program too (behind the model's
// own), and the reference evaluator says what it should be. Asks for a request of one profile.
struct ProbeRequest {
  // Behind capture no operation is fused with another. Behind rewrite fusion is as without probes: what is
  // seen is what kernels hand to each other.
  enum class Point { kCaptured, kRewritten } point = Point::kRewritten;
  std::vector<reference::HostTensor> inputs;  // in the model's order
  std::map<std::string, std::int64_t> dims;   // the value of each symbol in them
};

// A value that was made an output, or was one.
struct Probe {
  std::vector<std::string> nodes;  // the source nodes of the operation
  std::string operation;           // "kiln.matmul", "kiln.binary add", joined by " + " in a group
  std::size_t output = 0;          // of the program
  reference::HostTensor expected;
};

// All that a program depends on.
struct CompileRequest {
  std::string model;  // a file of any format that frontends.h knows; external data lie beside it
  std::vector<std::string> parameters;  // files of tensors that take the place of inputs
  Target target;
  std::vector<analysis::Profile> profiles = {{}};  // at least one; the program serves them in this order
  Pins pins;                                       // inputs with a fixed value
  Composites sequences;                            // what inputs of sequence or optional type hold
  bool pad = false;         // smaller inputs are padded: every symbolic dimension must allow that
  bool contraction = true;  // Numerics::contraction is "on"
  // Numerics::reassociation; of processors alone.
  schedule::Reassociation reassociation = schedule::Reassociation::kOff;
  bool tf32 = false;       // Numerics::precision is "tf32"; processors have no such products
  bool quantised = false;  // Numerics::precision is "int8"
  // Options of the partition stage; several targets stand in target.name, "a,b".
  bool fallback = false;
  PartitionRules partition;
  // Schedules instead of the defaults. One that was given is an error where the program does not have its
  // kernel or it does not fit that; one of the toolchain's catalogue is left out there.
  schedule::ScheduleOverrides schedules;
  // The function that a program without an operating system shows (codegen/cpu/bare_metal.h); of others
  // nothing.
  std::string entry;
  std::string toolchainLib;  // folder of kmath.bc, kkernels.bc and libkiln_builtins-<arch>.a
  std::string
      out;  // existing folder: the program, kernels/ and weights/ go there; empty: a dry run up to the plan
  std::vector<std::string>
      disabledPasses;  // of the rewrite stage, and optional ones of the lowering; noted in evidence
  std::optional<ProbeRequest> probe;
};

struct CompileResult {
  std::string form;                     // what the model was taken for: "ONNX", "StableHLO text"
  std::vector<SymbolEvidence> symbols;  // in the order of kiln_run's
  std::vector<ir::Signature> inputs, outputs;
  std::vector<std::string> strings;      // the texts that elements of tensors with `isText` stand for
  std::vector<std::string> indexChecks;  // nodes whose indices the program counts, behind its outputs
  std::string programPath;               // "program.so"; "program.o" for a target without an operating system
  Digest program;
  std::vector<DeviceEvidence> devices;  // images of the kernels that it launches, in order of their spaces
  std::vector<package::WeightFile> weights;
  ir::CaptureEvidence capture;
  ir::AnalyseEvidence analyse;
  ir::RewriteEvidence rewrite;
  partition::PartitionEvidence partition;
  ScheduleEvidence schedule;
  CodegenEvidence codegen;
  std::vector<PlanEvidence> plans;  // one per profile, in the spec's order
  std::vector<Probe> probes;        // in the graph's order
};

// kInvalidArgument: the model is wrong. kUnimplemented: an operator, type or shape that is not served;
// `details` lists every node. kFailedPrecondition: a given schedule does not fit the program; kUnimplemented
// where the numerics do not allow it. kInternal: a fault of the compiler. Thread safe on distinct `out`
// folders.
Result<CompileResult> compile(const CompileRequest& request, const CompileObserver& observer = {});

}  // namespace kiln::driver
