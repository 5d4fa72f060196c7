#include "compiler_core/frontend/stablehlo/complex/formulas.h"

#include <algorithm>
#include <limits>

namespace kiln::stablehlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Real absolute(const Real& x) {
  return x.unary("abs");
}

Parts add(const Parts& a, const Parts& b) {
  return {a.real + b.real, a.imaginary + b.imaginary};
}

Parts subtract(const Parts& a, const Parts& b) {
  return {a.real - b.real, a.imaginary - b.imaginary};
}

Parts negate(const Parts& z) {
  return {-z.real, -z.imaginary};
}

Parts multiply(const Parts& a, const Parts& b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

Parts square(const Parts& z) {
  return multiply(z, z);
}

// By the larger part of the divisor (Smith), so that nothing overflows that need not.
Parts divide(const Parts& a, const Parts& b) {
  const Real isWide = absolute(b.real).compare("GE", absolute(b.imaginary));
  const Real large = isWide.select(b.real, b.imaginary), small = isWide.select(b.imaginary, b.real);
  const Real ratio = small / large, under = large + small * ratio;
  const Real first = isWide.select(a.real, a.imaginary), second = isWide.select(a.imaginary, a.real);
  const Real real = (first + second * ratio) / under, other = (second - first * ratio) / under;
  return {real, isWide.select(other, -other)};
}

Parts times(const Parts& z, const Real& factor) {
  return {z.real * factor, z.imaginary * factor};
}

Parts one(const Parts& z) {
  return {z.real.number(1), z.real.number(0)};
}

// A part that is 0 stays 0 beside an infinite factor.
Real orZero(const Real& part, const Real& product) {
  return part.compare("EQ", part.number(0)).select(part, product);
}

Parts exponential(const Parts& z) {
  const Real size = z.real.unary("exponential");
  return {size * z.imaginary.unary("cosine"), orZero(z.imaginary, size * z.imaginary.unary("sine"))};
}

Parts exponentialMinusOne(const Parts& z) {
  const Real half = (z.imaginary * z.imaginary.number(0.5)).unary("sine");
  const Real real =
      z.real.unary("exponential_minus_one") * z.imaginary.unary("cosine") - half * half * half.number(2);
  return {real, exponential(z).imaginary};
}

Parts logarithm(const Parts& z) {
  return {magnitude(z).unary("log"), z.imaginary.binary("atan2", z.real)};
}

Parts logarithmPlusOne(const Parts& z) {
  const Real x = z.real, y = z.imaginary;
  const Real near = (x * (x + x.number(2)) + y * y).unary("log_plus_one") * x.number(0.5);
  const Parts moved{x + x.number(1), y};
  const Real isNear =
      absolute(x).compare("LT", x.number(0.5)).binary("and", absolute(y).compare("LT", y.number(0.5)));
  return {isNear.select(near, magnitude(moved).unary("log")), y.binary("atan2", moved.real)};
}

Parts squareRoot(const Parts& z) {
  const Real x = z.real, y = z.imaginary;
  // The larger of both parts first, without cancellation.
  const Real root = ((magnitude(z) + absolute(x)) * x.number(0.5)).unary("sqrt");
  const Real other = absolute(y) / (root * x.number(2));
  const Real isRight = x.compare("GE", x.number(0)), isZero = root.compare("EQ", root.number(0));
  const Real real = isRight.select(root, other), size = isRight.select(other, root);
  const Real isBelow = y.compare("LT", y.number(0));
  return {isZero.select(root, real), isZero.select(y, isBelow.select(-size, size))};
}

Parts reciprocalRoot(const Parts& z) {
  return divide(one(z), squareRoot(z));
}

Parts power(const Parts& a, const Parts& b) {
  const Parts result = exponential(multiply(b, logarithm(a)));
  const Real zero = a.real.number(0);
  const Parts none{zero, zero};
  const Real isNone = isEqual(a, none), isPlain = isEqual(b, none);
  const Real atNone = isPlain.select(a.real.number(1), zero);
  return {isNone.select(atNone, result.real), isNone.select(zero, result.imaginary)};
}

Parts hyperbolicSine(const Parts& z) {
  return {orZero(z.real, z.real.unary("chlo.sinh") * z.imaginary.unary("cosine")),
          orZero(z.imaginary, z.real.unary("chlo.cosh") * z.imaginary.unary("sine"))};
}

Parts hyperbolicCosine(const Parts& z) {
  return {z.real.unary("chlo.cosh") * z.imaginary.unary("cosine"),
          z.real.unary("chlo.sinh") * z.imaginary.unary("sine")};
}

Parts hyperbolicTangent(const Parts& z) {
  const Real slope = z.real.unary("tanh"), turn = z.imaginary.unary("tan");
  const Real wide = z.real.unary("chlo.cosh"), oneHere = z.real.number(1);
  const Real turns = turn * turn, under = oneHere + slope * slope * turns;
  return {slope * (oneHere + turns) / under, turn / (wide * wide) / under};
}

// A function of i z, and that turned back.
Parts turned(const Parts& z) {
  return {-z.imaginary, z.real};
}
Parts turnedBack(const Parts& z) {
  return {z.imaginary, -z.real};
}

Parts sine(const Parts& z) {
  return turnedBack(hyperbolicSine(turned(z)));
}

Parts cosine(const Parts& z) {
  return hyperbolicCosine(turned(z));
}

Parts tangent(const Parts& z) {
  return turnedBack(hyperbolicTangent(turned(z)));
}

Parts logistic(const Parts& z) {
  return divide(one(z), add(one(z), exponential(negate(z))));
}

Parts sign(const Parts& z) {
  const Real size = magnitude(z), isZero = size.compare("EQ", size.number(0));
  return {isZero.select(z.real, z.real / size), isZero.select(z.imaginary, z.imaginary / size)};
}

Parts areaTangent(const Parts& z) {
  return times(subtract(logarithmPlusOne(z), logarithmPlusOne(negate(z))), z.real.number(0.5));
}

Parts arcTangent(const Parts& z) {
  return turnedBack(areaTangent(turned(z)));
}

// By the real parts, then by the imaginary ones; NaN wins.
template <bool isLargest>
Parts chosen(const Parts& a, const Parts& b) {
  const auto isNan = [](const Parts& z) {
    return z.real.compare("NE", z.real).binary("or", z.imaginary.compare("NE", z.imaginary));
  };
  const std::string_view direction = isLargest ? "GT" : "LT";
  const Real isTied = a.real.compare("EQ", b.real).binary("and", a.imaginary.compare(direction, b.imaginary));
  const Real takesFirst = isNan(a).binary("or", a.real.compare(direction, b.real).binary("or", isTied));
  const Real isSecondNan = isNan(b).binary("and", isNan(a).unary("not"));
  const Real isFirst = takesFirst.binary("and", isSecondNan.unary("not"));
  return {isFirst.select(a.real, b.real), isFirst.select(a.imaginary, b.imaginary)};
}

struct UnaryRow {
  std::string_view name;
  ComplexUnary formula;
};
constexpr UnaryRow kUnary[] = {{"chlo.atan", arcTangent},
                               {"chlo.atanh", areaTangent},
                               {"chlo.cosh", hyperbolicCosine},
                               {"chlo.sinh", hyperbolicSine},
                               {"chlo.square", square},
                               {"chlo.tan", tangent},
                               {"cosine", cosine},
                               {"exponential", exponential},
                               {"exponential_minus_one", exponentialMinusOne},
                               {"log", logarithm},
                               {"log_plus_one", logarithmPlusOne},
                               {"logistic", logistic},
                               {"negate", negate},
                               {"rsqrt", reciprocalRoot},
                               {"sign", sign},
                               {"sine", sine},
                               {"sqrt", squareRoot},
                               {"tan", tangent},
                               {"tanh", hyperbolicTangent}};

struct BinaryRow {
  std::string_view name;
  ComplexBinary formula;
};
constexpr BinaryRow kBinary[] = {
    {"add", add},           {"divide", divide}, {"maximum", chosen<true>}, {"minimum", chosen<false>},
    {"multiply", multiply}, {"power", power},   {"subtract", subtract}};

}  // namespace

ComplexUnary complexUnary(std::string_view name) {
  const auto* found = std::ranges::find(kUnary, name, &UnaryRow::name);
  return found == std::end(kUnary) ? nullptr : found->formula;
}

ComplexBinary complexBinary(std::string_view name) {
  const auto* found = std::ranges::find(kBinary, name, &BinaryRow::name);
  return found == std::end(kBinary) ? nullptr : found->formula;
}

Real magnitude(const Parts& z) {
  const Real x = absolute(z.real), y = absolute(z.imaginary);
  const Real large = x.binary("maximum", y), small = x.binary("minimum", y);
  const Real ratio = small / large;
  const Real size = large * (ratio.number(1) + ratio * ratio).unary("sqrt");
  const Real infinity = x.number(kInfinity);
  const Real isInfinite = x.compare("EQ", infinity).binary("or", y.compare("EQ", infinity));
  return isInfinite.select(infinity, large.compare("EQ", large.number(0)).select(large, size));
}

Real isEqual(const Parts& a, const Parts& b) {
  return a.real.compare("EQ", b.real).binary("and", a.imaginary.compare("EQ", b.imaginary));
}

}  // namespace kiln::stablehlo
