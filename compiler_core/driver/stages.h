// The stages of a compile, in the order of work: each takes what the one before has made, and its result is a
// value of its own. Private to this folder.
//
// A model is captured and analysed once, for all profiles. From then on each profile is a graph of its own,
// which is rewritten and partitioned. What one target runs of a profile is a unit: all of it, or one
// partition. Each unit is scheduled, planned and lowered before the next one is begun, since units share
// weights and kernels with those before them. Then units are joined to profiles, profiles to one program, and
// machine code is made of it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/driver/compilation.h"
#include "compiler_core/driver/device_program.h"
#include "compiler_core/driver/import_profiles.h"
#include "compiler_core/frontend/graph/model.h"

namespace kiln::driver {

// Capture: the model's files are read, and the request's rules fit them.
struct Captured {
  frontend::LoadedModel model;
};
Result<Captured> captureModel(const Compilation& compilation);

// Analyse: graphs with their shapes, and what the artifact says about the model.
struct Analysed {
  ImportedProfiles profiles;
  std::vector<SymbolEvidence> symbols;   // as CompileResult has them
  std::vector<std::string> indexChecks;  // likewise
  std::vector<Probe> probes;             // likewise; those behind rewrite come later

  frontend::Captured& common() { return profiles.common; }
  const frontend::Captured& common() const { return profiles.common; }
};
Result<Analysed> analyseModel(Compilation& compilation, const Captured& captured);

// What the artifact says about one profile.
struct ProfileEvidence {
  ir::RewriteEvidence rewrite;
  partition::PartitionEvidence partition;
  PlanEvidence plan;
};

// Rewrite: the graph of one profile, for its sizes.
struct Rewritten {
  unsigned profile = 0;  // its number in the spec
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ProfileEvidence evidence;
};
// Appends new constants to the weights of `analysed`. Where the request wants probes behind rewrite, these
// and their outputs are added to it, too.
Result<Rewritten> rewriteProfile(Compilation& compilation, Analysed& analysed, std::size_t profile);

// What one target runs of a profile, as @main of a module of its own.
struct Unit {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  codegen::Unit number;
  const Target* target = nullptr;  // one of the compilation's
  Status written = {};             // the first failure to write its IR

  bool isOnDevice() const { return !target->device.empty(); }
  // The first of its profile.
  bool isFirst() const { return number.partition.value_or(0) == 0; }
};

// Partition: the profile as units, one for each run of operations on one target.
struct Partitioned {
  std::vector<Unit> units;  // in the order of execution
  // @main of the profile, which calls a declaration for each unit and transfers values between them. Null
  // where the only unit is all of the profile.
  mlir::OwningOpRef<mlir::ModuleOp> calls;
  ProfileEvidence evidence;
};
Result<Partitioned> partitionProfile(Compilation& compilation, const Analysed& analysed, Rewritten rewritten);

// What units share, whatever their profile. Each adds to it.
struct ProgramParts {
  explicit ProgramParts(Compilation& compilation);

  std::optional<DeviceProgram> device;            // where one of the targets has one
  std::vector<package::WeightUse> weights;        // in the order of the program's pointers
  std::set<std::string, std::less<>> signatures;  // of the kernels so far
  ScheduleEvidence schedule;
};

// Schedule: vector code on buffers; for a device, code of its threads.
struct Scheduled {
  Unit unit;
};
// kFailedPrecondition or kUnimplemented: a given schedule does not fit. kInternal: a pass failed,
// as in the two stages after it.
Result<Scheduled> scheduleUnit(Compilation& compilation, Unit unit, const ir::WeightTable& weights,
                               ProgramParts& parts);

// Plan: every buffer has its place in the arena.
struct Planned {
  Unit unit;
  MemoryPlan memory;
};
Result<Planned> planUnit(Compilation& compilation, Scheduled scheduled, ProgramParts& parts);

// Codegen, of a unit: functions of the LLVM dialect; kernels of a device have gone to its program.
struct Lowered {
  Unit unit;
  MemoryPlan memory;
};
Result<Lowered> lowerUnit(Compilation& compilation, Planned planned, ProgramParts& parts);

// All units of a profile: one run function.
struct LoweredProfile {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ProfileEvidence evidence;
};
// `units`: those of `partitioned`, in its order.
Result<LoweredProfile> joinUnits(Compilation& compilation, Partitioned partitioned,
                                 std::vector<Lowered> units);

// All profiles, as one module in the LLVM dialect. A dry run ends here.
struct Joined {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ir::RewriteEvidence rewrite;             // of the first profile, which speaks for all
  partition::PartitionEvidence partition;  // likewise
  std::vector<PlanEvidence> plans;         // one per profile
  bool usesDevice = false;                 // then every plan has an arena there
};
// kFailedPrecondition: a schedule is given for a kernel that no unit has.
Result<Joined> joinProfiles(const Compilation& compilation, const Analysed& analysed,
                            std::vector<LoweredProfile> profiles, const ProgramParts& parts);

// Codegen, of all: machine code in files below the request's `out`.
struct Program {
  std::string path;  // relative to the artifact: "program.so", "program.o"
  Digest file;
  std::vector<DeviceEvidence> devices;  // the images of their kernels
  CodegenEvidence evidence;
};
// Fills in the code sizes of kernels in the schedule's evidence. Errors as codegen::generateCpuProgram and
// DeviceProgram::generate.
Result<Program> generateProgram(Compilation& compilation, const Analysed& analysed, const Joined& joined,
                                ProgramParts& parts);

// Package: the weights as files beside it.
struct Package {
  std::vector<package::WeightFile> weights;
};
Result<Package> packageWeights(const Compilation& compilation, const Analysed& analysed,
                               const ProgramParts& parts);

}  // namespace kiln::driver
