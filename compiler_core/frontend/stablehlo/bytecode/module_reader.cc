#include "compiler_core/frontend/stablehlo/bytecode/module_reader.h"

#include <charconv>
#include <optional>
#include <span>

#include "compiler_core/frontend/stablehlo/bytecode/vhlo_attributes.h"
#include "compiler_core/frontend/stablehlo/program/attributes.h"
#include "compiler_core/frontend/stablehlo/program/normalize.h"
#include "compiler_core/frontend/stablehlo/program/schema.h"
#include "compiler_core/frontend/stablehlo/program/validate.h"
#include "manifest/base/printable.h"

namespace kiln::stablehlo {
namespace {

// What an operation has, by the bits of its mask.
enum Has : std::uint8_t {
  kAttributes = 1,
  kResults = 2,
  kOperands = 4,
  kSuccessors = 8,
  kRegions = 16,
  kUseListOrders = 32,
  kPropertyList = 64
};

// The values that operands may name, by the numbers of the bytecode: those of a region follow all of the
// region around it.
struct Scope {
  std::vector<std::optional<ValueId>> values;
  std::size_t next = 0;  // of the innermost region
};

// "add_v1": the operation and its version; version 0 if it has none.
std::pair<std::string_view, int> splitVersion(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  if (at == std::string_view::npos) return {name, 0};
  int version = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + at + 2, end, version);
  if (error != std::errc() || stop != end || version < 1) return {name, 0};
  return {name.substr(0, at), version};
}

// The order of uses of `count` values, which says nothing about the program.
Status skipUseListOrders(Cursor& cursor, std::size_t count) {
  std::uint64_t orders = 1;
  if (count > 1) {
    KILN_ASSIGN(orders, cursor.count());
  }
  for (std::uint64_t i = 0; i < orders; ++i) {
    if (count > 1) KILN_TRY(cursor.varint());
    KILN_ASSIGN(const Cursor::Flagged uses, cursor.flagged());
    if (uses.value > cursor.remaining()) return cursor.error("an order of uses is longer than the file");
    for (std::uint64_t use = 0; use < uses.value; ++use) KILN_TRY(cursor.varint());
  }
  return {};
}

// What stands at the head of an operation, before it is known what the operation is.
struct Head {
  std::string_view dialect, name;
  std::string location;
  std::optional<std::size_t> attributes, properties;
  std::vector<std::size_t> resultTypes, operands;
  std::size_t regions = 0;
  bool isIsolated = false;
};

class ModuleReader {
 public:
  ModuleReader(const Container& container, std::shared_ptr<const void> owner)
      : container_(container), attributes_(container, std::move(owner)) {}

  Result<Program> module();

 private:
  Result<Head> head(Cursor& cursor);
  // The attributes of an operation by name: those of its dictionary, and `properties` in their order.
  Result<std::vector<NamedEntry>> entries(const Head& head, std::span<const std::string_view> properties);
  Result<Function> function(const Head& head, Cursor& cursor);
  Status fill(const Head& head, Cursor& cursor, const Attributes& attributes, std::optional<std::size_t> type,
              Function& function);
  Status signature(const Attributes& attributes, std::size_t type, Function& function);
  Status regions(const Head& head, Cursor& cursor, std::span<Region> regions, int depth);
  Status region(Cursor& cursor, Region& region, int depth);
  Status arguments(Cursor& cursor, Region& region, bool isFunction);
  Status operation(Cursor& cursor, Operation& operation, int depth);
  Status body(const Head& head, Cursor& cursor, Operation& operation, int depth);
  Status define(const Cursor& cursor, std::size_t type, std::vector<ValueId>& ids);

  const Container& container_;
  VhloAttributes attributes_;
  Function* function_ = nullptr;  // that is being read
  Scope scope_;                   // of that function
};

Result<Head> ModuleReader::head(Cursor& cursor) {
  Head head;
  KILN_ASSIGN(const std::size_t name, cursor.index(container_.operations.size(), "operation name"));
  head.dialect = container_.operations[name].dialect;
  head.name = container_.operations[name].name;
  KILN_ASSIGN(const std::uint8_t has, cursor.byte());
  KILN_ASSIGN(const std::size_t location, cursor.index(container_.attributes.size(), "location"));
  KILN_ASSIGN(head.location, attributes_.location(location));
  if (has & kAttributes) {
    KILN_ASSIGN(head.attributes, cursor.index(container_.attributes.size(), "attribute"));
  }
  if (has & kPropertyList) {
    KILN_ASSIGN(head.properties, cursor.index(container_.properties.size(), "property list"));
  }
  if (has & kResults) {
    KILN_ASSIGN(const std::size_t count, cursor.count());
    for (std::size_t i = 0; i < count; ++i) {
      KILN_ASSIGN(const std::size_t type, cursor.index(container_.types.size(), "type"));
      head.resultTypes.push_back(type);
    }
  }
  if (has & kOperands) {
    KILN_ASSIGN(const std::size_t count, cursor.count());
    for (std::size_t i = 0; i < count; ++i) {
      KILN_ASSIGN(const std::size_t operand, cursor.index(scope_.values.size(), "value"));
      head.operands.push_back(operand);
    }
  }
  if (has & kSuccessors)
    return cursor.error("control flow between blocks is not served", Code::kUnimplemented);
  if (has & kUseListOrders) KILN_TRY(skipUseListOrders(cursor, head.resultTypes.size()));
  if (has & kRegions) {
    KILN_ASSIGN(const Cursor::Flagged regions, cursor.flagged());
    if (regions.value > cursor.remaining()) return cursor.error("more regions than the file has bytes");
    head.regions = static_cast<std::size_t>(regions.value);
    head.isIsolated = regions.flag;
  }
  return head;
}

Result<Cursor> nestedIr(Cursor& cursor) {
  KILN_ASSIGN(const Section section, readSection(cursor));
  if (section.id != kIrSection)
    return cursor.error("the regions of an operation are in a section of another kind");
  return section.content;
}

Result<Program> ModuleReader::module() {
  Cursor cursor = container_.ir;
  KILN_ASSIGN(const Cursor::Flagged top, cursor.flagged());
  if (top.value != 1 || top.flag) return cursor.error("expected one module");
  KILN_ASSIGN(const Head module, head(cursor));
  if (module.dialect != "builtin" || module.name != "module" || module.regions != 1)
    return cursor.error("expected a module");
  Cursor content = cursor;
  if (module.isIsolated && container_.version >= kWithLazyRegions) {
    KILN_ASSIGN(content, nestedIr(cursor));
  }
  KILN_ASSIGN(const std::uint64_t blocks, content.varint());
  if (blocks != 1) return content.error("a module without a block or with several ones");
  KILN_TRY(content.varint());  // the number of values, of which there are none
  KILN_ASSIGN(const Cursor::Flagged block, content.flagged());
  if (block.flag) return content.error("a module with arguments");
  Program program;
  for (std::uint64_t i = 0; i < block.value; ++i) {
    scope_ = {};
    KILN_ASSIGN(const Head head, this->head(content));
    if (head.dialect != "vhlo" || head.name != "func_v1")
      return fail(Code::kUnimplemented, "the module has an operation " + std::string(head.dialect) + "." +
                                            std::string(head.name) +
                                            " beside its functions, which is not served");
    KILN_ASSIGN(Function function, this->function(head, content));
    program.functions.push_back(std::move(function));
  }
  return program;
}

Result<std::vector<NamedEntry>> ModuleReader::entries(const Head& head,
                                                      std::span<const std::string_view> properties) {
  std::vector<NamedEntry> entries;
  if (head.attributes) {
    KILN_ASSIGN(entries, attributes_.dictionary(*head.attributes));
  }
  if (!head.properties) return entries;
  Cursor cursor = container_.properties[*head.properties];
  for (const std::string_view name : properties) {
    KILN_ASSIGN(const std::size_t index, cursor.index(container_.attributes.size(), "attribute"));
    entries.push_back({name, index});
  }
  if (!cursor.atEnd()) return cursor.error("has more properties than its version");
  return entries;
}

Result<Function> ModuleReader::function(const Head& head, Cursor& cursor) {
  constexpr std::string_view kProperties[] = {"arg_attrs", "function_type", "res_attrs", "sym_name",
                                              "sym_visibility"};
  KILN_ASSIGN(const std::vector<NamedEntry> entries, this->entries(head, kProperties));
  Attributes attributes;
  std::optional<std::size_t> type;
  for (const NamedEntry& entry : entries) {
    if (entry.name == "function_type") {
      type = entry.attribute;
      continue;
    }
    KILN_ASSIGN(std::optional<Attribute> value, attributes_.attribute(entry.attribute));
    if (value) attributes.emplace(entry.name, std::move(*value));
  }
  Function function;
  KILN_ASSIGN(function.name, stringAttribute(attributes, "sym_name"));
  if (Status done = fill(head, cursor, attributes, type, function); !done)
    return fail(done.error().in("function " + printable(function.name)));
  return function;
}

Status ModuleReader::fill(const Head& head, Cursor& cursor, const Attributes& attributes,
                          std::optional<std::size_t> type, Function& function) {
  KILN_ASSIGN(const std::string visibility, stringAttribute(attributes, "sym_visibility"));
  function.isPublic = visibility != "private" && visibility != "nested";
  if (!type) return fail(Code::kInvalidArgument, "has no type");
  if (head.regions != 1) return fail(Code::kInvalidArgument, "has no body");
  function_ = &function;
  KILN_TRY(regions(head, cursor, std::span(&function.body, 1), 1));
  return signature(attributes, *type, function);
}

// The attributes of arguments or results: a list of dictionaries, or an empty list.
Result<std::vector<Attributes>> dictionaries(const Attributes& attributes, std::string_view name) {
  std::vector<Attributes> list;
  const auto* elements = attributeAs<std::vector<Attribute>>(attributes, name);
  if (!elements) return fail(Code::kInvalidArgument, "its attribute '" + std::string(name) + "' is no list");
  for (const Attribute& element : *elements) {
    const auto* fields = std::get_if<Attributes>(&element.value);
    if (!fields)
      return fail(Code::kInvalidArgument,
                  "its attribute '" + std::string(name) + "' has other elements than dictionaries");
    list.push_back(*fields);
  }
  return list;
}

Status ModuleReader::signature(const Attributes& attributes, std::size_t type, Function& function) {
  KILN_ASSIGN(Signature signature, attributes_.signature(type));
  if (signature.arguments.size() != function.body.arguments.size())
    return fail(Code::kInvalidArgument, "has another number of arguments than its type");
  for (std::size_t i = 0; i < signature.arguments.size(); ++i)
    if (!(signature.arguments[i] == function.types[function.body.arguments[i]]))
      return fail(Code::kInvalidArgument,
                  "argument " + std::to_string(i) + " has another type than in the function's");
  function.results = std::move(signature.results);
  KILN_ASSIGN(std::vector<Attributes> extra, dictionaries(attributes, "arg_attrs"));
  if (!extra.empty() && extra.size() != function.arguments.size())
    return fail(Code::kInvalidArgument, "has attributes of another number of arguments");
  for (std::size_t i = 0; i < extra.size(); ++i) function.arguments[i].attributes = std::move(extra[i]);
  KILN_ASSIGN(function.resultAttributes, dictionaries(attributes, "res_attrs"));
  bool hasAny = false;
  for (const Attributes& result : function.resultAttributes) hasAny |= !result.empty();
  if (!hasAny) function.resultAttributes.clear();
  return {};
}

Status ModuleReader::define(const Cursor& cursor, std::size_t type, std::vector<ValueId>& ids) {
  if (scope_.next >= scope_.values.size()) return cursor.error("a region has more values than it says");
  KILN_ASSIGN(Type converted, attributes_.type(type));
  const auto id = static_cast<ValueId>(function_->types.size());
  function_->types.push_back(std::move(converted));
  scope_.values[scope_.next++] = id;
  ids.push_back(id);
  return {};
}

Status ModuleReader::arguments(Cursor& cursor, Region& region, bool isFunction) {
  KILN_ASSIGN(const std::size_t count, cursor.count());
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t type = 0;
    bool hasLocation = true;
    if (container_.version >= kWithoutUnknownLocations) {
      KILN_ASSIGN(const Cursor::Flagged read, cursor.flagged());
      if (read.value >= container_.types.size())
        return cursor.error("an argument of a type that is not there");
      type = static_cast<std::size_t>(read.value);
      hasLocation = read.flag;
    } else {
      KILN_ASSIGN(type, cursor.index(container_.types.size(), "type"));
    }
    std::string name;
    if (hasLocation) {
      KILN_ASSIGN(const std::size_t location, cursor.index(container_.attributes.size(), "location"));
      KILN_ASSIGN(name, attributes_.location(location));
    }
    if (isFunction) function_->arguments.push_back({std::move(name), {}});
    KILN_TRY(define(cursor, type, region.arguments));
  }
  if (container_.version < kWithUseListOrders) return {};
  KILN_ASSIGN(const std::uint8_t hasOrders, cursor.byte());
  return hasOrders ? skipUseListOrders(cursor, count) : Status();
}

Status ModuleReader::region(Cursor& cursor, Region& region, int depth) {
  if (depth > kMaxRegionDepth)
    return cursor.error("regions nested deeper than " + std::to_string(kMaxRegionDepth) + " are not served",
                        Code::kUnimplemented);
  KILN_ASSIGN(const std::uint64_t blocks, cursor.varint());
  if (blocks != 1)
    return cursor.error("a region without a block or with several ones is not served", Code::kUnimplemented);
  KILN_ASSIGN(const std::size_t values, cursor.count());
  const std::size_t before = scope_.values.size();
  const std::size_t next = scope_.next;
  scope_.values.resize(before + values);
  scope_.next = before;
  KILN_ASSIGN(const Cursor::Flagged block, cursor.flagged());
  if (block.value > cursor.remaining()) return cursor.error("more operations than the file has bytes");
  if (block.flag) KILN_TRY(arguments(cursor, region, depth == 1));
  for (std::uint64_t i = 0; i < block.value; ++i) {
    Operation& added = region.operations.emplace_back();
    if (Status done = operation(cursor, added, depth); !done)
      return fail(done.error().in(operationPlace(static_cast<std::size_t>(i), added.name)));
  }
  scope_.values.resize(before);
  scope_.next = next;
  return {};
}

Status ModuleReader::operation(Cursor& cursor, Operation& operation, int depth) {
  KILN_ASSIGN(const Head head, this->head(cursor));
  operation.name = head.name;
  if (head.dialect != "vhlo")
    return cursor.error("an operation of dialect '" + std::string(head.dialect) + "' is not served",
                        Code::kUnimplemented);
  return body(head, cursor, operation, depth);
}

Status ModuleReader::body(const Head& head, Cursor& cursor, Operation& operation, int depth) {
  const auto [name, version] = splitVersion(head.name);
  const OperationRule* rule = findRule(name);
  std::vector<std::string_view> properties;
  // An operation or a version that is not known keeps the version in its name, so that importers refuse it by
  // that.
  const bool isKnown = rule && version >= 1 && version <= rule->newest;
  if (isKnown) {
    operation.name = name;
    for (const AttributeRule* attribute : attributesOfVersion(*rule, version))
      properties.push_back(attribute->name);
  }
  operation.location = head.location;
  for (const std::size_t operand : head.operands) {
    if (!scope_.values[operand]) return cursor.error("uses a value that is not defined before it");
    operation.operands.push_back(*scope_.values[operand]);
  }
  if (isKnown) {
    KILN_ASSIGN(const std::vector<NamedEntry> entries, this->entries(head, properties));
    for (const NamedEntry& entry : entries) {
      KILN_ASSIGN(std::optional<Attribute> value, attributes_.attribute(entry.attribute));
      if (value) operation.attributes.emplace(entry.name, std::move(*value));
    }
    KILN_TRY(normalize(operation, function_->types));
  }
  for (const std::size_t type : head.resultTypes) KILN_TRY(define(cursor, type, operation.results));
  operation.regions.resize(head.regions);
  return regions(head, cursor, operation.regions, depth + 1);
}

Status ModuleReader::regions(const Head& head, Cursor& cursor, std::span<Region> regions, int depth) {
  if (regions.empty()) return {};
  // Regions of isolated operations name no values around them, and stand in a section of their own since
  // version 2.
  std::optional<Cursor> own;
  if (head.isIsolated && container_.version >= kWithLazyRegions) {
    KILN_ASSIGN(own, nestedIr(cursor));
  }
  Scope around;
  if (head.isIsolated) std::swap(around, scope_);
  for (Region& region : regions) KILN_TRY(this->region(own ? *own : cursor, region, depth));
  if (head.isIsolated) std::swap(around, scope_);
  return {};
}

}  // namespace

Result<Program> readModule(const Container& container, std::shared_ptr<const void> owner) {
  return ModuleReader(container, std::move(owner)).module();
}

}  // namespace kiln::stablehlo
