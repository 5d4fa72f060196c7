#include "compiler_core/schedule/strategies/winograd/strategy.h"

#include "compiler_core/schedule/strategies/channel_lanes/knobs.h"
#include "compiler_core/schedule/strategies/contract/processor_form.h"
#include "compiler_core/schedule/strategies/im2col/knobs.h"
#include "compiler_core/schedule/strategies/winograd/choice.h"
#include "compiler_core/schedule/strategies/winograd/knobs.h"
#include "compiler_core/schedule/strategies/winograd/legality.h"
#include "compiler_core/schedule/strategies/winograd/price.h"
#include "compiler_core/schedule/strategies/winograd/roles.h"
#include "compiler_core/schedule/strategies/winograd/winograd.h"

namespace kiln::schedule {
namespace {

void inspect(mlir::linalg::LinalgOp product, const VectorShape& registers, KernelShape& shape) {
  if (shape.kind == KernelKind::kConvolution)
    shape.notes[kWinogradKnob] = mayTakeWinograd(product, registers);
}

constexpr std::int64_t kTried[] = {0, 2, 4};

constexpr KnobRule kKnobs[] = {{
    .name = kWinogradKnob,
    .standard = [](const Site& site, Sizes) -> std::optional<std::int64_t> {
      return takesWinograd(site) ? std::optional<std::int64_t>(0) : std::nullopt;
    },
    .range = [](const Site&) { return KnobRange{0, 4, 2}; },
    .tried = kTried,
    .trouble = winogradTrouble,
    .reassociates = true,
}};

// Rows of an image.
std::vector<std::int64_t> sizesTried(const Site& site, std::size_t loop, std::int64_t) {
  if (!takesWinograd(site) || loop + site.shape.window != site.shape.loops.size()) return {};
  return {1, 2, 4, 7, 8, 14, 16, 28, 56};
}

bool emit(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  return WinogradKnobs::of(options.schedule).results != 0 && emitWinograd(rewriter, product, options);
}

std::optional<double> cycles(const CostInputs& inputs) {
  const std::int64_t m = WinogradKnobs::of(inputs.schedule).results;
  if (m == 0) return std::nullopt;
  constexpr double kMinSteps = 128;  // worth trying
  const Site& site = inputs.site;
  const Sizes tile = listOf(inputs.schedule, kTileKnob);
  WinogradTask task{.tiles = {m, tile[tile.size() - 2], tile.back()},
                    .inputs = static_cast<double>(winogradInputs(site.shape)),
                    .results = static_cast<double>(tile[tile.size() - 3]),
                    .channels = static_cast<double>(site.shape.loops[tile.size() - 3].extent),
                    .lanes = static_cast<double>(site.registers.bits) / 32,
                    .rows = inputs.rows,
                    .vectors = inputs.vectors,
                    .run = static_cast<double>(inputs.knobs.steps),
                    .l1 = inputs.l1,
                    .l2 = inputs.l2};
  if (task.run > kMinSteps && task.run / 2 >= task.inputs) return kNever;  // half of them say the same
  const double tasks =
      inputs.points / (static_cast<double>(task.tiles.rows * task.tiles.columns) * task.results);
  task.passes = std::max(1.0, tasks * task.results / task.channels);
  return taskCycles(task) * tasks;
}

std::optional<Preferred> preferred(const Site& site, const Schedule& standard) {
  if (!takesWinograd(site)) return std::nullopt;
  auto choice = chooseWinograd(site, standard);
  if (!choice) return std::nullopt;
  Preferred own{
      standard, "winograd",
      "fewer products, by the cost model, with an error within the stated bound; task and tiles as it "
      "prices them least"};
  setList(own.schedule, kTileKnob, std::move(choice->tile));
  setNumber(own.schedule, kWinogradKnob, choice->results);
  return own;
}

constexpr std::string_view kUnused[] = {kLanesKnob, kIm2colKnob};

constexpr ProcessorForm kForm = {.emit = emit};

}  // namespace

constexpr Strategy kWinogradStrategy = {.knobs = kKnobs,
                                        .inspect = inspect,
                                        .sizesTried = sizesTried,
                                        .cycles = cycles,
                                        .way = kWinogradKnob,
                                        .unused = kUnused,
                                        .processor = &kForm,
                                        .preferred = preferred};

}  // namespace kiln::schedule
