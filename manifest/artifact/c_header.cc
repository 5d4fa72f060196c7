#include "manifest/artifact/c_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "manifest/base/digest.h"
#include "manifest/base/printable.h"
#include "manifest/spec/bare_metal.h"
#include "manifest/spec/target.h"

namespace kiln {
namespace {

constexpr std::size_t kLongestName = 64;

// Letters and digits of ASCII alone, whatever the locale.
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool isWordCharacter(char c) {
  return isLetter(c) || (c >= '0' && c <= '9') || c == '_';
}

bool isIdentifier(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && isLetter(name.front()) &&
         std::ranges::all_of(name, isWordCharacter);
}

std::string inCapitals(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// What one element is in memory. Floating-point types that C lacks are their codes.
const char* typeOf(DType type) {
  switch (type) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return "int8_t";
    case DType::kI16:
      return "int16_t";
    case DType::kI32:
      return "int32_t";
    case DType::kI64:
      return "int64_t";
    case DType::kF16:
    case DType::kBF16:
    case DType::kU16:
      return "uint16_t";
    case DType::kU32:
      return "uint32_t";
    case DType::kU64:
      return "uint64_t";
    default:
      return "uint8_t";
  }
}

// Members of a structure that are named after tensors.
class Members {
 public:
  // The tensor's name with '_' for what is no letter or digit; where that is no member yet, and none of C's
  // words can be one because of its last character.
  std::string add(std::string_view tensor) {
    std::string name;
    for (const char c : tensor.substr(0, kLongestName)) name += isWordCharacter(c) ? c : '_';
    if (name.empty() || !isLetter(name.front())) name.insert(0, "t_");
    if (isReserved(name)) name += '_';
    const std::string first = name;
    for (int number = 2; !seen_.insert(name).second; ++number) name = fmt::format("{}_{}", first, number);
    return name;
  }

 private:
  static bool isReserved(std::string_view name) {
    static constexpr std::string_view kWords[] = {
        "alignas", "alignof",  "and",      "asm",      "auto",    "bool",   "break",   "case",     "catch",
        "char",    "class",    "const",    "continue", "default", "delete", "do",      "double",   "else",
        "enum",    "export",   "extern",   "false",    "float",   "for",    "friend",  "goto",     "if",
        "inline",  "int",      "long",     "mutable",  "new",     "not",    "or",      "operator", "private",
        "public",  "register", "restrict", "return",   "short",   "signed", "sizeof",  "static",   "struct",
        "switch",  "template", "this",     "throw",    "true",    "try",    "typedef", "union",    "unsigned",
        "using",   "virtual",  "void",     "volatile", "while",   "xor"};
    return std::ranges::find(kWords, name) != std::end(kWords);
  }

  std::set<std::string> seen_;
};

struct Structure {
  std::string members, constants;
};

Result<Structure> structureOf(const std::vector<TensorInfo>& tensors, const std::string& prefix,
                              std::string_view qualifier) {
  Structure out;
  Members members;
  for (const TensorInfo& tensor : tensors) {
    const std::string name = members.add(tensor.name);
    std::string dims;
    std::uint64_t elements = 1;
    for (const Dim& dim : tensor.shape) {
      if (!dim.isStatic() || dim.value < 0)
        return fail(Code::kInvalidArgument,
                    "tensor " + inQuotes(tensor.name) + " has a dimension that is no number");
      dims += (dims.empty() ? "" : ", ") + dim.text();
      elements *= static_cast<std::uint64_t>(dim.value);
    }
    out.members += fmt::format("  {}{}* {}; /* {} [{}] */\n", qualifier, typeOf(tensor.dtype), name,
                               dtypeName(tensor.dtype), dims);
    out.constants += fmt::format("#define {}_{}_ELEMENTS {}u\n", prefix, inCapitals(name), elements);
  }
  return out;
}

}  // namespace

std::string entryOf(const CompileSpec& spec) {
  const auto text = toCanonicalJson(spec.toJson());
  return "kiln_" + digestOf(text ? *text : std::string()).hex().substr(0, 16) + "_run";
}

Result<std::string> cHeader(const Manifest& manifest, std::string_view given) {
  const std::string name(given);
  if (!isIdentifier(name))
    return fail(Code::kInvalidArgument,
                inQuotes(name) +
                    " cannot name functions of C: take letters, digits and _, a letter first, "
                    "64 at most");
  const auto target = parseTarget(manifest.spec.target);
  if (!target) return fail(target.error());
  if (!isBareMetal(target->triple))
    return fail(Code::kInvalidArgument,
                "a program for " + manifest.spec.target +
                    " is loaded by a runtime and has no C header; cpu:cortex-m55 has");
  const std::string capitals = inCapitals(name), entry = entryOf(manifest.spec);
  KILN_ASSIGN(const Structure inputs, structureOf(manifest.inputs, capitals, "const "));
  std::vector<TensorInfo> results = manifest.outputs;
  if (!manifest.indexChecks.empty())
    results.push_back(
        {"kiln_index_counts", DType::kI64, {static_cast<std::int64_t>(manifest.indexChecks.size())}, {}});
  KILN_ASSIGN(const Structure outputs, structureOf(results, capitals, ""));
  const ProgramProfile& memory = manifest.profiles.front();
  return fmt::format(
      R"(/* {0}: a model compiled by Kiln for {1}. Link with program.o, sha256 {2}.
 * Tensors are dense and row-major, at addresses that fit their elements. An output is no input's memory.
 * {0}_run returns 0; 1 where a size that depends on values is larger than the program was built for; 2 for a
 * value that an operator does not allow. It has memory of its own in {3} and weights in
 * {4}, so no two calls may run at the same time. It calls nothing, and leaves the floating-point
 * modes as it finds them; the floating-point unit has to be on. */
#ifndef KILN_{5}_H
#define KILN_{5}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {5}_ARENA_BYTES {6}u
#define {5}_SCRATCH_BYTES {7}u
{8}{9}
typedef struct {0}_inputs {{
{10}}} {0}_inputs;

typedef struct {0}_outputs {{
{11}}} {0}_outputs;

int32_t {12}(const {0}_inputs* inputs, const {0}_outputs* outputs);

static inline int32_t {0}_run(const {0}_inputs* inputs, const {0}_outputs* outputs) {{
  return {12}(inputs, outputs);
}}

#ifdef __cplusplus
}}
#endif
#endif
)",
      name, manifest.spec.target, manifest.program.digest.hex(), ".bss.kiln_arena", ".rodata.kiln_weights",
      capitals, memory.arenaBytes, memory.scratchBytes, inputs.constants, outputs.constants, inputs.members,
      outputs.members, entry);
}

}  // namespace kiln
