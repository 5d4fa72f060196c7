#include "compiler_core/driver/compiler.h"

#include "compiler_core/driver/stages.h"

namespace kiln::driver {
namespace {

// One profile, from its graph to the LLVM dialect.
Result<LoweredProfile> lowerProfile(Compilation& compilation, Analysed& analysed, std::size_t profile,
                                    ProgramParts& parts) {
  KILN_ASSIGN(Rewritten rewritten, rewriteProfile(compilation, analysed, profile));
  KILN_ASSIGN(Partitioned partitioned, partitionProfile(compilation, analysed, std::move(rewritten)));
  std::vector<Lowered> units;
  for (Unit& unit : partitioned.units) {
    KILN_ASSIGN(Scheduled scheduled,
                scheduleUnit(compilation, std::move(unit), analysed.common().weights, parts));
    KILN_ASSIGN(Planned planned, planUnit(compilation, std::move(scheduled), parts));
    KILN_ASSIGN(Lowered lowered, lowerUnit(compilation, std::move(planned), parts));
    units.push_back(std::move(lowered));
  }
  return joinUnits(compilation, std::move(partitioned), std::move(units));
}

// What is known without machine code; all of a dry run.
CompileResult resultOf(Analysed analysed, Joined joined) {
  frontend::Captured& common = analysed.common();
  CompileResult result;
  result.symbols = std::move(analysed.symbols);
  result.inputs = std::move(common.inputs);
  result.outputs = std::move(common.outputs);
  result.strings = std::move(common.strings);
  result.indexChecks = std::move(analysed.indexChecks);
  result.probes = std::move(analysed.probes);
  result.capture = std::move(common.capture);
  result.analyse = std::move(common.analyse);
  result.rewrite = std::move(joined.rewrite);
  result.partition = std::move(joined.partition);
  result.plans = std::move(joined.plans);
  return result;
}

}  // namespace

Result<CompileResult> compile(const CompileRequest& request, const CompileObserver& observer) {
  KILN_ASSIGN(Targets targets, targetsOf(request));
  Compilation compilation(request, observer, std::move(targets));
  ProgramParts parts(compilation);
  KILN_ASSIGN(const Captured captured, captureModel(compilation));
  KILN_ASSIGN(Analysed analysed, analyseModel(compilation, captured));
  std::vector<LoweredProfile> profiles;
  for (std::size_t i = 0; i < request.profiles.size(); ++i) {
    auto profile = lowerProfile(compilation, analysed, i, parts);
    if (!profile)
      return fail(
          blamedOnSizes(compilation.context, *captured.model, request, request.profiles[i], profile.error()));
    profiles.push_back(std::move(*profile));
  }
  KILN_ASSIGN(Joined joined, joinProfiles(compilation, analysed, std::move(profiles), parts));
  Program program;
  Package written;
  if (!request.out.empty()) {
    KILN_ASSIGN(program, generateProgram(compilation, analysed, joined, parts));
    KILN_ASSIGN(written, packageWeights(compilation, analysed, parts));
  }
  CompileResult result = resultOf(std::move(analysed), std::move(joined));
  result.form = captured.model->form();
  result.schedule = std::move(parts.schedule);
  result.programPath = std::move(program.path);
  result.program = program.file;
  result.devices = std::move(program.devices);
  result.codegen = std::move(program.evidence);
  result.weights = std::move(written.weights);
  return result;
}

}  // namespace kiln::driver
