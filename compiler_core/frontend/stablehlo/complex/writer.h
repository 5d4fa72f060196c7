// Writes operations of StableHLO on reals in the place of one on complex numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/frontend/stablehlo/program/element.h"
#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// Adds operations to a region of `function`, whose values it numbers. Lives no longer than both.
class Writer {
 public:
  Writer(Function& function, std::vector<Operation>& operations, std::string location)
      : function_(function), operations_(operations), location_(std::move(location)) {}

  ValueId value(Type type) {
    function_.types.push_back(std::move(type));
    return static_cast<ValueId>(function_.types.size() - 1);
  }
  void add(Operation operation) {
    operation.location = location_;
    operations_.push_back(std::move(operation));
  }
  ValueId make(std::string_view name, std::vector<ValueId> operands, Type type, Attributes attributes = {});
  const Type& typeOf(ValueId value) const { return function_.types[value]; }

 private:
  Function& function_;
  std::vector<Operation>& operations_;
  std::string location_;
};

// A tensor of reals in a formula: all of one formula have one type.
class Real {
 public:
  Real(Writer& writer, ValueId value) : writer_(&writer), value_(value) {}

  ValueId value() const { return value_; }
  Real number(double value) const;
  Real unary(std::string_view name) const;
  Real binary(std::string_view name, const Real& other) const;
  // A mask, which is of i1.
  Real compare(std::string_view direction, const Real& other) const;
  // This one is a mask.
  Real select(const Real& onTrue, const Real& onFalse) const;
  Real convert(Element element) const;

 private:
  Writer* writer_;
  ValueId value_;
};

inline Real operator+(const Real& a, const Real& b) {
  return a.binary("add", b);
}
inline Real operator-(const Real& a, const Real& b) {
  return a.binary("subtract", b);
}
inline Real operator*(const Real& a, const Real& b) {
  return a.binary("multiply", b);
}
inline Real operator/(const Real& a, const Real& b) {
  return a.binary("divide", b);
}
inline Real operator-(const Real& a) {
  return a.unary("negate");
}

struct Parts {
  Real real, imaginary;
};

}  // namespace kiln::stablehlo
