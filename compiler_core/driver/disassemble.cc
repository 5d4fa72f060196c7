#include "compiler_core/driver/disassemble.h"

#include "compiler_core/runtime/spirv/spirv_text.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include "manifest/base/digest.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86Disassembler();
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64Disassembler();
void LLVMInitializeARMTargetInfo();
void LLVMInitializeARMTargetMC();
void LLVMInitializeARMDisassembler();
void LLVMInitializeRISCVTargetInfo();
void LLVMInitializeRISCVTargetMC();
void LLVMInitializeRISCVDisassembler();
}

namespace kiln::driver {
namespace {

tl::unexpected<Error> malformed(llvm::Error error) {
  return fail(Code::kInvalidArgument, "no ELF program: " + llvm::toString(std::move(error)));
}

// What the instructions of an architecture are read as: every extension, whatever the program was built for.
struct Subtarget {
  llvm::Triple::ArchType architecture;
  const char *cpu, *features;
  unsigned syntax;     // LLVM's number of a way to write; 1 is Intel's order of operands
  std::uint64_t unit;  // bytes of the shortest instruction
};
constexpr Subtarget kSubtargets[] = {
    {llvm::Triple::x86_64, "sapphirerapids", "", 1, 1},
    {llvm::Triple::aarch64, "", "+all", 0, 4},
    {llvm::Triple::arm, "cortex-m55", "+thumb-mode", 0, 2},
    {llvm::Triple::riscv64, "", "+m,+a,+f,+d,+c,+zba,+zbb,+zbs,+zfh,+v,+zvfh", 0, 2}};

const Subtarget* subtargetOf(const llvm::Triple& triple) {
  const auto* const found = std::ranges::find(kSubtargets, triple.getArch(), &Subtarget::architecture);
  return found == std::end(kSubtargets) ? nullptr : found;
}

struct FunctionCode {
  llvm::StringRef bytes;
  std::uint64_t address = 0;
};

// The bytes of a function: those that its symbol covers of the section that it lies in.
Result<FunctionCode> codeOf(const llvm::object::ObjectFile& file, const std::string& function) {
  for (const llvm::object::SymbolRef& symbol : file.symbols()) {
    auto name = symbol.getName();
    if (!name) return malformed(name.takeError());
    if (*name != function) continue;
    auto address = symbol.getAddress();
    if (!address) return malformed(address.takeError());
    auto section = symbol.getSection();
    if (!section) return malformed(section.takeError());
    if (*section == file.section_end()) break;
    auto contents = (*section)->getContents();
    if (!contents) return malformed(contents.takeError());
    const std::uint64_t base = (*section)->getAddress(), size = llvm::object::ELFSymbolRef(symbol).getSize();
    if (*address < base || *address - base > contents->size() || size > contents->size() - (*address - base))
      return fail(kiln::Code::kInvalidArgument, function + " lies outside its section");
    return FunctionCode{contents->substr(*address - base, size), *address};
  }
  return fail(kiln::Code::kNotFound, "has no function " + function);
}

std::string hexOf(llvm::StringRef bytes) {
  return toHex(Bytes(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

// SPIR-V's magic number, little endian.
constexpr std::string_view kSpirvMagic("\x03\x02\x23\x07", 4);

Result<std::vector<Instruction>> disassembleSpirv(std::string_view module, const std::string& function,
                                                  std::size_t limit) {
  auto lines = spirv::instructionsOf(module, function, limit);
  if (!lines && lines.error().code == kiln::Code::kNotFound) return fail(lines.error());
  if (!lines) return fail(kiln::Code::kInvalidArgument, lines.error().message);
  std::vector<Instruction> out;
  for (spirv::InstructionText& line : *lines) out.push_back({line.offset, "", std::move(line.text)});
  return out;
}

}  // namespace

Result<std::vector<Instruction>> disassemble(std::string_view program, const std::string& function,
                                             std::size_t limit) {
  if (program.starts_with(kSpirvMagic)) return disassembleSpirv(program, function, limit);
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86Disassembler();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64Disassembler();
  LLVMInitializeARMTargetInfo();
  LLVMInitializeARMTargetMC();
  LLVMInitializeARMDisassembler();
  LLVMInitializeRISCVTargetInfo();
  LLVMInitializeRISCVTargetMC();
  LLVMInitializeRISCVDisassembler();
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef({program.data(), program.size()}, "program"));
  if (!file) return malformed(file.takeError());
  const llvm::Triple triple = (*file)->makeTriple();
  std::string why;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, why);
  const Subtarget* const wanted = subtargetOf(triple);
  if (target == nullptr || wanted == nullptr)
    return fail(Code::kInvalidArgument, "is for " + triple.str() + ", which is not disassembled");
  KILN_ASSIGN(const FunctionCode code, codeOf(**file, function));

  const llvm::MCTargetOptions options;
  const std::unique_ptr<const llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
  const std::unique_ptr<const llvm::MCAsmInfo> assembly(target->createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<const llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, wanted->cpu, wanted->features));
  const std::unique_ptr<const llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
  llvm::MCContext context(triple, assembly.get(), registers.get(), subtarget.get());
  const std::unique_ptr<const llvm::MCDisassembler> decoder(
      target->createMCDisassembler(*subtarget, context));
  const std::unique_ptr<llvm::MCInstPrinter> printer(
      target->createMCInstPrinter(triple, wanted->syntax, *assembly, *instructions, *registers));
  printer->setPrintBranchImmAsAddress(false);

  std::vector<Instruction> out;
  const llvm::ArrayRef<std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(code.bytes.data()),
                                           code.bytes.size());
  for (std::uint64_t at = 0; at < bytes.size() && out.size() < limit;) {
    llvm::MCInst instruction;
    std::uint64_t size = 0;
    const auto status =
        decoder->getInstruction(instruction, size, bytes.slice(at), code.address + at, llvm::nulls());
    Instruction line;
    line.offset = at;
    if (status == llvm::MCDisassembler::Success && size > 0) {
      llvm::raw_string_ostream text(line.text);
      printer->printInst(&instruction, code.address + at, "", *subtarget, text);
    } else {
      size = std::min<std::uint64_t>(wanted->unit, bytes.size() - at);
      line.text = "(bad)";
    }
    line.bytes = hexOf(code.bytes.substr(at, size));
    for (char& c : line.text)
      if (c == '\t' || c == '\n') c = ' ';
    line.text.erase(0, line.text.find_first_not_of(' '));
    at += size;
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace kiln::driver
