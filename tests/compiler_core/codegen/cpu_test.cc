#include "compiler_core/codegen/cpu/codegen.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "llvm/Object/ELFObjectFile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tests/compiler_core/host/program_host.h"
#include "tests/support/temp_directory.h"

namespace kiln::codegen {
namespace {

// y[i] = x[i] * 2 over 64 floats, one task each, through the callback.
constexpr const char* kDouble = R"(
llvm.func @kernel(%env: !llvm.ptr, %task: i64, %scratch: !llvm.ptr) {
  %x = llvm.load %env : !llvm.ptr -> !llvm.ptr
  %yp = llvm.getelementptr %env[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %y = llvm.load %yp : !llvm.ptr -> !llvm.ptr
  %xi = llvm.getelementptr %x[%task] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %yi = llvm.getelementptr %y[%task] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %v = llvm.load %xi : !llvm.ptr -> f32
  %w = llvm.fadd %v, %v : f32
  llvm.store %w, %yi : f32, !llvm.ptr
  llvm.return
}
llvm.func @shapes(%symbols: !llvm.ptr, %dims: !llvm.ptr) {
  llvm.return
}
llvm.func @run(%cb: !llvm.ptr, %arena: !llvm.ptr, %w: !llvm.ptr, %in: !llvm.ptr, %out: !llvm.ptr, %symbols: !llvm.ptr, %dims: !llvm.ptr) -> i32 {
  %one = llvm.mlir.constant(1 : i64) : i64
  %env = llvm.alloca %one x !llvm.array<2 x ptr> : (i64) -> !llvm.ptr
  %x = llvm.load %in : !llvm.ptr -> !llvm.ptr
  %y = llvm.load %out : !llvm.ptr -> !llvm.ptr
  llvm.store %x, %env : !llvm.ptr, !llvm.ptr
  %e1 = llvm.getelementptr %env[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  llvm.store %y, %e1 : !llvm.ptr, !llvm.ptr
  %pf = llvm.load %cb : !llvm.ptr -> !llvm.ptr
  %up = llvm.getelementptr %cb[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %user = llvm.load %up : !llvm.ptr -> !llvm.ptr
  %k = llvm.mlir.addressof @kernel : !llvm.ptr
  %n = llvm.mlir.constant(64 : i64) : i64
  llvm.call %pf(%user, %k, %env, %n) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  %zero = llvm.mlir.constant(0 : i32) : i32
  llvm.return %zero : i32
})";

const ProgramTable kTable{.inputs = 1, .outputs = 1, .profiles = {{"run", "shapes"}}};

class CodegenCpu : public ::testing::Test {
 protected:
  CodegenCpu() : context_(mlir::MLIRContext::Threading::DISABLED) {
    context_.loadDialect<mlir::LLVM::LLVMDialect>();
  }

  Result<CpuProgram> generate(const char* text, const ProgramTable& table = kTable,
                              const std::string& subdirectory = "") {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    CpuOptions options;
    options.target = {"cpu:x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", {"+avx", "+avx2", "+fma"}};
    options.workDirectory = directory_ + subdirectory;
    return generateCpuProgram(*module, table, options);
  }

  mlir::MLIRContext context_;
  testing_support::TempDirectory temporary_;
  const std::string directory_ = temporary_.path();
};

TEST_F(CodegenCpu, ProgramRunsThroughTheCallbackTable) {
  auto program = generate(kDouble, {.inputs = 1, .outputs = 1, .profiles = {{"run", "shapes", 128, 64}}});
  ASSERT_TRUE(program) << program.error().message;
  auto host = testing::ProgramHost::load(program->elf);
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_EQ(host->table().abi, KILN_PROGRAM_ABI);
  EXPECT_EQ(host->table().profiles[0].arena_bytes, 128u);
  EXPECT_EQ(host->table().profiles[0].scratch_bytes, 64u);
  std::vector<float> x(64);
  for (int i = 0; i < 64; ++i) x[i] = i;
  std::vector<testing::Buffer> in, out;
  in.push_back(testing::Buffer::of<float>(x));
  for (int threads : {1, 2, 7}) {
    out.clear();
    out.emplace_back(64 * sizeof(float));
    ASSERT_TRUE(host->run({}, in, out, threads));
    for (int i = 0; i < 64; ++i) EXPECT_EQ(out[0].as<float>()[i], 2 * x[i]);
  }
}

TEST_F(CodegenCpu, ExportsOneSymbolAndNeedsNothing) {
  auto program = generate(kDouble);
  ASSERT_TRUE(program) << program.error().message;
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(program->elf, "so"));
  ASSERT_TRUE(bool(file));
  auto* elf = llvm::cast<llvm::object::ELF64LEObjectFile>(file->get());
  std::vector<std::string> names;
  for (const llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators())
    names.push_back(symbol.getName()->str());
  EXPECT_EQ(names, std::vector<std::string>{"kiln_program"});
  auto entries = elf->getELFFile().dynamicEntries();
  ASSERT_TRUE(bool(entries));
  for (const auto& entry : *entries) {
    EXPECT_NE(entry.getTag(), llvm::ELF::DT_NEEDED);
    EXPECT_NE(entry.getTag(), llvm::ELF::DT_INIT);
    EXPECT_NE(entry.getTag(), llvm::ELF::DT_INIT_ARRAY);
    EXPECT_NE(entry.getTag(), llvm::ELF::DT_TEXTREL);
  }
}

TEST_F(CodegenCpu, SameModuleSameBytesFromAnyDirectory) {
  auto first = generate(kDouble);
  std::filesystem::create_directory(directory_ + "/some where else");
  auto second = generate(kDouble, kTable, "/some where else");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->elf, second->elf);
  EXPECT_EQ(first->functions.size(), 3u);
  EXPECT_GT(first->codeBytes, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(directory_ + "/some where else")) << "the linker's files stay behind";
}

// Functions for two targets in turn are as many parts as functions, since a part is for one target.
TEST_F(CodegenCpu, SameBytesAndFunctionsOnAnyNumberOfThreads) {
  const Target wide = {"cpu:x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", {"+avx", "+avx2", "+fma"}};
  const Target narrow = {"cpu:x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v2", {"+sse4.2"}};
  constexpr const char* kRun =
      "llvm.func @run(%cb: !llvm.ptr, %arena: !llvm.ptr, %w: !llvm.ptr, %in: !llvm.ptr, %out: !llvm.ptr, "
      "%symbols: !llvm.ptr, %dims: !llvm.ptr) -> i32 {\n  %p = llvm.load %in : !llvm.ptr -> !llvm.ptr\n"
      "  %x0 = llvm.load %p : !llvm.ptr -> f32\n";
  std::string text = "llvm.func @shapes(%symbols: !llvm.ptr, %dims: !llvm.ptr) {\n  llvm.return\n}\n",
              run = kRun;
  for (int i = 0; i < 12; ++i) {
    const Target& target = i % 2 ? wide : narrow;
    text +=
        fmt::format("llvm.func @part_{}(%x: f32) -> f32 attributes {{passthrough = [[\"{}\", \"{}\"]]}} {{\n",
                    i, kTargetFunctionAttr, target.name);
    text += "  %v0 = llvm.fadd %x, %x : f32\n";
    const int length = 10 * (i + 1);
    for (int k = 0; k < length; ++k) text += fmt::format("  %v{} = llvm.fmul %v{}, %x : f32\n", k + 1, k);
    text += fmt::format("  llvm.return %v{} : f32\n}}\n", length);
    run += fmt::format("  %x{} = llvm.call @part_{}(%x{}) : (f32) -> f32\n", i + 1, i, i);
  }
  text += run +
          "  %q = llvm.load %out : !llvm.ptr -> !llvm.ptr\n  llvm.store %x12, %q : f32, !llvm.ptr\n"
          "  %zero = llvm.mlir.constant(0 : i32) : i32\n  llvm.return %zero : i32\n}\n";
  CpuOptions options;
  options.target = wide;
  options.partitions = {wide, narrow};
  options.workDirectory = directory_;
  std::vector<std::string> steps;
  options.onStep = [&](std::string_view step, double seconds) {
    steps.emplace_back(step);
    EXPECT_GE(seconds, 0);
  };
  std::string first;
  for (const unsigned threads : {1u, 2u, 5u}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    ASSERT_TRUE(module);
    options.threads = threads;
    steps.clear();
    auto program = generateCpuProgram(*module, kTable, options);
    ASSERT_TRUE(program) << program.error().message;
    EXPECT_EQ(steps, (std::vector<std::string>{"llvm:translate", "llvm:split", "llvm:complete",
                                               "llvm:optimize", "llvm:emit", "llvm:link"}));
    EXPECT_EQ(program->functions.size(), 14u);
    if (first.empty()) first = program->elf;
    EXPECT_TRUE(program->elf == first) << threads << " threads";
  }
}

TEST_F(CodegenCpu, AnUndefinedFunctionIsAnErrorThatNamesIt) {
  auto program = generate(R"(
llvm.func @expf(f32) -> f32
llvm.func @shapes(%symbols: !llvm.ptr, %dims: !llvm.ptr) {
  llvm.return
}
llvm.func @run(%cb: !llvm.ptr, %arena: !llvm.ptr, %w: !llvm.ptr, %in: !llvm.ptr, %out: !llvm.ptr, %symbols: !llvm.ptr, %dims: !llvm.ptr) -> i32 {
  %p = llvm.load %in : !llvm.ptr -> !llvm.ptr
  %v = llvm.load %p : !llvm.ptr -> f32
  %e = llvm.call @expf(%v) : (f32) -> f32
  %q = llvm.load %out : !llvm.ptr -> !llvm.ptr
  llvm.store %e, %q : f32, !llvm.ptr
  %zero = llvm.mlir.constant(0 : i32) : i32
  llvm.return %zero : i32
})");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::kInternal);
  EXPECT_NE(program.error().message.find("expf"), std::string::npos) << program.error().message;
  EXPECT_TRUE(generate(kDouble)) << "a failed link must not spoil the next one";
}

TEST_F(CodegenCpu, AMissingRunFunctionIsAnError) {
  auto program = generate(kDouble, {.profiles = {{"run", "nowhere"}}});
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace kiln::codegen
