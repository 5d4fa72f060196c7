#include "compiler_core/frontend/torch/reader/read.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler_core/frontend/archive/little_endian.h"
#include "compiler_core/frontend/archive/zip.h"
#include "compiler_core/frontend/torch/reader/graph.h"
#include "compiler_core/frontend/torch/reader/members.h"
#include "compiler_core/frontend/torch/reader/payload.h"
#include "compiler_core/frontend/torch/reader/signature.h"
#include "manifest/base/printable.h"

namespace kiln::torch {
namespace {

constexpr std::int64_t kMajor = 8;
constexpr std::size_t kMaxJson = std::size_t{256} << 20;
// Graphs in graphs are the deepest; each takes about ten levels.
constexpr int kMaxJsonDepth = 128;
constexpr std::string_view kModels = "models/", kJson = ".json",
                           kOldProgram = "serialized_exported_program.json";

tl::unexpected<Error> unserved(std::string message) {
  return fail(Code::kUnimplemented, std::move(message));
}

// The members of an archive by their names behind its one folder: torch's writer puts all into a folder that
// is called as the file once was.
class Archive {
 public:
  static Result<Archive> open(Bytes bytes, std::shared_ptr<const void> owner) {
    Archive out;
    out.owner_ = std::move(owner);
    KILN_ASSIGN(const std::vector<archive::ZipMember> members, archive::readZip(bytes));
    for (const archive::ZipMember& member : members) {
      const std::size_t folder = member.name.find('/');
      const std::string_view name =
          folder == std::string_view::npos ? member.name : member.name.substr(folder + 1);
      if (!out.members_.emplace(name, member).second)
        return fail(Code::kInvalidArgument, "the archive has two members " + inQuotes(name));
    }
    return out;
  }

  bool has(std::string_view name) const { return members_.contains(name); }
  // Names that begin and end so, without both.
  std::vector<std::string> between(std::string_view begin, std::string_view end) const {
    std::vector<std::string> names;
    for (auto at = members_.lower_bound(begin); at != members_.end() && at->first.starts_with(begin); ++at) {
      std::string_view rest = at->first.substr(begin.size());
      if (rest.size() > end.size() && rest.ends_with(end))
        names.emplace_back(rest.substr(0, rest.size() - end.size()));
    }
    return names;
  }
  Result<PayloadFile> file(std::string_view name) const {
    const auto found = members_.find(name);
    if (found == members_.end())
      return fail(Code::kInvalidArgument, "the archive has no member " + inQuotes(name));
    // Raw tensors are as large as memory: those are mapped, and torch never compresses.
    if (found->second.deflated)
      return unserved("member " + inQuotes(name) +
                      " is compressed; torch.export.save() stores without compression");
    KILN_ASSIGN(archive::ZipContents contents, archive::contentsOf(found->second, owner_));
    return PayloadFile{contents.bytes, std::move(contents.owner)};
  }
  Result<Json> json(std::string_view name) const {
    KILN_ASSIGN(const PayloadFile text, file(name));
    auto json = parseJson({reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()},
                          {.bytes = kMaxJson, .depth = kMaxJsonDepth});
    if (!json) return fail(json.error().in(name));
    return json;
  }

 private:
  std::map<std::string_view, archive::ZipMember, std::less<>> members_;
  std::shared_ptr<const void> owner_;
};

// The one program's name.
Result<std::string> programName(const Archive& archive) {
  if (archive.has(kOldProgram) || archive.has("version"))
    return unserved(
        "an archive of an older torch.export, whose tensors are pickled; save the program again with a newer "
        "torch "
        "(2.15's is read)");
  std::vector<std::string> names = archive.between(kModels, kJson);
  if (names.size() == 1) return std::move(names.front());
  if (names.empty() && !archive.between("data/aotinductor/", "").empty())
    return unserved(
        "an archive of AOTInductor, which has compiled code and no program; save the program with "
        "torch.export.save()");
  if (names.empty()) return malformed("the archive has no program: no member models/NAME.json");
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + inQuotes(name);
  return unserved("the archive has several programs (" + list + "); save each one alone");
}

Result<std::string> checkVersion(const Json& exported) {
  KILN_ASSIGN(const Json* version, objectOf(exported, "schema_version"));
  KILN_ASSIGN(const std::int64_t major, integerOf(*version, "major"));
  KILN_ASSIGN(const std::int64_t minor, integerOf(*version, "minor"));
  const std::string text = std::to_string(major) + "." + std::to_string(minor);
  if (major != kMajor)
    return unserved("schema version " + text + " of torch.export is not served, " + std::to_string(kMajor) +
                    ".x is; save the program with a torch that writes it (2.15 does)");
  return text;
}

Status checkByteOrder(const Archive& archive) {
  if (!archive.has("byteorder")) return {};
  KILN_ASSIGN(const PayloadFile order, archive.file("byteorder"));
  if (std::string_view(reinterpret_cast<const char*>(order.bytes.data()), order.bytes.size()) == "little")
    return {};
  return unserved("its tensors are not little-endian; save it again on a little-endian machine");
}

// Parameters and buffers, or constants: `folder` is "data/weights/", the table has `kind` in its name.
Status readTensors(const Archive& archive, const std::string& program, const std::string& folder,
                   const std::string& kind, Program& out) {
  if (archive.has(folder + program + ".pt"))
    return unserved(
        folder + program +
        ".pt: the tensors are pickled, which are never unpickled here; save the program again with a "
        "newer torch (2.15's is read)");
  const std::string table = folder + program + "_" + kind + "_config.json";
  KILN_ASSIGN(const Json json, archive.json(table));
  std::map<std::string, PayloadFile> opened;  // each is checked once, however many tensors lie in it
  auto file = [&](const std::string& name) -> Result<PayloadFile> {
    const auto found = opened.find(name);
    if (found != opened.end()) return found->second;
    KILN_ASSIGN(PayloadFile one, archive.file(folder + name));
    return opened.emplace(name, std::move(one)).first->second;
  };
  const Status done = readPayload(json, file, out.tensors);
  if (!done) return fail(done.error().in(table));
  return {};
}

Result<Program> readArchive(Bytes bytes, const std::shared_ptr<const void>& owner) {
  KILN_ASSIGN(const Archive archive, Archive::open(bytes, owner));
  KILN_ASSIGN(const std::string name, programName(archive));
  KILN_TRY(checkByteOrder(archive));
  const std::string place = std::string(kModels) + name + std::string(kJson);
  KILN_ASSIGN(const Json exported, archive.json(place));
  Program program;
  auto read = [&]() -> Status {
    KILN_ASSIGN(const std::string version, checkVersion(exported));
    program.form = "torch.export " + version;
    if (const Json* torch = find(exported, "torch_version"); torch && torch->is_string())
      program.torchVersion = printable(torch->get<std::string>(), 64);
    if (const Json* opsets = find(exported, "opset_version"); opsets && find(*opsets, "aten")) {
      KILN_ASSIGN(program.opset, integerOf(*opsets, "aten"));
    }
    KILN_ASSIGN(const Json* module, objectOf(exported, "graph_module"));
    KILN_ASSIGN(const Json* graph, objectOf(*module, "graph"));
    KILN_ASSIGN(program.graph, readGraph(*graph));
    return readSignature(exported, program);
  };
  if (const Status done = read(); !done) return fail(done.error().in(place));
  KILN_TRY(readTensors(archive, name, "data/weights/", "weights", program));
  KILN_TRY(readTensors(archive, name, "data/constants/", "constants", program));
  return program;
}

}  // namespace

bool recognises(Bytes bytes) {
  constexpr std::uint64_t kZip = 0x04034b50;
  if (bytes.size() < 4 || archive::littleEndian(bytes, 0, 4) != kZip) return false;
  auto opened = Archive::open(bytes, nullptr);
  if (!opened) return false;
  if (opened->has(kOldProgram) || !opened->between(kModels, kJson).empty()) return true;
  const auto format = opened->has("archive_format") ? opened->file("archive_format")
                                                    : Result<PayloadFile>(malformed("no format"));
  return format &&
         std::string_view(reinterpret_cast<const char*>(format->bytes.data()), format->bytes.size()) == "pt2";
}

Result<Program> readProgram(Bytes bytes, const std::string& name, const std::shared_ptr<const void>& owner) {
  auto program = readArchive(bytes, owner);
  if (!program) return fail(program.error().in(name));
  return program;
}

}  // namespace kiln::torch
