#include "compiler_core/frontend/stablehlo/complex/writer.h"

#include <array>
#include <bit>
#include <cstring>

namespace kiln::stablehlo {

static_assert(std::endian::native == std::endian::little);

ValueId Writer::make(std::string_view name, std::vector<ValueId> operands, Type type, Attributes attributes) {
  const ValueId result = value(std::move(type));
  add({std::string(name), std::move(operands), {result}, std::move(attributes), {}, {}});
  return result;
}

Real Real::number(double value) const {
  const Type& type = writer_->typeOf(value_);
  auto bytes = std::make_shared<std::array<std::uint8_t, sizeof(double)>>();
  std::memcpy(bytes->data(), &value, sizeof value);
  Literal literal{type, true, {bytes->data(), sizeof(double)}, bytes};
  if (type.element == Element::kF32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(bytes->data(), &narrow, sizeof narrow);
    literal.bytes = {bytes->data(), sizeof narrow};
  }
  return {*writer_, writer_->make("constant", {}, type, {{"value", Attribute{std::move(literal)}}})};
}

Real Real::unary(std::string_view name) const {
  return {*writer_, writer_->make(name, {value_}, writer_->typeOf(value_))};
}

Real Real::binary(std::string_view name, const Real& other) const {
  return {*writer_, writer_->make(name, {value_, other.value_}, writer_->typeOf(value_))};
}

Real Real::compare(std::string_view direction, const Real& other) const {
  return {*writer_, writer_->make("compare", {value_, other.value_},
                                  tensorType(Element::kI1, writer_->typeOf(value_).shape),
                                  {{"comparison_direction", Attribute{Enumerated{std::string(direction)}}},
                                   {"compare_type", Attribute{Enumerated{"NOTYPE"}}}})};
}

Real Real::select(const Real& onTrue, const Real& onFalse) const {
  return {*writer_,
          writer_->make("select", {value_, onTrue.value_, onFalse.value_}, writer_->typeOf(onTrue.value_))};
}

Real Real::convert(Element element) const {
  if (writer_->typeOf(value_).element == element) return *this;
  return {*writer_, writer_->make("convert", {value_}, tensorType(element, writer_->typeOf(value_).shape))};
}

}  // namespace kiln::stablehlo
