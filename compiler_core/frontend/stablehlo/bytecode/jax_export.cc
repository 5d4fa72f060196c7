#include "compiler_core/frontend/stablehlo/bytecode/jax_export.h"

#include <bit>
#include <cstring>

#include "compiler_core/frontend/stablehlo/bytecode/container.h"
#include "compiler_core/frontend/stablehlo/bytecode/read_bytecode.h"

namespace kiln::stablehlo {
namespace {

static_assert(std::endian::native == std::endian::little);

// Where the virtual table has the fields of the root table.
constexpr std::size_t kPlatforms = 22, kArtifact = 30, kCallingConvention = 32;

tl::unexpected<Error> wrong(std::uint64_t at, std::string what) {
  return fail(Code::kInvalidArgument, "byte " + std::to_string(at) + ": " + std::move(what));
}

template <class T>
Result<T> load(Bytes bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return wrong(at, "the file ends too early");
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Where the root table has a field; 0 for one that it lacks.
Result<std::uint64_t> fieldOf(Bytes bytes, std::uint64_t table, std::size_t field) {
  KILN_ASSIGN(const std::int32_t back, load<std::int32_t>(bytes, table));
  const std::int64_t virtualTable = static_cast<std::int64_t>(table) - back;
  if (virtualTable < 0) return wrong(table, "no table of a flatbuffer");
  KILN_ASSIGN(const std::uint16_t size, load<std::uint16_t>(bytes, static_cast<std::uint64_t>(virtualTable)));
  if (field + sizeof(std::uint16_t) > size) return 0;
  KILN_ASSIGN(const std::uint16_t offset,
              load<std::uint16_t>(bytes, static_cast<std::uint64_t>(virtualTable) + field));
  return offset == 0 ? 0 : table + offset;
}

// A vector or a string: where its elements begin, and how many there are.
struct List {
  std::uint64_t begin = 0;
  std::uint32_t size = 0;
};
Result<List> listAt(Bytes bytes, std::uint64_t reference) {
  KILN_ASSIGN(const std::uint32_t offset, load<std::uint32_t>(bytes, reference));
  const std::uint64_t at = reference + offset;
  KILN_ASSIGN(const std::uint32_t size, load<std::uint32_t>(bytes, at));
  return List{at + sizeof(size), size};
}

Result<std::vector<std::string>> platformsOf(Bytes bytes, std::uint64_t table) {
  constexpr std::uint32_t kMost = 64, kMaxName = 256;
  std::vector<std::string> names;
  KILN_ASSIGN(const std::uint64_t field, fieldOf(bytes, table, kPlatforms));
  if (field == 0) return names;
  KILN_ASSIGN(const List list, listAt(bytes, field));
  if (list.size > kMost) return wrong(list.begin, "absurdly many platforms");
  for (std::uint32_t i = 0; i < list.size; ++i) {
    KILN_ASSIGN(const List name, listAt(bytes, list.begin + std::uint64_t{i} * sizeof(std::uint32_t)));
    if (name.size > kMaxName || name.begin > bytes.size() || name.size > bytes.size() - name.begin)
      return wrong(name.begin, "the name of a platform is longer than the file, or absurdly long");
    const Bytes text = bytes.subspan(name.begin, name.size);
    names.emplace_back(text.begin(), text.end());
  }
  return names;
}

}  // namespace

Result<JaxExport> parseJaxExport(Bytes bytes) {
  KILN_ASSIGN(const std::uint32_t table, load<std::uint32_t>(bytes, 0));
  KILN_ASSIGN(const std::uint64_t artifact, fieldOf(bytes, table, kArtifact));
  if (artifact == 0) return wrong(table, "no export of JAX: its table has no program");
  KILN_ASSIGN(const std::uint32_t offset, load<std::uint32_t>(bytes, artifact));
  const std::uint64_t at = artifact + offset;
  KILN_ASSIGN(const std::uint32_t length, load<std::uint32_t>(bytes, at));
  const std::uint64_t begin = at + sizeof(length);
  if (length > bytes.size() - begin) return wrong(at, "the program is longer than the file");
  JaxExport read;
  read.artifact = bytes.subspan(begin, length);
  if (!isBytecode(read.artifact)) return wrong(begin, "no export of JAX: its program is no MLIR bytecode");
  KILN_ASSIGN(const std::uint64_t convention, fieldOf(bytes, table, kCallingConvention));
  if (convention != 0) {
    KILN_ASSIGN(read.callingConvention, load<std::uint16_t>(bytes, convention));
  }
  KILN_ASSIGN(read.platforms, platformsOf(bytes, table));
  return read;
}

Result<Program> readJaxExport(Bytes bytes, std::shared_ptr<const void> owner) {
  constexpr std::uint16_t kOldest = 9, kNewest = 10;
  KILN_ASSIGN(const JaxExport exported, parseJaxExport(bytes));
  const std::string form = "JAX export " + std::to_string(exported.callingConvention);
  if (exported.callingConvention < kOldest || exported.callingConvention > kNewest)
    return fail(Code::kUnimplemented, form + " is not served: calling conventions 9 and 10 are");
  auto program = readBytecode(exported.artifact, std::move(owner));
  if (!program)
    return fail(
        program.error().in(form + " from byte " + std::to_string(exported.artifact.data() - bytes.data())));
  program->form = form + " with " + program->form;
  program->platforms = exported.platforms;
  return program;
}

}  // namespace kiln::stablehlo
