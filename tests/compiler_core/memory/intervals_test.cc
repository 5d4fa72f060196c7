// Bounds of index values: random programs, each run at random values of its symbols and loop variables.
#include "compiler_core/memory/intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace kiln::memory {
namespace {

using mlir::AffineExpr;
using mlir::Value;

std::int64_t floorOf(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

class Program {
 public:
  Program() {
    context_.disableMultithreading();
    context_.loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                         mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  }

  // A function whose arguments are its symbols: %s0, %s1... of type index, then `arguments`. Each operation
  // with the attribute `what` is found by value().
  void parse(int symbols, const std::string& body, const std::string& arguments = "") {
    std::string text = "func.func @main(";
    for (int i = 0; i < symbols; ++i)
      text +=
          (i ? ", %s" : "%s") + std::to_string(i) + ": index {kiln.symbol = " + std::to_string(i) + " : i64}";
    text += arguments;
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text + ") {\n" + body + "\nreturn\n}", &context_);
    ASSERT_TRUE(module_) << text << body;
  }
  Value value(llvm::StringRef what = "what") {
    Value found;
    module_->walk([&](mlir::Operation* op) {
      if (op->hasAttr(what)) found = op->getResult(0);
    });
    return found;
  }
  std::optional<ir::Range> range(llvm::ArrayRef<ir::Range> symbols) { return Intervals(symbols).of(value()); }
  std::optional<std::int64_t> extent(llvm::ArrayRef<ir::Range> symbols, unsigned dim) {
    return Intervals(symbols).extent(value(), dim);
  }

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

testing::Matcher<const std::optional<ir::Range>&> is(std::int64_t min, std::int64_t max) {
  return testing::Optional(ir::Range{min, max});
}

// An index from memory, %l, is bounded by nothing.
const std::string kLoaded =
    "%m = memref.alloc() : memref<1xindex>\n%c0 = arith.constant 0 : index\n"
    "%l = memref.load %m[%c0] : memref<1xindex>\n";

// A random calculation as text, with a value for one assignment of its symbols computed beside it.
class Calculation {
 public:
  Calculation(unsigned seed, int symbols) : random_(seed) {
    for (int i = 0; i < symbols; ++i) {
      const std::int64_t min = pick(-9, 20);
      ranges.push_back({min, min + pick(0, 25)});
      names_.push_back("%s" + std::to_string(i));
    }
    for (int step = 0; step < 6; ++step) grow(step == 5);
  }

  // The last value, for symbols that have these.
  std::optional<std::int64_t> run(const std::vector<std::int64_t>& symbols) const {
    std::vector<std::int64_t> values = symbols;
    for (const Step& step : steps_) {
      const std::int64_t a = values[step.a], b = values[step.b], c = values[step.c];
      switch (step.kind) {
        case 0:
          values.push_back(a + b);
          break;
        case 1:
          values.push_back(a - b);
          break;
        case 2:
          values.push_back(a * b);
          break;
        case 3:
        case 4:
        case 5:
        case 6: {
          // Divided by what is at least 1, as maxsi with 1 makes it.
          const std::int64_t by = std::max<std::int64_t>(b, 1);
          values.push_back(step.kind == 3   ? a / by
                           : step.kind == 4 ? floorOf(a, by)
                           : step.kind == 5 ? -floorOf(-a, by)
                                            : a % by);
          break;
        }
        case 7:
          values.push_back(std::min(a, b));
          break;
        case 8:
          values.push_back(std::max(a, b));
          break;
        case 9:
          values.push_back(symbols[0] < 5 ? a : b);
          break;
        case 10:
          values.push_back(a + 2 * b - 3);
          break;
        case 11:
          values.push_back(std::min(a, b - c));
          break;
        case 12:
          values.push_back(std::max({a, b + c, std::int64_t{7}}));
          break;
        default:
          values.push_back(floorOf(a + 3, 4) * 4 + (b % 5 + 5) % 5);
          break;
      }
      if (std::abs(values.back()) > (std::int64_t{1} << 30)) return std::nullopt;
    }
    return values.back();
  }

  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }

  std::vector<ir::Range> ranges;
  std::string text;

 private:
  struct Step {
    int kind;
    std::size_t a, b, c;
  };

  void grow(bool isLast) {
    static const char* const kOps[] = {"addi",      "subi",  "muli",  "divsi", "floordivsi",
                                       "ceildivsi", "remsi", "minsi", "maxsi"};
    const auto any = [&] {
      return static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(names_.size()) - 1));
    };
    Step step{static_cast<int>(pick(0, 13)), any(), any(), any()};
    const std::string name = "%v" + std::to_string(steps_.size()), a = names_[step.a], b = names_[step.b],
                      c = names_[step.c], mark = isLast ? " {what}" : "";
    std::string by = b;
    if (step.kind >= 3 && step.kind <= 6) {
      by = name + "by";
      text += name + "one = arith.constant 1 : index\n" + by + " = arith.maxsi " + b + ", " + name +
              "one : index\n";
    }
    if (step.kind < 9)
      text += name + " = arith." + kOps[step.kind] + " " + a + ", " + by + mark + " : index\n";
    else if (step.kind == 9)
      text += name + "five = arith.constant 5 : index\n" + name + "c = arith.cmpi slt, %s0, " + name +
              "five : index\n" + name + " = arith.select " + name + "c, " + a + ", " + b + mark +
              " : index\n";
    else if (step.kind == 10)
      text +=
          name + " = affine.apply affine_map<(a)[b] -> (a + b * 2 - 3)>(" + a + ")[" + b + "]" + mark + "\n";
    else if (step.kind == 11)
      text += name + " = affine.min affine_map<(a, b)[c] -> (a, b - c)>(" + a + ", " + b + ")[" + c + "]" +
              mark + "\n";
    else if (step.kind == 12)
      text += name + " = affine.max affine_map<(a, b)[c] -> (a, b + c, 7)>(" + a + ", " + b + ")[" + c + "]" +
              mark + "\n";
    else
      text += name + " = affine.apply affine_map<(a, b) -> ((a ceildiv 4) * 4 + b mod 5)>(" + a + ", " + b +
              ")" + mark + "\n";
    steps_.push_back(step);
    names_.push_back(name);
  }

  std::mt19937 random_;
  std::vector<Step> steps_;
  std::vector<std::string> names_;
};

TEST(Intervals, HoldWhateverACalculationGives) {
  int bounded = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    Calculation calculation(seed, 3);
    Program program;
    program.parse(3, calculation.text);
    if (HasFatalFailure()) return;
    const auto range = program.range(calculation.ranges);
    if (!range) continue;
    ++bounded;
    for (int run = 0; run < 60; ++run) {
      std::vector<std::int64_t> symbols;
      for (const ir::Range& symbol : calculation.ranges) {
        const std::int64_t at = calculation.pick(0, 3);
        symbols.push_back(at == 0   ? symbol.min
                          : at == 1 ? symbol.max
                                    : calculation.pick(symbol.min, symbol.max));
      }
      const auto value = calculation.run(symbols);
      if (!value) continue;
      ASSERT_TRUE(*value >= range->min && *value <= range->max)
          << *value << " is outside " << range->min << " to " << range->max << ", seed " << seed << ":\n"
          << calculation.text;
    }
  }
  EXPECT_GT(bounded, 300);
}

TEST(Intervals, OfALoopVariableReachItsLastValueAndNoFurther) {
  Program program;
  // The loop's own end is a symbol; a loop that may not run still has its first value.
  const std::string loop =
      "%c2 = arith.constant 2 : index\n%c1 = arith.constant 1 : index\n"
      "scf.for %i = %s0 to %s1 step %c1 {\n%x = arith.muli %i, %c2 {what} : index\n}";
  program.parse(2, loop);
  EXPECT_THAT(program.range({{3, 5}, {7, 40}}), is(6, 78));
  EXPECT_THAT(program.range({{3, 5}, {0, 2}}), is(6, 6));
  EXPECT_THAT(program.range({{3, 5}, {4, 4}}), is(6, 6));
  EXPECT_EQ(program.range({{3, 5}}), std::nullopt);
  // Both variables of a nest, one of them counting blocks.
  program.parse(2,
                "%c0 = arith.constant 0 : index\n%c8 = arith.constant 8 : index\n"
                "scf.forall (%i, %j) = (%s0, 0) to (%s1, 10) step (4, 3) {\n"
                "%a = arith.muli %i, %c8 : index\n%x = arith.addi %a, %j {what} : index\n}");
  EXPECT_THAT(program.range({{2, 2}, {5, 9}}), is(16, 73));
  program.parse(1,
                "%c1 = arith.constant 1 : index\n%c0 = arith.constant 0 : index\n"
                "scf.for %i = %c0 to %s0 step %c1 {\n"
                "scf.for %j = %c0 to %i step %c1 {\n%x = arith.subi %i, %j {what} : index\n}\n}");
  EXPECT_THAT(program.range({{1, 6}}), is(-4, 5));
}

TEST(Intervals, OfALoopVariableNeedBothEndsOfItsLoop) {
  Program program;
  // An affine loop states only those ends that are numbers. The loop around it states both.
  const auto nest = [&](const std::string& ends) {
    program.parse(2, "affine.for %i = 0 to 4 {\naffine.for %j = " + ends +
                         " {\n%x = arith.addi %i, %j {what} : index\n}\n}");
    return program.range({{1, 6}, {7, 9}});
  };
  EXPECT_THAT(nest("2 to 10"), is(2, 12));
  EXPECT_EQ(nest("2 to %s1"), std::nullopt);
  EXPECT_EQ(nest("%s0 to 10"), std::nullopt);
  EXPECT_EQ(nest("%s0 to %s1"), std::nullopt);
  for (const char* ends : {"%l to %s0", "%s0 to %l", "%l to %l"}) {
    program.parse(1, kLoaded + "%c1 = arith.constant 1 : index\nscf.for %i = " + ends +
                         " step %c1 {\n%x = arith.addi %i, %i {what} : index\n}");
    EXPECT_EQ(program.range({{1, 6}}), std::nullopt) << ends;
  }
}

TEST(Intervals, OfArgumentsThatAreNoLoopVariablesAreUnknown) {
  Program program;
  program.parse(1, "%x = arith.addi %s0, %p {what} : index", ", %p: index");
  EXPECT_EQ(program.range({{1, 6}}), std::nullopt) << "no symbol";
  program.parse(2,
                "%c1 = arith.constant 1 : index\n"
                "%r = scf.for %i = %s0 to %s1 step %c1 iter_args(%a = %c1) -> (index) {\n"
                "%x = arith.addi %a, %a {what} : index\nscf.yield %x : index\n}");
  EXPECT_EQ(program.range({{1, 6}, {7, 9}}), std::nullopt) << "carried from one turn to the next";
  program.parse(2,
                "%r = scf.while (%w = %s0) : (index) -> index {\n"
                "%x = arith.addi %w, %w {what} : index\n%c = arith.cmpi slt, %x, %s1 : index\n"
                "scf.condition(%c) %x : index\n} do {\n^bb0(%b: index):\nscf.yield %b : index\n}");
  EXPECT_EQ(program.range({{1, 6}, {7, 9}}), std::nullopt) << "a loop without variables";
  program.parse(0,
                "%m = memref.alloc() : memref<1xi32>\n%c0 = arith.constant 0 : index\n"
                "%r = memref.generic_atomic_rmw %m[%c0] : memref<1xi32> {\n^bb0(%old: i32):\n"
                "%x = arith.index_cast %old {what} : i32 to index\nmemref.atomic_yield %old : i32\n}");
  EXPECT_EQ(program.range({}), std::nullopt) << "no loop";
}

TEST(Intervals, OfProductsAndQuotientsReachTheirCorners) {
  const auto of = [](const std::string& op, ir::Range a, ir::Range b) {
    Program program;
    program.parse(2, "%x = arith." + op + " %s0, %s1 {what} : index");
    return program.range({a, b});
  };
  EXPECT_THAT(of("muli", {-3, 4}, {-5, 6}), is(-20, 24));
  EXPECT_THAT(of("muli", {-3, -2}, {-7, -5}), is(10, 21));
  EXPECT_THAT(of("subi", {1, 4}, {2, 9}), is(-8, 2));
  EXPECT_THAT(of("floordivsi", {-7, 7}, {2, 3}), is(-4, 3));
  EXPECT_THAT(of("ceildivsi", {-7, 7}, {2, 3}), is(-3, 4));
  EXPECT_THAT(of("divsi", {-7, 7}, {2, 2}), is(-4, 4));  // holds -3 to 3
  EXPECT_THAT(of("remsi", {-100, 100}, {3, 8}), is(-7, 7));
  EXPECT_THAT(of("remsi", {-100, 100}, {1, 8}), is(-7, 7));
  EXPECT_THAT(of("remsi", {-100, 100}, {1, 1}), is(0, 0));
  EXPECT_EQ(of("remsi", {1, 9}, {-4, -1}), std::nullopt);
  EXPECT_THAT(of("minsi", {-2, 9}, {1, 4}), is(-2, 4));
  EXPECT_THAT(of("maxsi", {-2, 9}, {1, 4}), is(1, 9));
  for (const char* op : {"floordivsi", "ceildivsi", "divsi", "remsi"})
    EXPECT_EQ(of(op, {1, 9}, {0, 4}), std::nullopt) << op;  // by zero
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(of("muli", {large, large}, {large, large}), std::nullopt);
}

TEST(Intervals, OneKnownSideOfAMinimumBoundsIt) {
  Program program;
  // What is clamped by a symbol is bounded by it.
  for (const char* sides : {"%l, %s0", "%s0, %l"}) {
    program.parse(1, kLoaded + "%x = arith.minsi " + sides + " {what} : index");
    ASSERT_TRUE(program.range({{3, 8}}));
    EXPECT_EQ(program.range({{3, 8}})->max, 8);
    EXPECT_LE(program.range({{3, 8}})->min, -(1 << 30));
    program.parse(1, kLoaded + "%x = arith.maxsi " + sides + " {what} : index");
    EXPECT_EQ(program.range({{3, 8}}), std::nullopt);
  }
}

TEST(Intervals, OfWhatComesFromUnknownValuesAreUnknown) {
  for (const char* calculation :
       {"arith.minsi %l, %l {what} : index", "arith.maxsi %l, %l {what} : index",
        "arith.addi %l, %s0 {what} : index", "arith.muli %s0, %l {what} : index",
        "arith.divsi %s0, %l {what} : index", "arith.remsi %s0, %l {what} : index",
        "arith.select %true, %l, %s0 {what} : index", "arith.select %true, %s0, %l {what} : index",
        "affine.apply affine_map<(a)[b] -> (a + b)>(%s0)[%l] {what}",
        "affine.min affine_map<(a)[b] -> (a, b)>(%s0)[%l] {what}",
        "affine.max affine_map<(a)[b] -> (a, b)>(%s0)[%l] {what}"}) {
    Program program;
    program.parse(1, kLoaded + "%true = arith.constant true\n%x = " + calculation);
    EXPECT_EQ(program.range({{3, 8}}), std::nullopt) << calculation;
  }
}

TEST(Intervals, OfValuesBeyondTheirNumbersAreUnknown) {
  const std::int64_t large = std::int64_t{1} << 40;
  for (const char* op :
       {"apply affine_map<(a) -> (a * 1000000000)>", "min affine_map<(a) -> (1, a * 1000000000)>",
        "max affine_map<(a) -> (a * 1000000000, 1)>"}) {
    Program program;
    program.parse(1, "%x = affine." + std::string(op) + "(%s0) {what}");
    EXPECT_TRUE(program.range({{0, 4}})) << op;
    EXPECT_EQ(program.range({{0, large}}), std::nullopt) << op;
  }
}

TEST(Intervals, OfConstantsAreTheirNumber) {
  Program program;
  program.parse(0, "%x = arith.constant {what} -7 : index");
  EXPECT_THAT(program.range({}), is(-7, -7));
  for (const char* other : {"1.5 : f32", "dense<1> : vector<4xindex>"}) {
    program.parse(0, "%x = arith.constant {what} " + std::string(other));
    EXPECT_EQ(program.range({}), std::nullopt) << other;
  }
  program.parse(1,
                "%a = arith.index_cast %s0 : index to i64\n%x = arith.index_cast %a {what} : i64 to index");
  EXPECT_THAT(program.range({{3, 8}}), is(3, 8)) << "whatever its width";
}

TEST(Intervals, OfBuffersAreTheirLargestExtents) {
  Program program;
  program.parse(2, "%x = memref.alloc(%s0, %s1) {what} : memref<?x4x?xf32>");
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 0), 6);
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 1), 4);
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 2), 9);
  EXPECT_EQ(program.extent({{-6, -1}, {2, 9}}, 0), 0);
  EXPECT_EQ(program.extent({{1, 6}}, 2), std::nullopt);
  // Two dimensions folded into one are their product.
  program.parse(
      2,
      "%m = memref.alloc(%s0, %s1) : memref<?x?x3xf32>\n"
      "%x = memref.collapse_shape %m [[0, 1], [2]] {what} : memref<?x?x3xf32> into memref<?x3xf32>");
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 0), 54);
  // A part, seen through its own sizes.
  program.parse(2,
                "%m = memref.alloc(%s0, %s1) : memref<?x?xf32>\n"
                "%x = memref.subview %m[0, 0] [%s1, %s0] [1, 1] {what} : memref<?x?xf32> to memref<?x?xf32, "
                "strided<[?, 1]>>");
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 0), 9);
  program.parse(2,
                "%m = memref.alloc(%s0) : memref<?xf32>\n"
                "%x = memref.reinterpret_cast %m to offset: [0], sizes: [%s1, 3], strides: [3, 1] {what} : "
                "memref<?xf32> to memref<?x3xf32, strided<[3, 1]>>");
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 0), 9);
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 1), 3);
  program.parse(2,
                "%m = memref.alloc(%s0) : memref<?xf32>\n"
                "%x = memref.expand_shape %m [[0, 1]] output_shape [%s1, 3] {what} : memref<?xf32> into "
                "memref<?x3xf32>");
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 0), 9);
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 1), 3);
}

TEST(Intervals, OfABufferWithDroppedDimensionsAreUnknown) {
  Program program;
  program.parse(2,
                "%m = memref.alloc(%s0, %s1) : memref<?x?xf32>\n"
                "%x = memref.subview %m[0, 0] [1, %s1] [1, 1] {what} : memref<?x?xf32> to memref<?xf32, "
                "strided<[1]>>");
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 0), std::nullopt);
}

TEST(Intervals, OfBuffersThatAreGivenComeFromTheirShapes) {
  Program program;
  const std::string cast = "%x = memref.cast %b {what} : memref<?x4x?xf32> to memref<?x?x?xf32>";
  program.parse(2, cast,
                ", %b: memref<?x4x?xf32> {kiln.shape = affine_map<()[s0, s1] -> (s1, 4, s0 * 2 + s1)>}");
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 0), 9);
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 1), 4);
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 2), 21);
  EXPECT_EQ(program.extent({{1, 6}}, 0), std::nullopt) << "a symbol without a range";
  program.parse(2, cast, ", %b: memref<?x4x?xf32>");
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 0), std::nullopt) << "no shape";
  EXPECT_EQ(program.extent({{1, 6}, {2, 9}}, 1), 4);
}

TEST(Intervals, OfOtherBuffersAreKnownWhereTheTypeSaysThem) {
  Program program;
  program.parse(1, "%x = memref.alloca(%s0) {what} : memref<?x4xf32>");
  EXPECT_EQ(program.extent({{1, 6}}, 0), std::nullopt);
  EXPECT_EQ(program.extent({{1, 6}}, 1), 4);
  // A buffer that a loop carries from one turn to the next.
  program.parse(1,
                "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
                "%m = memref.alloc(%s0) : memref<?x4xf32>\n"
                "%r = scf.for %i = %c0 to %s0 step %c1 iter_args(%b = %m) -> (memref<?x4xf32>) {\n"
                "%x = memref.cast %b {what} : memref<?x4xf32> to memref<?x?xf32>\n"
                "scf.yield %b : memref<?x4xf32>\n}");
  EXPECT_EQ(program.extent({{1, 6}}, 0), std::nullopt);
  EXPECT_EQ(program.extent({{1, 6}}, 1), 4);
  program.parse(1,
                "%m = memref.alloc(%s0) : memref<?xf32>\n"
                "%x = memref.cast %m {what} : memref<?xf32> to memref<*xf32>");
  EXPECT_EQ(program.extent({{1, 6}}, 0), std::nullopt) << "no rank";
  // One factor of a product is unknown.
  program.parse(1,
                "%m = memref.alloca(%s0) : memref<?x4xf32>\n"
                "%x = memref.collapse_shape %m [[0, 1]] {what} : memref<?x4xf32> into memref<?xf32>");
  EXPECT_EQ(program.extent({{1, 6}}, 0), std::nullopt);
}

TEST(Intervals, OfABuffersDimensionAreItsExtent) {
  Program program;
  const std::string sizes =
      "%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : index\n"
      "%m = memref.alloc(%s0, %s1) : memref<?x4x?xf32>\n";
  program.parse(2, sizes +
                       "%d = memref.dim %m, %c2 : memref<?x4x?xf32>\n"
                       "%x = arith.addi %d, %c0 {what} : index");
  EXPECT_THAT(program.range({{1, 6}, {2, 9}}), is(2, 9));
  program.parse(2, sizes +
                       "%d = memref.dim %m, %s0 : memref<?x4x?xf32>\n"
                       "%x = arith.addi %d, %c0 {what} : index");
  EXPECT_EQ(program.range({{1, 2}, {2, 9}}), std::nullopt) << "which dimension is found out by the run";
}

}  // namespace
}  // namespace kiln::memory
