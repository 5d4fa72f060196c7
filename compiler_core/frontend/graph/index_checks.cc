#include "compiler_core/frontend/graph/index_checks.h"

#include <map>

#include "compiler_core/frontend/graph/graph_builder.h"
#include "compiler_core/ir/index_checks.h"

namespace kiln::frontend {

Status addIndexChecks(mlir::OpBuilder& builder, mlir::func::FuncOp main,
                      const std::vector<IndexChecks::Count>& counted) {
  if (counted.empty()) return {};
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(main.front().getTerminator());
  GraphBuilder build(builder, builder.getUnknownLoc());
  std::vector<std::string> nodes;
  std::map<std::string, std::size_t> places;
  Values counts;
  for (const IndexChecks::Count& one : counted) {
    // Those beyond what a manifest holds count with the last one.
    const std::size_t next = std::min(nodes.size(), ir::kMaxIndexChecks - 1);
    const auto [place, isNew] = places.try_emplace(one.node, next);
    if (isNew && next == nodes.size()) {
      nodes.push_back(one.node);
      counts.push_back(one.count);
      continue;
    }
    Value& count = counts[place->second];
    KILN_ASSIGN(count, build.binary(ir::BinaryKind::Add, count, one.count));
  }
  for (Value& count : counts) {
    KILN_ASSIGN(count, build.reshape(count, Dims{1}));
  }
  KILN_ASSIGN(Value together, counts.size() == 1 ? Result<Value>(counts.front()) : build.concat(counts, 0));
  ir::addIndexChecks(main, together, nodes);
  return {};
}

}  // namespace kiln::frontend
