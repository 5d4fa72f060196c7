// The facts that stages leave on the IR for each other, typed. kiln_attributes.td says where each stands,
// what it means, and what it means that one is absent; what must be there is asked for with require() or
// expect().
#pragma once

#include <cstdint>
#include <utility>

#include "compiler_core/ir/ir.h"
#include "manifest/base/result.h"

namespace kiln::ir {

// "'func.func' op @main lacks kiln.offset" as an error at the operation.
mlir::InFlightDiagnostic lacks(mlir::Operation* op, llvm::StringRef attribute);
mlir::InFlightDiagnostic lacks(mlir::func::FuncOp function, unsigned argument, llvm::StringRef attribute);
// The same as Code::kInternal, for those who stand outside of passes.
tl::unexpected<Error> missing(mlir::Operation* op, llvm::StringRef attribute);

// An attribute of the dialect. `Helper` is the class that ODS makes of its definition; `Type` differs from
// the definition's where one name has a type per kind of operation.
template <typename Helper, typename Type = decltype(std::declval<Helper&>().getAttr(nullptr))>
struct Fact {
  static constexpr llvm::StringLiteral kName = Helper::getNameStr();

  // Null where it is absent: only for facts whose absence has a meaning.
  static Type get(mlir::Operation* op) { return op->getAttrOfType<Type>(kName); }
  static Type get(mlir::func::FuncOp function, unsigned argument) {
    return function.getArgAttrOfType<Type>(argument, kName);
  }
  static Type ofResult(mlir::func::FuncOp function, unsigned result) {
    return function.getResultAttrOfType<Type>(result, kName);
  }
  static Type in(const mlir::NamedAttrList& attributes) {
    return llvm::dyn_cast_or_null<Type>(attributes.get(kName));
  }

  // Failure where it is absent or of another type: an error that names the attribute and the operation has
  // been emitted. Code::kInternal for those who asked for the stage.
  static mlir::FailureOr<Type> require(mlir::Operation* op) {
    if (Type value = get(op)) return value;
    return lacks(op, kName);
  }
  static mlir::FailureOr<Type> require(mlir::func::FuncOp function, unsigned argument) {
    if (Type value = get(function, argument)) return value;
    return lacks(function, argument, kName);
  }

  static Result<Type> expect(mlir::Operation* op) {
    if (Type value = get(op)) return value;
    return missing(op, kName);
  }

  static bool isOn(mlir::Operation* op) { return op->hasAttr(kName); }
  static bool isOn(mlir::func::FuncOp function, unsigned argument) {
    return function.getArgAttr(argument, kName) != mlir::Attribute();
  }

  static void set(mlir::Operation* op, Type value) { op->setAttr(kName, value); }
  static void set(mlir::NamedAttrList& attributes, Type value) { attributes.set(kName, value); }
  static void remove(mlir::Operation* op) { op->removeAttr(kName); }
  // For a list of attributes that is made at once.
  static mlir::NamedAttribute named(Type value) { return {kName, value}; }
};

using NameAttr = Fact<KilnDialect::NameAttrHelper>;
using SymbolsAttr = Fact<KilnDialect::SymbolsAttrHelper>;
using ProfileAttr = Fact<KilnDialect::ProfileAttrHelper>;
using IndexChecksAttr = Fact<KilnDialect::IndexChecksAttrHelper>;
using TargetAttr = Fact<KilnDialect::TargetAttrHelper>;

using InputAttr = Fact<KilnDialect::InputAttrHelper>;
using OutputAttr = Fact<KilnDialect::OutputAttrHelper>;
using WeightAttr = Fact<KilnDialect::WeightAttrHelper>;
using SourceAttr = Fact<KilnDialect::SourceAttrHelper>;
using PermutationAttr = Fact<KilnDialect::PermutationAttrHelper>;
using WinogradAttr = Fact<KilnDialect::WinogradAttrHelper>;
using PanelsAttr = Fact<KilnDialect::PanelsAttrHelper>;
using DotLayoutAttr = Fact<KilnDialect::WordsAttrHelper, mlir::DenseI64ArrayAttr>;  // of an argument
using PacksDotAttr = Fact<KilnDialect::WordsAttrHelper, mlir::UnitAttr>;            // of an operation
using SymbolAttr = Fact<KilnDialect::SymbolAttrHelper>;
using ShapeAttr = Fact<KilnDialect::ShapeAttrHelper>;

using GroupAttr = Fact<KilnDialect::GroupAttrHelper>;
using ExtentsAttr = Fact<KilnDialect::ExtentsAttrHelper>;
using PartialsAttr = Fact<KilnDialect::PartialsAttrHelper>;
using DotAttr = Fact<KilnDialect::DotAttrHelper>;
using InitialAttr = Fact<KilnDialect::InitialAttrHelper>;
using PanelAttr = Fact<KilnDialect::PanelAttrHelper>;
using KernelAttr = Fact<KilnDialect::KernelAttrHelper>;
using FeaturesAttr = Fact<KilnDialect::FeaturesAttrHelper>;
using ContractionAttr = Fact<KilnDialect::ContractionAttrHelper>;
using Tf32Attr = Fact<KilnDialect::Tf32AttrHelper>;
using ReassociationAttr = Fact<KilnDialect::ReassociationAttrHelper>;

using OffsetAttr = Fact<KilnDialect::OffsetAttrHelper>;
using ArenaBytesAttr = Fact<KilnDialect::ArenaBytesAttrHelper>;
using ArenaTotalBytesAttr = Fact<KilnDialect::ArenaTotalBytesAttrHelper>;
using ArenaLiveBytesAttr = Fact<KilnDialect::ArenaLiveBytesAttrHelper>;
using ArenaBuffersAttr = Fact<KilnDialect::ArenaBuffersAttrHelper>;
using ArenaAliveAttr = Fact<KilnDialect::ArenaAliveAttrHelper>;
using ScratchBytesAttr = Fact<KilnDialect::ScratchBytesAttrHelper>;
using RegionsAttr = Fact<KilnDialect::RegionsAttrHelper>;
using DeviceArenaBytesAttr = Fact<KilnDialect::DeviceArenaBytesAttrHelper>;

using LaunchesAttr = Fact<KilnDialect::LaunchesAttrHelper>;
using ThreadsAttr = Fact<KilnDialect::ThreadsAttrHelper>;
using CodeOfAttr = Fact<KilnDialect::CodeOfAttrHelper>;

// A member of an attribute that is a dictionary.
template <typename Type>
struct Member {
  llvm::StringLiteral name;

  // Null where it is absent.
  Type in(mlir::DictionaryAttr dictionary) const { return dictionary.getAs<Type>(name); }
  // Failure where it is absent: an error at `op`, which has the dictionary.
  mlir::FailureOr<Type> require(mlir::DictionaryAttr dictionary, mlir::Operation* op) const {
    if (Type value = in(dictionary)) return value;
    return lacks(op, name);
  }
  void set(mlir::NamedAttrList& dictionary, Type value) const { dictionary.set(name, value); }
  mlir::NamedAttribute named(Type value) const { return {name, value}; }
};

// Of kiln.kernel. The first four are on all that kiln-tile and kiln-map-to-gpu describe.
namespace kernel {
inline constexpr Member<mlir::ArrayAttr> kNodes{"nodes"};             // names of the model's nodes
inline constexpr Member<mlir::StringAttr> kRule{"rule"};              // that chose the schedule
inline constexpr Member<mlir::DenseI64ArrayAttr> kLoops{"loops"};     // extents of the parallel ones
inline constexpr Member<mlir::DictionaryAttr> kSchedule{"schedule"};  // a DenseI64ArrayAttr per knob
inline constexpr Member<mlir::StringAttr> kSignature{"signature"};    // "sha256:…"; absent: it has none
inline constexpr Member<mlir::StringAttr> kTuned{"tuned"};            // digest of the tuning entry, if any
// Found out when it is outlined.
inline constexpr Member<mlir::IntegerAttr> kTasks{"tasks"};  // absent: the run alone knows how many
inline constexpr Member<mlir::IntegerAttr> kMovedBytes{"moved_bytes"};  // memory::movedBytes of its loop
// On devices.
inline constexpr Member<mlir::IntegerAttr> kSharedBytes{"shared_bytes"};  // of a block; from kiln-plan-memory
inline constexpr Member<mlir::StringAttr> kSymbol{"symbol"};              // in kiln.launches
inline constexpr Member<mlir::StringAttr> kCodeOf{"code_of"};             // absent: the code is its own
}  // namespace kernel

// Of each entry of kiln.regions: the part of an arena that belongs to one target.
namespace region {
inline constexpr Member<mlir::StringAttr> kTarget{"target"};
inline constexpr Member<mlir::IntegerAttr> kOffset{"offset"};
inline constexpr Member<mlir::IntegerAttr> kBytes{"bytes"};
inline constexpr Member<mlir::IntegerAttr> kLiveBytes{"live_bytes"};    // as kiln.arena_live_bytes
inline constexpr Member<mlir::IntegerAttr> kTotalBytes{"total_bytes"};  // as kiln.arena_total_bytes
inline constexpr Member<mlir::IntegerAttr> kBuffers{"buffers"};
inline constexpr Member<mlir::IntegerAttr> kSpace{"space"};  // absent: the processor's
}  // namespace region

// What kiln-plan-memory says about the arena of a function.
struct Arena {
  std::uint64_t bytes = 0, totalBytes = 0, liveBytes = 0;
  std::int64_t buffers = 0;
};
void setArena(mlir::Operation* function, const Arena& arena);
// Failure where one of the numbers is missing; an error has been emitted.
mlir::FailureOr<Arena> arenaOf(mlir::Operation* function);

// For counts of bytes, which attributes hold as signed numbers.
inline std::uint64_t unsignedOf(mlir::IntegerAttr number) {
  return static_cast<std::uint64_t>(number.getInt());
}
inline mlir::IntegerAttr toAttribute(mlir::MLIRContext* context, std::uint64_t number) {
  return mlir::Builder(context).getI64IntegerAttr(static_cast<std::int64_t>(number));
}

}  // namespace kiln::ir
