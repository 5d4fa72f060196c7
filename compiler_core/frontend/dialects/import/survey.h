// What of a program is not served, found before anything is made of it.
#pragma once

#include <map>
#include <vector>

#include "compiler_core/ir/evidence.h"
#include "manifest/base/result.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln::dialects {

// The function that is run: one called main, or the only public one that has a body. Null if there is none.
mlir::func::FuncOp entryOf(mlir::ModuleOp module);
// What a call names; null if that is no function with a body.
mlir::func::FuncOp calleeOf(mlir::Operation& call);

// "function main: operation 12", counted in the order of the text, regions included.
std::string placeOf(const std::string& function, std::int64_t index);
// "conv2d/12", or the name that its location gives.
std::string nodeName(mlir::Operation& operation, std::int64_t index);
// Of an argument of the entry, free of each other: its location's name, else "arg0"...
std::vector<std::string> argumentNames(mlir::func::FuncOp entry);

struct Survey {
  std::int64_t operations = 0;                   // of all functions that a run reaches, regions included
  std::int64_t functions = 0;                    // those functions
  std::map<std::string, std::int64_t> byName;    // operations by their full names
  std::vector<ir::UnsupportedNode> unsupported;  // in the order of the program
};

// Looks at `entry` and what it calls. kInvalidArgument: a function is not there or calls itself;
// kUnimplemented: functions or regions are nested too deeply.
Result<Survey> survey(mlir::func::FuncOp entry);

// Why values of this type are not served; "" where they are.
std::string whyNot(mlir::Type type);
// "tensor<2xf32>".
std::string textOf(mlir::Type type);

}  // namespace kiln::dialects
