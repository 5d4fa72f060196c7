// kiln-opt: runs any pass of the compiler alone, on MLIR text. For tests and for people; never part of a
// compile.
#include "compiler_core/codegen/cuda/passes.h"
#include "compiler_core/codegen/lower/passes.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/memory/passes.h"
#include "compiler_core/partition/partition.h"
#include "compiler_core/schedule/passes.h"
#include "compiler_core/transforms/passes.h"
#include "manifest/base/program.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

// What CMake makes of each passes.td.
namespace kiln::schedule {
#define GEN_PASS_REGISTRATION
#include "compiler_core/schedule/passes.h.inc"
}  // namespace kiln::schedule
namespace kiln::memory {
#define GEN_PASS_REGISTRATION
#include "compiler_core/memory/passes.h.inc"
}  // namespace kiln::memory
namespace kiln::codegen {
#define GEN_PASS_REGISTRATION
#include "compiler_core/codegen/lower/passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler_core/codegen/cuda/passes.h.inc"
}  // namespace kiln::codegen
namespace kiln::partition {
#define GEN_PASS_REGISTRATION
#include "compiler_core/partition/passes.h.inc"
}  // namespace kiln::partition

namespace {

int run(int argc, char** argv) {
  mlir::registerTransformsPasses();
  kiln::ir::WeightTable weights;  // no model file stands beside the text: kiln-seed-weights fills it
  kiln::transforms::registerPasses(weights);
  kiln::schedule::registerSchedulePasses();
  kiln::memory::registerMemoryPasses();
  kiln::codegen::registerLoweringPasses();
  kiln::codegen::registerDeviceLoweringPasses();
  kiln::partition::registerPartitionPasses();
  mlir::DialectRegistry registry;
  registry.insert<kiln::ir::KilnDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect, mlir::linalg::LinalgDialect, mlir::tensor::TensorDialect,
                  mlir::scf::SCFDialect, mlir::affine::AffineDialect, mlir::memref::MemRefDialect,
                  mlir::vector::VectorDialect, mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect,
                  mlir::gpu::GPUDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Kiln's pass runner\n", registry));
}

}  // namespace

int main(int argc, char** argv) {
  return kiln::runMain("kiln-opt", [&] { return run(argc, argv); });
}
