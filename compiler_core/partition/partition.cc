#include "compiler_core/partition/partition.h"

#include <set>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/partition/partition_ops.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/partition/cost.h"
#include "compiler_core/partition/model_graph.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace kiln::partition {
namespace {

using namespace mlir;

bool counts(Operation* op) {
  return op->getName().getDialectNamespace() == ir::KilnDialect::getDialectNamespace() &&
         !isa<ir::FusedOp, ir::YieldOp, ir::TransferOp>(op);
}

// Every element type that an operation's tensors have. Any other type is `strange`.
std::vector<DType> typesOf(Operation* op, Type& strange) {
  std::vector<DType> types;
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                            SmallVector<Type>(op->getResultTypes()))) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    const auto dtype = tensor ? ir::dtypeOf(tensor.getElementType()) : std::nullopt;
    if (dtype)
      types.push_back(*dtype);
    else
      strange = type;
  }
  return types;
}

Verdict verdictOn(Operation* op, const std::string& target, const CapabilityTable& table) {
  Type strange;
  const std::vector<DType> types = typesOf(op, strange);
  if (strange) {
    std::string text;
    llvm::raw_string_ostream(text) << strange;
    return {Service::kNone, "target " + target + " serves tensors, not " + text};
  }
  return serve(table, target, op->getName().getStringRef().str(), types);
}

Partition summary(Operation* root, const std::string& target, const CapabilityTable& table) {
  Partition part;
  part.target = target;
  llvm::StringSet<> seen;
  root->walk([&](Operation* op) {
    if (!counts(op)) return;
    ++part.operations;
    part.emulated += verdictOn(op, target, table).service == Service::kEmulated;
    for (std::string& name : ir::nodeNames(op->getLoc()))
      if (seen.insert(name).second) part.nodes.push_back(std::move(name));
  });
  for (Operation& op : cast<func::FuncOp>(root).front().without_terminator()) {
    const Work work = workOf(&op);
    part.flops = llvm::SaturatingAdd(part.flops, work.flops);
    part.bytes = llvm::SaturatingAdd(part.bytes, work.bytes);
  }
  return part;
}

class Decision {
 public:
  Decision(func::FuncOp main, const PartitionOptions& options, PartitionResult& result)
      : main_(main),
        options_(options),
        result_(result),
        model_(graphOf(main)),
        symbols_(ir::symbolsOf(main->getParentOfType<ModuleOp>())) {
    for (TargetIndex i = 1; i < options.targets.size(); ++i)
      if (StringRef(options.targets[i]).starts_with("cpu:")) fallback_ = i;
  }

  std::vector<TargetIndex> make() {
    for (Operation& op : main_.front().without_terminator())
      if (isSource(&op)) append(refusals(&op, 0));
    for (auto [op, node] : llvm::zip_equal(model_.operations, model_.graph.nodes)) place(op, node);
    if (ir::isOnDevice(name(0)))
      for (auto [op, node] : llvm::zip_equal(model_.operations, model_.graph.nodes)) follow(op, node);
    if (!result_.unsupported.empty()) return {};
    return assign(model_.graph);
  }
  ArrayRef<Operation*> operations() const { return model_.operations; }

 private:
  using Refusals = std::vector<ir::UnsupportedNode>;

  std::string operatorOf(const std::string& node) const {
    const auto found = options_.operators.find(node);
    return found == options_.operators.end() ? std::string() : found->second;
  }
  // As the model calls what an operation came from: "Loop"; the operation's own name where the model has
  // none.
  std::string modelName(Operation* op) const {
    const std::string known = operatorOf(ir::nodeName(op->getLoc()));
    return known.empty() ? op->getName().getStringRef().str() : known;
  }
  const std::string& name(TargetIndex target) const { return options_.targets[target]; }
  const CapabilityTable& table(TargetIndex target) const { return options_.capabilities(name(target)); }

  // Why a target cannot have an operation; empty where it can.
  Refusals refusals(Operation* op, TargetIndex target) const {
    Refusals out;
    op->walk([&](Operation* inner) {
      if (!counts(inner)) return;
      Verdict verdict = verdictOn(inner, name(target), table(target));
      if (verdict.service != Service::kNone && ir::isOnDevice(name(target)) && hasFoundSize(inner))
        verdict = {Service::kNone,
                   "target " + name(target) + " knows no sizes that depend on values, and this node has one"};
      if (verdict.service == Service::kNone)
        out.push_back({ir::nodeName(inner->getLoc()), modelName(inner), "", 0, std::move(verdict.reason)});
    });
    for (const std::string& node : namesOf(op))
      for (const PlacementRule& rule : options_.rules.exclusions)
        if (rule.target == name(target) && matches(rule.pattern, node, operatorOf(node))) {
          out.push_back({node, operatorOf(node), "", 0,
                         "excluded from target " + name(target) + " by the rule \"" + rule.pattern + "\""});
          break;
        }
    return out;
  }

  // A size that only a run finds out.
  bool hasFoundSize(Operation* op) const {
    const auto found = [&](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && llvm::any_of(ir::shapeOf(tensor), [&](const ir::Dim& dim) {
               return !dim.isStatic() &&
                      llvm::any_of(ir::symbolsIn(dim.expression(op->getContext())), [&](unsigned symbol) {
                        return symbol < symbols_.size() && !symbols_[symbol].isGiven();
                      });
             });
    };
    return llvm::any_of(op->getOperandTypes(), found) || llvm::any_of(op->getResultTypes(), found);
  }

  bool emulates(Operation* op, TargetIndex target) const {
    bool emulated = false;
    op->walk([&](Operation* inner) {
      if (counts(inner))
        emulated |= verdictOn(inner, name(target), table(target)).service == Service::kEmulated;
    });
    return emulated;
  }

  std::optional<TargetIndex> affinity(Operation* op) const {
    const std::vector<std::string> nodes = namesOf(op);
    for (const PlacementRule& rule : options_.rules.affinities)
      for (const std::string& node : nodes)
        if (matches(rule.pattern, node, operatorOf(node)))
          return static_cast<TargetIndex>(llvm::find(options_.targets, rule.target) -
                                          options_.targets.begin());
    return std::nullopt;
  }

  void append(Refusals refusals) {
    for (ir::UnsupportedNode& refusal : refusals)
      if (told_.insert({refusal.node, refusal.reason}).second)  // a node may have become several operations
        result_.unsupported.push_back(std::move(refusal));
  }

  void allow(GraphNode& node, Operation* op, TargetIndex target) const {
    node.cost[target] = timeOf(workOf(op), ratesOf(name(target)), emulates(op, target));
  }

  void place(Operation* op, GraphNode& node) {
    node.cost.resize(options_.targets.size());
    const auto fixed = affinity(op);
    const TargetIndex wanted = fixed.value_or(0);
    if (Refusals why = refusals(op, wanted); !why.empty()) return fallBack(op, node, wanted, std::move(why));
    allow(node, op, wanted);
    if (fixed) return;
    const std::size_t others = options_.targets.size() - (options_.onlyFallback ? 1 : 0);
    for (TargetIndex target = 1; target < others; ++target)
      if (refusals(op, target).empty()) allow(node, op, target);
  }

  // What became of a node that falls back leaves the device as a whole: each crossing is a copy and a wait.
  void follow(Operation* op, GraphNode& node) {
    const std::vector<std::string> nodes = namesOf(op);
    if (nodes.empty() || !llvm::all_of(nodes, [&](const auto& one) { return fallen_.contains(one); }) ||
        !refusals(op, *fallback_).empty())
      return;
    node.cost.assign(options_.targets.size(), std::nullopt);
    allow(node, op, *fallback_);
  }

  // What to ask for so that another target, which can have the operation, gets it; "" where none can.
  std::string remedy(Operation* op, const std::string& node, TargetIndex wanted) const {
    const auto canHave = [&](TargetIndex target) { return target != wanted && refusals(op, target).empty(); };
    const std::size_t others = options_.targets.size() - (options_.onlyFallback ? 1 : 0);
    std::string out;
    if (!options_.fallback && fallback_ && canHave(*fallback_)) out = "--fallback cpu";
    for (TargetIndex target = 0; target < others; ++target) {
      if (!canHave(target)) continue;
      // The first affinity that matches decides.
      out += (out.empty() ? "" : ", or ") + ("--affinity \"" + node) + "=" + name(target) + "\"" +
             (affinity(op) ? " before the others" : "");
      break;
    }
    return out.empty() ? out : "; another target can have it: give " + out;
  }

  // `why` is not empty.
  void fallBack(Operation* op, GraphNode& node, TargetIndex wanted, Refusals why) {
    if (!options_.fallback || !fallback_ || *fallback_ == wanted) {
      for (ir::UnsupportedNode& refusal : why) refusal.reason += remedy(op, refusal.node, wanted);
      return append(std::move(why));
    }
    const Refusals there = refusals(op, *fallback_);
    const auto& allowed = options_.rules.fallbackOperators;
    std::string obstacle;
    if (!there.empty()) obstacle = there.front().reason;
    for (const std::string& source : namesOf(op))
      if (!allowed.empty() && !llvm::is_contained(allowed, operatorOf(source)))
        obstacle = "\"" + source + "\" (" + operatorOf(source) + ") may not fall back, only " +
                   llvm::join(allowed, ", ") + " may";
    if (!obstacle.empty()) {
      for (ir::UnsupportedNode& refusal : why) refusal.reason += "; and " + obstacle;
      return append(std::move(why));
    }
    allow(node, op, *fallback_);
    // What shares a kernel with a node that falls back goes with it.
    const std::string company = "one kernel with \"" + why.front().node + "\": " + why.front().reason;
    for (const std::string& source : namesOf(op)) {
      if (!fallen_.insert(source).second) continue;  // a node may have become several operations
      const auto own = llvm::find_if(why, [&](const ir::UnsupportedNode& r) { return r.node == source; });
      result_.evidence.fallback.push_back(
          {{source, operatorOf(source), "", 0, own == why.end() ? company : own->reason},
           name(wanted),
           name(*fallback_)});
    }
  }

  func::FuncOp main_;
  const PartitionOptions& options_;
  PartitionResult& result_;
  ModelGraph model_;
  SmallVector<ir::Symbol> symbols_;
  std::optional<TargetIndex> fallback_;
  llvm::StringSet<> fallen_;
  std::set<std::pair<std::string, std::string>> told_;  // refused node and reason
};

Status checkShare(PartitionEvidence& evidence, const PartitionRules& rules) {
  const auto fallen = static_cast<std::int64_t>(evidence.fallback.size());
  evidence.fallbackPermille = evidence.nodes ? (fallen * 1000 + evidence.nodes - 1) / evidence.nodes : 0;
  if (evidence.fallbackPermille <= rules.fallbackPermille) return {};
  std::string list;
  for (const Fallback& one : llvm::ArrayRef(evidence.fallback).take_front(8))
    list += "; \"" + one.node.node + "\" (" + one.node.op + "): " + one.node.reason;
  return fail(Code::kUnimplemented,
              std::to_string(fallen) + " of " + std::to_string(evidence.nodes) + " nodes would fall back, " +
                  std::to_string(evidence.fallbackPermille) + " thousandths; the spec allows " +
                  std::to_string(rules.fallbackPermille) + list);
}

}  // namespace

Result<PartitionResult> partition(ModuleOp module, const PartitionOptions& options) {
  PartitionResult result;
  auto main = module.lookupSymbol<func::FuncOp>(ir::kMain);
  PartitionEvidence& evidence = result.evidence;
  evidence.targets = options.targets;
  Decision decision(main, options, result);
  const std::vector<TargetIndex> targets = decision.make();
  if (!result.unsupported.empty()) return result;
  const std::set<TargetIndex> used(targets.begin(), targets.end());
  const std::string& first = options.targets[used.empty() ? 0 : *used.begin()];
  evidence.partitions = {summary(main, first, options.capabilities(first))};
  llvm::StringSet<> nodes;
  for (Operation* op : decision.operations())
    for (const std::string& node : namesOf(op)) nodes.insert(node);
  evidence.nodes = static_cast<std::int64_t>(nodes.size());
  KILN_TRY(checkShare(evidence, options.rules));
  if (used.empty() || (used.size() == 1 && !ir::isOnDevice(first))) return result;
  Builder builder(module.getContext());
  for (auto [op, target] : llvm::zip_equal(decision.operations(), targets))
    ir::TargetAttr::set(op, builder.getStringAttr(options.targets[target]));
  return result;
}

Status describe(ModuleOp module, PartitionEvidence& evidence) {
  auto main = module.lookupSymbol<func::FuncOp>(ir::kMain);
  if (main.getOps<func::CallOp>().empty()) return {};
  evidence.partitions.clear();
  for (auto call : main.getOps<func::CallOp>()) {
    auto function = module.lookupSymbol<func::FuncOp>(call.getCallee());
    KILN_ASSIGN(const StringAttr name, ir::TargetAttr::expect(function));
    const std::string target = name.str();
    evidence.partitions.push_back(summary(function, target, capabilitiesOf(target)));
  }
  const auto limits = ir::limitsOf(main);
  for (auto transfer : main.getOps<ir::TransferOp>()) {
    const std::uint64_t bytes = mostBytes(transfer.getType(), limits);
    evidence.transfers.push_back(
        {ir::nodeName(transfer.getLoc()), transfer.getFrom().str(), transfer.getTo().str(), bytes});
    evidence.transferBytes += bytes;
  }
  return {};
}

}  // namespace kiln::partition
