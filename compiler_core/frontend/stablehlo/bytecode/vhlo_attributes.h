// VHLO's types and attributes, and the locations of MLIR, out of a container.
// Source: StableHLO's VHLO dialect, versions 0.9.0 to 1.20.0, and the encodings of MLIR's builtin dialect.
#pragma once

#include <memory>
#include <optional>

#include "compiler_core/frontend/stablehlo/bytecode/container.h"
#include "compiler_core/frontend/stablehlo/program/location_name.h"
#include "compiler_core/frontend/stablehlo/program/program.h"
#include "compiler_core/frontend/stablehlo/program/read_budget.h"

namespace kiln::stablehlo {

// An attribute of the container by its name.
struct NamedEntry {
  std::string_view name;
  std::size_t attribute;
};

// The type of a function.
struct Signature {
  std::vector<Type> arguments, results;
};

// Not thread safe. Indices are those of the container's tables; one that is not there is kInvalidArgument.
class VhloAttributes {
 public:
  // Literals are views of the container's bytes, which `owner` keeps.
  VhloAttributes(const Container& container, std::shared_ptr<const void> owner)
      : container_(container),
        owner_(std::move(owner)),
        types_(container.types.size()),
        budget_(readBudget(container.bytes)) {}

  Result<Type> type(std::size_t index);
  Result<Signature> signature(std::size_t attribute);
  // nullopt: VHLO's way to say that there is none.
  Result<std::optional<Attribute>> attribute(std::size_t index);
  // MLIR's own dictionary, in which operations have attributes that are no properties.
  Result<std::vector<NamedEntry>> dictionary(std::size_t index);
  // What a Program keeps of a location.
  Result<std::string> location(std::size_t index);

 private:
  Result<Type> readType(std::size_t index, int depth);
  Result<std::vector<Type>> typeList(Cursor& cursor, int depth);
  Result<Type> tensor(Cursor& cursor, int depth);
  Result<Type> future(Cursor& cursor, int depth);
  Result<std::optional<Attribute>> read(std::size_t index, int depth);
  Result<std::optional<Attribute>> content(Cursor cursor, int depth);
  Result<Attribute> list(Cursor& cursor, int depth);
  Result<Attribute> fields(Cursor& cursor, int depth);
  Result<Attribute> number(Cursor& cursor, bool isFloat, int depth);
  Result<Attribute> literal(Cursor& cursor, int depth);
  Result<Attribute> accuracy(Cursor& cursor, int depth);
  Result<std::string_view> string(Cursor& cursor);
  Result<std::string_view> builtinString(std::size_t index);
  // The element type of a number.
  Result<Type> scalarType(Cursor& cursor, int depth);
  // Every attribute and type that is read comes through here: kUnimplemented beyond the budget, or too deep.
  Status enter(const Cursor& cursor, int depth);

  const Container& container_;
  std::shared_ptr<const void> owner_;
  std::vector<std::optional<Type>> types_;
  std::size_t budget_;  // what may still be read
};

}  // namespace kiln::stablehlo
