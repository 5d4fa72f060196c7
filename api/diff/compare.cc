#include "api/diff/compare.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "api/diff/elf.h"
#include "api/diff/kernels.h"
#include "api/diff/trace.h"
#include "manifest/base/file.h"
#include "signing/verify/verify.h"

namespace kiln::diff {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 20'000;
constexpr std::size_t kMaxFields = 200;
constexpr std::size_t kMaxSections = 1000;
constexpr std::size_t kMaxDocument = 4u << 20;
constexpr std::size_t kMaxShown = 200;

// A file's bytes, mapped.
class Mapped {
 public:
  static Result<Mapped> open(const std::string& path) {
    KILN_ASSIGN(const UniqueFd file, openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, path));
    struct stat facts{};
    if (::fstat(file.get(), &facts) != 0) return fail(errnoError(errno, path));
    if (!S_ISREG(facts.st_mode)) return fail(Code::kInvalidArgument, path + ": is no regular file");
    Mapped out;
    if (facts.st_size == 0) return out;
    void* at =
        ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at == MAP_FAILED) return fail(errnoError(errno, path));
    out.bytes_ = {static_cast<const char*>(at), static_cast<std::size_t>(facts.st_size)};
    return out;
  }
  Mapped(Mapped&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapped& operator=(Mapped&&) = delete;
  ~Mapped() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  std::string_view bytes() const { return bytes_; }

 private:
  Mapped() = default;
  std::string_view bytes_;
};

// What belongs to the artifact, and not to whoever fetched it and when.
bool isCompared(const std::string& path) {
  return !path.starts_with("bundles/") && !path.starts_with("fixtures/") && path != "artifact.json" &&
         path != signing::kRecallsFile && path != kTraceFile;
}

Result<std::set<std::string>> listFiles(const Side& side) {
  std::set<std::string> out;
  std::error_code error;
  if (fs::exists(side.directory, error) && !fs::is_directory(side.directory, error))
    return fail(Code::kInvalidArgument,
                side.name + ": is no directory; give an artifact or the outputs of a build");
  std::size_t seen = 0;
  for (fs::recursive_directory_iterator it(side.directory, error), end; !error && it != end;
       it.increment(error)) {
    if (++seen > 2 * kMaxFiles || out.size() > kMaxFiles)
      return fail(Code::kOutOfRange, side.name + ": holds more than 20000 files");
    if (it->is_symlink(error))
      return fail(Code::kInvalidArgument, side.name + ": " + it->path().string() + " is a symbolic link");
    if (it->is_directory(error)) continue;
    if (!it->is_regular_file(error))
      return fail(Code::kInvalidArgument,
                  side.name + ": " + it->path().string() + " is neither a file nor a directory; remove it");
    std::string path = it->path().lexically_relative(side.directory).generic_string();
    if (isCompared(path)) out.insert(std::move(path));
  }
  if (error) return fail(errnoError(error.value(), side.directory));
  if (!out.contains("manifest.json"))
    return fail(Code::kNotFound,
                side.name + ": holds no manifest.json; give an artifact or the outputs of a build");
  return out;
}

std::uint64_t firstDifference(std::string_view a, std::string_view b) {
  return static_cast<std::uint64_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::string shown(const Json* value) {
  if (!value) return {};
  std::string text = value->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

class FieldComparison {
 public:
  std::vector<FieldDifference> run(const Json& a, const Json& b) {
    compare("", &a, &b);
    return std::move(out_);
  }

 private:
  void compare(const std::string& path, const Json* a, const Json* b) {
    if (out_.size() >= kMaxFields || (a && b && *a == *b)) return;
    if (a && b && a->is_object() && b->is_object()) {
      std::set<std::string> names;
      for (const auto& [name, value] : a->items()) names.insert(name);
      for (const auto& [name, value] : b->items()) names.insert(name);
      for (const std::string& name : names)
        compare(path.empty() ? name : path + "." + name, member(*a, name), member(*b, name));
    } else if (a && b && a->is_array() && b->is_array()) {
      for (std::size_t i = 0; i < std::max(a->size(), b->size()); ++i)
        compare(path + "[" + std::to_string(i) + "]", i < a->size() ? &a->at(i) : nullptr,
                i < b->size() ? &b->at(i) : nullptr);
    } else {
      out_.push_back({path, shown(a), shown(b)});
    }
  }
  static const Json* member(const Json& object, const std::string& name) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
  }

  std::vector<FieldDifference> out_;
};

Result<Json> readManifest(const Side& side) {
  const std::string path = side.directory + "/manifest.json";
  KILN_ASSIGN(const Mapped file, Mapped::open(path));
  if (file.bytes().size() > kMaxDocument)
    return fail(Code::kOutOfRange, side.name + ": " + path + " has more than 4 MiB");
  auto json = parseJson(file.bytes());
  if (!json) return fail(json.error().in(path).in(side.name));
  return json;
}

// Which of the model's nodes a kernel computes, by its symbol, as the schedule stage states it.
std::map<std::string, std::string> nodesByKernel(const Json& manifest) {
  std::map<std::string, std::string> out;
  const auto kernels = Json::json_pointer("/stages/schedule/kernels");
  if (!manifest.contains(kernels) || !manifest.at(kernels).is_array()) return out;
  for (const Json& kernel : manifest.at(kernels)) {
    if (!kernel.is_object() || !kernel.contains("symbol") || !kernel.at("symbol").is_string()) continue;
    std::string nodes;
    if (kernel.contains("nodes") && kernel.at("nodes").is_array())
      for (const Json& node : kernel.at("nodes"))
        if (node.is_string()) nodes += (nodes.empty() ? "" : ", ") + node.get<std::string>();
    out[kernel.at("symbol").get<std::string>()] = nodes;
  }
  return out;
}

std::string_view codeOf(const Elf& elf, const ElfSymbol& symbol) {
  const ElfSection& section = elf.sections[symbol.section];
  if (symbol.address < section.address || symbol.address - section.address > section.bytes.size()) return {};
  return section.bytes.substr(symbol.address - section.address, symbol.size);
}

void compareSections(const Elf& a, const Elf& b, FileDifference& out) {
  // The first of each name on either side, in the first side's order.
  std::map<std::string_view, std::pair<const ElfSection*, const ElfSection*>> sides;
  std::vector<std::string_view> names;
  for (const ElfSection& section : a.sections)
    if (sides.try_emplace(section.name, &section, nullptr).second) names.push_back(section.name);
  for (const ElfSection& section : b.sections) {
    const auto [found, isNew] = sides.try_emplace(section.name, nullptr, &section);
    if (isNew) names.push_back(section.name);
    if (found->second.second == nullptr) found->second.second = &section;
  }
  for (const std::string_view name : names) {
    if (out.sections.size() >= kMaxSections) return;
    const auto [first, second] = sides.at(name);
    const std::string_view one = first ? first->bytes : std::string_view();
    const std::string_view other = second ? second->bytes : std::string_view();
    if (first && second && one == other) continue;
    SectionDifference difference{
        std::string(name), one.size(), other.size(), firstDifference(one, other), {}};
    const Elf& elf = first ? a : b;
    const auto index = static_cast<std::size_t>((first ? first : second) - elf.sections.data());
    if (const ElfSymbol* symbol = elf.symbolAt(index, difference.offset)) difference.symbol = symbol->name;
    out.sections.push_back(std::move(difference));
  }
}

void compareSymbols(const Elf& a, const Elf& b, const std::map<std::string, std::string>& nodes,
                    FileDifference& out) {
  std::map<std::string_view, const ElfSymbol*> others;
  for (const ElfSymbol& symbol : b.symbols) others.emplace(symbol.name, &symbol);
  const auto add = [&](const ElfSymbol& symbol, std::uint64_t first, std::uint64_t second) {
    if (out.symbols.size() >= kMaxSymbols) return;
    const std::string name(symbol.name);
    const auto named = nodes.find(name);
    out.symbols.push_back(
        {name, named == nodes.end() ? std::string() : named->second, symbol.isFunction, first, second});
  };
  std::set<std::string_view> known;
  for (const ElfSymbol& symbol : a.symbols) {
    if (!known.insert(symbol.name).second) continue;
    const auto other = others.find(symbol.name);
    if (other == others.end())
      add(symbol, symbol.size, 0);
    else if (codeOf(a, symbol) != codeOf(b, *other->second))
      add(symbol, symbol.size, other->second->size);
  }
  for (const ElfSymbol& symbol : b.symbols)
    if (known.insert(symbol.name).second) add(symbol, 0, symbol.size);
}

Result<std::optional<FileDifference>> compareFile(const std::string& path, const Side& a, const Side& b,
                                                  const std::map<std::string, std::string>& nodes) {
  KILN_ASSIGN(const Mapped first, Mapped::open(a.directory + "/" + path));
  KILN_ASSIGN(const Mapped second, Mapped::open(b.directory + "/" + path));
  if (first.bytes() == second.bytes()) return std::optional<FileDifference>();
  FileDifference out;
  out.path = path;
  out.first = digestOf(first.bytes());
  out.second = digestOf(second.bytes());
  out.offset = firstDifference(first.bytes(), second.bytes());
  const auto one = readElf(first.bytes()), other = readElf(second.bytes());
  if (one && other) {
    compareSections(*one, *other, out);
    compareSymbols(*one, *other, nodes, out);
  } else {
    compareKernels(first.bytes(), second.bytes(), nodes, out);
  }
  return std::optional<FileDifference>(std::move(out));
}

Result<FileDifference> onlyIn(const std::string& path, const Side& side, bool isFirst) {
  FileDifference out;
  out.path = path;
  KILN_ASSIGN(const Digest digest, digestOfFile(side.directory + "/" + path));
  (isFirst ? out.first : out.second) = digest;
  return out;
}

}  // namespace

Result<Differences> compare(const Side& first, const Side& second) {
  KILN_ASSIGN(const std::set<std::string> ours, listFiles(first));
  KILN_ASSIGN(const std::set<std::string> theirs, listFiles(second));
  Differences out;
  KILN_ASSIGN(const Json manifest, readManifest(first));
  KILN_ASSIGN(const Json other, readManifest(second));
  out.fields = FieldComparison().run(manifest, other);
  const auto nodes = nodesByKernel(manifest);
  std::set<std::string> all = ours;
  all.insert(theirs.begin(), theirs.end());
  for (const std::string& path : all) {
    if (ours.contains(path) && theirs.contains(path)) {
      KILN_ASSIGN(auto difference, compareFile(path, first, second, nodes));
      if (difference) out.files.push_back(std::move(*difference));
    } else if (path != "evidence.json") {  // an artifact has none, the outputs of its compile have
      KILN_ASSIGN(auto difference, onlyIn(path, ours.contains(path) ? first : second, ours.contains(path)));
      out.files.push_back(std::move(difference));
    }
  }
  KILN_TRY(compareTraces(first.directory + "/" + kTraceFile, second.directory + "/" + kTraceFile, out));
  return out;
}

Json Differences::toJson() const {
  Json fieldList = Json::array(), fileList = Json::array();
  for (const FieldDifference& field : fields)
    fieldList.push_back({{"path", field.path}, {"first", field.first}, {"second", field.second}});
  for (const FileDifference& file : files) {
    Json sections = Json::array(), symbols = Json::array();
    for (const SectionDifference& section : file.sections)
      sections.push_back({{"name", section.name},
                          {"firstSize", section.firstSize},
                          {"secondSize", section.secondSize},
                          {"offset", section.offset},
                          {"symbol", section.symbol}});
    for (const SymbolDifference& symbol : file.symbols)
      symbols.push_back({{"name", symbol.name},
                         {"nodes", symbol.nodes},
                         {"function", symbol.isFunction},
                         {"firstSize", symbol.firstSize},
                         {"secondSize", symbol.secondSize}});
    fileList.push_back({{"path", file.path},
                        {"first", file.first ? file.first->text() : ""},
                        {"second", file.second ? file.second->text() : ""},
                        {"offset", file.offset},
                        {"sections", std::move(sections)},
                        {"symbols", std::move(symbols)}});
  }
  Json out{{"equal", none()},
           {"fields", std::move(fieldList)},
           {"files", std::move(fileList)},
           {"traced", traced}};
  if (pass)
    out["pass"] = {{"index", pass->index},
                   {"name", pass->pass},
                   {"before", pass->before},
                   {"functions", pass->functions}};
  return out;
}

}  // namespace kiln::diff
