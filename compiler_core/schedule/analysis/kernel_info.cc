#include "compiler_core/schedule/analysis/kernel_info.h"

#include "compiler_core/ir/attributes.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace kiln::schedule {

using namespace mlir;

DictionaryAttr toAttribute(MLIRContext* context, const Schedule& schedule) {
  Builder b(context);
  NamedAttrList attributes;
  for (const auto& [name, values] : schedule) attributes.set(name, b.getDenseI64ArrayAttr(values));
  return attributes.getDictionary(context);
}

Schedule scheduleOf(DictionaryAttr info) {
  Schedule schedule;
  const auto given = info ? ir::kernel::kSchedule.in(info) : DictionaryAttr();
  if (!given) return schedule;
  for (NamedAttribute knob : given)
    if (auto list = dyn_cast<DenseI64ArrayAttr>(knob.getValue()))
      setList(schedule, knob.getName().strref(), list.asArrayRef().vec());
  return schedule;
}

DictionaryAttr kernelInfo(MLIRContext* context, ArrayRef<std::string> nodes, StringRef rule,
                          ArrayRef<std::int64_t> loops, const Schedule& schedule) {
  Builder b(context);
  llvm::SetVector<Attribute> names;
  for (const std::string& node : nodes) names.insert(b.getStringAttr(node));
  return b.getDictionaryAttr({ir::kernel::kNodes.named(b.getArrayAttr(names.getArrayRef())),
                              ir::kernel::kRule.named(b.getStringAttr(rule)),
                              ir::kernel::kLoops.named(b.getDenseI64ArrayAttr(loops)),
                              ir::kernel::kSchedule.named(toAttribute(context, schedule))});
}

}  // namespace kiln::schedule
