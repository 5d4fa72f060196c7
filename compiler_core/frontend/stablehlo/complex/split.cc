#include "compiler_core/frontend/stablehlo/complex/split.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "compiler_core/frontend/stablehlo/complex/formulas.h"
#include "compiler_core/frontend/stablehlo/program/attributes.h"

namespace kiln::stablehlo {
namespace {

Element partElement(const Type& type) {
  return type.element == Element::kC128 ? Element::kF64 : Element::kF32;
}
Type partType(const Type& type) {
  return tensorType(partElement(type), type.shape);
}

template <std::size_t size>
bool isIn(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Their complex operands, results and block arguments are two instead of one, in their places.
constexpr std::array<std::string_view, 11> kInPlace = {
    "call",   "case",          "composite", "if",      "map",  "optimization_barrier",
    "reduce", "reduce_window", "return",    "scatter", "while"};
// They move elements: once with the real parts, once with the imaginary ones.
constexpr std::array<std::string_view, 11> kMoves = {
    "broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice",
    "gather",           "pad",         "reshape",       "reverse",
    "select",           "slice",       "transpose"};
constexpr std::array<std::string_view, 10> kOwn = {"abs",     "compare", "complex",     "constant",
                                                   "convert", "dot",     "dot_general", "get_dimension_size",
                                                   "imag",    "real"};

// Both parts of a literal, apart from each other.
Literal partOf(const Literal& literal, bool isImaginary) {
  const std::size_t width = elementBytes(literal.type.element) / 2,
                    count = literal.bytes.size() / (2 * width);
  std::shared_ptr<std::uint8_t[]> bytes(new std::uint8_t[count * width]);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(bytes.get() + i * width, literal.bytes.data() + (2 * i + (isImaginary ? 1 : 0)) * width,
                width);
  return {partType(literal.type), literal.isSplat, {bytes.get(), count * width}, bytes};
}

// One function without its complex values.
class FunctionSplitter {
 public:
  explicit FunctionSplitter(const Function& from) : from_(from), places_(from.types.size()) {}

  Function run() {
    to_.name = from_.name;
    to_.isPublic = from_.isPublic;
    for (std::size_t i = 0; i < from_.arguments.size(); ++i) {
      const ValueId value = i < from_.body.arguments.size() ? from_.body.arguments[i] : 0;
      to_.arguments.insert(to_.arguments.end(), isComplexValue(value) ? 2 : 1, from_.arguments[i]);
    }
    for (std::size_t i = 0; i < from_.results.size(); ++i) {
      const bool isPair = isComplex(from_.results[i]);
      to_.results.insert(to_.results.end(), isPair ? 2 : 1,
                         isPair ? partType(from_.results[i]) : from_.results[i]);
      if (i < from_.resultAttributes.size())
        to_.resultAttributes.insert(to_.resultAttributes.end(), isPair ? 2 : 1, from_.resultAttributes[i]);
    }
    to_.body = region(from_.body, /*isComparator=*/false);
    return std::move(to_);
  }

 private:
  // Where a value is in the new function; of a real one both are the same.
  struct Place {
    ValueId real = 0, imaginary = 0;
  };

  bool isComplexValue(ValueId value) const {
    return value < from_.types.size() && isComplex(from_.types[value]);
  }

  ValueId fresh(Type type) {
    to_.types.push_back(std::move(type));
    return static_cast<ValueId>(to_.types.size() - 1);
  }

  // Gives a value of the old function its places.
  Place define(ValueId value) {
    if (value >= from_.types.size()) return {};
    const Type& type = from_.types[value];
    const ValueId real = fresh(isComplex(type) ? partType(type) : type);
    places_[value] = Place{real, isComplex(type) ? fresh(partType(type)) : real};
    return *places_[value];
  }
  // What is used and not defined stays so, for the importer to find.
  Place at(ValueId value) {
    if (value < places_.size() && places_[value]) return *places_[value];
    return define(value);
  }

  void append(std::vector<ValueId>& list, ValueId value, const Place& place) const {
    list.push_back(place.real);
    if (isComplexValue(value)) list.push_back(place.imaginary);
  }

  // A comparator takes both elements of each operand next to each other.
  Region region(const Region& old, bool isComparator) {
    Region made;
    for (std::size_t i = 0; i < old.arguments.size(); ++i) {
      if (!isComparator || !isComplexValue(old.arguments[i]) || i + 1 == old.arguments.size()) {
        append(made.arguments, old.arguments[i], define(old.arguments[i]));
        continue;
      }
      const Place a = define(old.arguments[i]), b = define(old.arguments[i + 1]);
      made.arguments.insert(made.arguments.end(), {a.real, b.real, a.imaginary, b.imaginary});
      ++i;
    }
    for (const Operation& operation : old.operations) this->operation(operation, made.operations);
    return made;
  }

  void operation(const Operation& old, std::vector<Operation>& out) {
    const bool isTouched =
        std::ranges::any_of(old.operands, [&](ValueId value) { return isComplexValue(value); }) ||
        std::ranges::any_of(old.results, [&](ValueId value) { return isComplexValue(value); });
    if (!isTouched || isIn(kInPlace, old.name) || old.name == "sort") return inPlace(old, out);
    Writer writer(to_, out, old.location);
    if (isIn(kMoves, old.name)) return moved(old, out);
    if (isIn(kOwn, old.name)) return own(old, writer);
    if (old.name == "iota") return iota(old, writer);
    formula(old, writer);
  }

  void inPlace(const Operation& old, std::vector<Operation>& out) {
    Operation made{old.name, {}, {}, old.attributes, {}, old.location};
    if (old.name == "composite") {
      // What the composite is made of: names of CHLO are for reals.
      made.name = "call";
      if (const auto found = old.attributes.find("decomposition"); found != old.attributes.end())
        made.attributes = {{"callee", found->second}};
    }
    for (ValueId value : old.operands) append(made.operands, value, at(value));
    for (const Region& inner : old.regions) made.regions.push_back(region(inner, old.name == "sort"));
    for (ValueId value : old.results) append(made.results, value, define(value));
    out.push_back(std::move(made));
  }

  void moved(const Operation& old, std::vector<Operation>& out) {
    for (ValueId value : old.results) define(value);
    for (const bool isImaginary : {false, true}) {
      Operation made{old.name, {}, {}, old.attributes, {}, old.location};
      for (ValueId value : old.operands)
        made.operands.push_back(isImaginary ? at(value).imaginary : at(value).real);
      for (ValueId value : old.results)
        made.results.push_back(isImaginary ? at(value).imaginary : at(value).real);
      out.push_back(std::move(made));
    }
  }

  void own(const Operation& old, Writer& writer) {
    const ValueId result = old.results[0];
    const Type& type = from_.types[result];
    if (old.name == "real" || old.name == "imag") return set(result, at(old.operands[0]), old.name == "imag");
    if (old.name == "complex") {
      places_[result] = Place{at(old.operands[0]).real, at(old.operands[1]).real};
    } else if (old.name == "constant") {
      const auto* literal = attributeAs<Literal>(old.attributes, "value");
      const auto part = [&](bool isImaginary) {
        return writer.make("constant", {}, partType(type),
                           {{"value", Attribute{partOf(*literal, isImaginary)}}});
      };
      const ValueId real = part(false);
      places_[result] = Place{real, part(true)};
    } else if (old.name == "convert") {
      convert(old.operands[0], result, writer);
    } else if (old.name == "get_dimension_size") {
      const ValueId made = writer.make(old.name, {at(old.operands[0]).real}, type, old.attributes);
      places_[result] = Place{made, made};
    } else if (old.name == "abs") {
      const ValueId made = magnitude(wide(old.operands[0], writer)).convert(type.element).value();
      places_[result] = Place{made, made};
    } else if (old.name == "compare") {
      Real same = isEqual(parts(old.operands[0], writer), parts(old.operands[1], writer));
      const auto* direction = attributeAs<Enumerated>(old.attributes, "comparison_direction");
      if (direction && direction->name == "NE") same = same.unary("not");
      places_[result] = Place{same.value(), same.value()};
    } else {
      contraction(old, writer);
    }
  }

  void set(ValueId result, const Place& place, bool isImaginary) {
    const ValueId value = isImaginary ? place.imaginary : place.real;
    places_[result] = Place{value, value};
  }

  // The imaginary part of a real number is 0, and that of a complex one is lost on the way to a real.
  void convert(ValueId operand, ValueId result, Writer& writer) {
    const Type& type = from_.types[result];
    const Element element = isComplex(type) ? partElement(type) : type.element;
    const Real real = Real(writer, at(operand).real).convert(element);
    ValueId imaginary = real.value();
    if (isComplex(type))
      imaginary = isComplexValue(operand) ? Real(writer, at(operand).imaginary).convert(element).value()
                                          : real.number(0).value();
    places_[result] = Place{real.value(), imaginary};
  }

  // Sums of products part by part, as wide as the result.
  void contraction(const Operation& old, Writer& writer) {
    const ValueId result = old.results[0];
    const Type type = partType(from_.types[result]);
    const auto product = [&](bool left, bool right) {
      const auto side = [&](ValueId value, bool isImaginary) {
        const ValueId part = isImaginary ? at(value).imaginary : at(value).real;
        return Real(writer, part).convert(type.element).value();
      };
      return Real(writer, writer.make(old.name, {side(old.operands[0], left), side(old.operands[1], right)},
                                      type, old.attributes));
    };
    const bool isLeft = isComplexValue(old.operands[0]), isRight = isComplexValue(old.operands[1]);
    Real real = product(false, false), imaginary = real.number(0);
    if (isLeft && isRight) real = real - product(true, true);
    if (isRight) imaginary = product(false, true);
    if (isLeft) imaginary = isRight ? imaginary + product(true, false) : product(true, false);
    narrow(result, {real, imaginary});
  }

  void iota(const Operation& old, Writer& writer) {
    const Type type = partType(from_.types[old.results[0]]);
    const Real real(writer, writer.make("iota", {}, type, old.attributes));
    places_[old.results[0]] = Place{real.value(), real.number(0).value()};
  }

  Parts parts(ValueId value, Writer& writer) {
    return {Real(writer, at(value).real), Real(writer, at(value).imaginary)};
  }
  Parts wide(ValueId value, Writer& writer) {
    const Parts narrow = parts(value, writer);
    return {narrow.real.convert(Element::kF64), narrow.imaginary.convert(Element::kF64)};
  }
  void narrow(ValueId result, const Parts& parts) {
    const Element element = partElement(from_.types[result]);
    places_[result] = Place{parts.real.convert(element).value(), parts.imaginary.convert(element).value()};
  }

  void formula(const Operation& old, Writer& writer) {
    if (ComplexUnary unary = complexUnary(old.name); unary && old.operands.size() == 1)
      return narrow(old.results[0], unary(wide(old.operands[0], writer)));
    if (ComplexBinary binary = complexBinary(old.name))
      narrow(old.results[0], binary(wide(old.operands[0], writer), wide(old.operands[1], writer)));
  }

  const Function& from_;
  Function to_;
  std::vector<std::optional<Place>> places_;  // by value of the old function
};

bool hasAny(const Function& function) {
  return std::ranges::any_of(function.types, isComplex);
}

}  // namespace

bool isComplex(const Type& type) {
  return type.kind == Type::Kind::kTensor &&
         (type.element == Element::kC64 || type.element == Element::kC128);
}

bool isSplittable(const Operation& operation, const Function& function) {
  // Formulas have constants of the result's shape.
  for (const auto* list : {&operation.operands, &operation.results})
    for (ValueId value : *list)
      if (isComplex(function.types[value]) && std::ranges::count(function.types[value].shape, kDynamic) > 0)
        return false;
  if (isIn(kInPlace, operation.name) || operation.name == "sort") return true;
  if (operation.results.size() != 1) return false;
  const std::size_t operands = operation.operands.size();
  const auto areComplex = [&] {
    return std::ranges::all_of(operation.operands,
                               [&](ValueId value) { return isComplex(function.types[value]); });
  };
  if (operation.name == "constant") {
    const auto* literal = attributeAs<Literal>(operation.attributes, "value");
    return literal && literal->type == function.types[operation.results[0]];
  }
  if (operation.name == "iota") return operands == 0;
  if (operation.name == "complex") return operands == 2;
  if (operation.name == "dot" || operation.name == "dot_general")
    return operands == 2 && isComplex(function.types[operation.results[0]]);
  if (operation.name == "compare") {
    const auto* direction = attributeAs<Enumerated>(operation.attributes, "comparison_direction");
    return operands == 2 && areComplex() && direction && (direction->name == "EQ" || direction->name == "NE");
  }
  if (isIn(kMoves, operation.name)) return operands > 0 && isComplex(function.types[operation.results[0]]);
  if (operation.name == "convert") return operands == 1;
  if (isIn(kOwn, operation.name)) return operands == 1 && areComplex();
  const bool isKnown =
      (operands == 1 && complexUnary(operation.name)) || (operands == 2 && complexBinary(operation.name));
  return isKnown && areComplex() && isComplex(function.types[operation.results[0]]);
}

bool hasComplex(const Program& program) {
  return std::ranges::any_of(program.functions, hasAny);
}

Program splitComplex(const Program& program, std::span<const Function* const> reached) {
  Program result{program.form, program.producer, program.platforms, {}};
  for (const Function& function : program.functions) {
    if (!hasAny(function))
      result.functions.push_back(function);
    else if (std::ranges::find(reached, &function) != reached.end())
      result.functions.push_back(FunctionSplitter(function).run());
  }
  return result;
}

}  // namespace kiln::stablehlo
