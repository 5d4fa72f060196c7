#include "compiler_core/frontend/stablehlo/text/to_program.h"

#include <array>

#include "compiler_core/frontend/stablehlo/program/location_name.h"
#include "compiler_core/frontend/stablehlo/program/normalize.h"
#include "compiler_core/frontend/stablehlo/program/validate.h"
#include "compiler_core/frontend/stablehlo/text/to_attributes.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln::stablehlo {
namespace {

std::string operationName(mlir::Operation& operation) {
  llvm::StringRef name = operation.getName().getStringRef();
  if (name == "func.call" || name == "func.return") return name.substr(5).str();
  name.consume_front("stablehlo.");
  return name.str();
}

// The names of NameLocs around each other; what else a location says is about the author's machine.
std::string locationName(mlir::Location location) {
  LocationName name;
  mlir::Location current = location;
  while (const auto named = llvm::dyn_cast<mlir::NameLoc>(current)) {
    if (!name.add({named.getName().data(), named.getName().size()})) break;
    current = named.getChildLoc();
  }
  return std::move(name).text();
}

// Structs whose fields are attributes of the operation in the one form, with new names for some of them.
struct Aggregate {
  std::string_view attribute;
  std::array<std::pair<std::string_view, std::string_view>, 2> renamed = {};
};
constexpr Aggregate kAggregates[] = {
    {"algorithm"},
    {"channel_handle", {{{"handle", "channel_id"}, {"type", "channel_type"}}}},
    {"dimension_numbers"},
    {"dot_dimension_numbers"},
    {"scatter_dimension_numbers"},
};

void takeApart(Attributes& attributes) {
  for (const Aggregate& aggregate : kAggregates) {
    const auto found = attributes.find(aggregate.attribute);
    if (found == attributes.end() || !std::holds_alternative<Attributes>(found->second.value)) continue;
    Attributes fields = std::move(std::get<Attributes>(found->second.value));
    attributes.erase(found);
    for (const auto& [from, to] : aggregate.renamed) {
      auto field = fields.extract(std::string(from));
      if (field.empty()) continue;
      field.key() = to;
      fields.insert(std::move(field));
    }
    attributes.merge(fields);
  }
}

class FunctionConverter {
 public:
  FunctionConverter(AttributeConverter& attributes, Function& function)
      : attributes_(attributes), function_(function) {}

  Status signature(mlir::func::FuncOp from) {
    function_.isPublic = from.isPublic();
    for (unsigned i = 0; i < from.getNumArguments(); ++i) {
      Argument& argument = function_.arguments.emplace_back();
      argument.name = locationName(from.getArgument(i).getLoc());
      if (const auto extra = from.getArgAttrDict(i)) {
        KILN_ASSIGN(argument.attributes, attributes_.dictionary(extra));
      }
    }
    bool hasResultAttributes = false;
    for (unsigned i = 0; i < from.getNumResults(); ++i) {
      KILN_ASSIGN(Type type, attributes_.type(from.getResultTypes()[i]));
      function_.results.push_back(std::move(type));
      Attributes& extra = function_.resultAttributes.emplace_back();
      if (const auto dictionary = from.getResultAttrDict(i)) {
        KILN_ASSIGN(extra, attributes_.dictionary(dictionary));
      }
      hasResultAttributes |= !extra.empty();
    }
    if (!hasResultAttributes) function_.resultAttributes.clear();
    return {};
  }

  Status body(mlir::Region& region) { return convert(region, function_.body, 1); }

 private:
  Status convert(mlir::Region& from, Region& to, int depth) {
    if (depth > kMaxRegionDepth)
      return fail(Code::kUnimplemented,
                  "regions nested deeper than " + std::to_string(kMaxRegionDepth) + " are not served");
    if (!from.hasOneBlock())
      return fail(Code::kUnimplemented, "a region without a block or with several ones is not served");
    mlir::Block& block = from.front();
    KILN_TRY(define(block.getArguments(), to.arguments));
    for (mlir::Operation& operation : block) {
      Operation& converted = to.operations.emplace_back();
      converted.name = operationName(operation);
      if (Status done = convert(operation, converted, depth); !done)
        return fail(done.error().in(operationPlace(to.operations.size() - 1, converted.name)));
    }
    return {};
  }

  Status convert(mlir::Operation& from, Operation& to, int depth) {
    to.location = locationName(from.getLoc());
    for (const mlir::Value operand : from.getOperands()) {
      const auto id = ids_.find(operand);
      if (id == ids_.end()) return fail(Code::kInvalidArgument, "uses a value that is not defined before it");
      to.operands.push_back(id->second);
    }
    KILN_ASSIGN(to.attributes, attributes_.dictionary(from.getDiscardableAttrDictionary()));
    if (const auto properties =
            llvm::dyn_cast_or_null<mlir::DictionaryAttr>(from.getPropertiesAsAttribute())) {
      KILN_ASSIGN(Attributes more, attributes_.dictionary(properties));
      to.attributes.merge(more);
    }
    takeApart(to.attributes);
    KILN_TRY(normalize(to, function_.types));
    KILN_TRY(define(from.getResults(), to.results));
    for (mlir::Region& region : from.getRegions())
      KILN_TRY(convert(region, to.regions.emplace_back(), depth + 1));
    return {};
  }

  template <class Values>
  Status define(Values values, std::vector<ValueId>& ids) {
    for (const mlir::Value value : values) {
      KILN_ASSIGN(Type type, attributes_.type(value.getType()));
      ids.push_back(static_cast<ValueId>(function_.types.size()));
      ids_[value] = ids.back();
      function_.types.push_back(std::move(type));
    }
    return {};
  }

  AttributeConverter& attributes_;
  Function& function_;
  llvm::DenseMap<mlir::Value, ValueId> ids_;
};

}  // namespace

Result<Program> toProgram(mlir::ModuleOp module, std::shared_ptr<mlir::MLIRContext> context,
                          std::size_t budget) {
  AttributeConverter attributes(std::move(context), budget);
  Program program;
  for (mlir::Operation& operation : *module.getBody()) {
    auto from = llvm::dyn_cast<mlir::func::FuncOp>(operation);
    if (!from)
      return fail(Code::kUnimplemented, "the module has an operation " +
                                            operation.getName().getStringRef().str() +
                                            " beside its functions, which is not served");
    Function& function = program.functions.emplace_back();
    function.name = from.getSymName().str();
    const std::string place = "function " + function.name;
    if (from.isExternal()) return fail(Code::kInvalidArgument, place + " has no body");
    FunctionConverter converter(attributes, function);
    Status done = converter.signature(from);
    if (done) done = converter.body(from.getBody());
    if (!done) return fail(done.error().in(place));
  }
  KILN_TRY(validate(program));
  return program;
}

}  // namespace kiln::stablehlo
