#include "compiler_core/schedule/analysis/kernel_info.h"

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
  const auto given = info ? info.getAs<DictionaryAttr>(kScheduleAttr) : DictionaryAttr();
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
  return b.getDictionaryAttr({b.getNamedAttr("nodes", b.getArrayAttr(names.getArrayRef())),
                              b.getNamedAttr("rule", b.getStringAttr(rule)),
                              b.getNamedAttr("loops", b.getDenseI64ArrayAttr(loops)),
                              b.getNamedAttr(kScheduleAttr, toAttribute(context, schedule))});
}

}  // namespace kiln::schedule
