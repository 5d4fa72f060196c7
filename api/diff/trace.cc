#include "api/diff/trace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "manifest/base/file.h"
#include "manifest/json/reader.h"

namespace kiln::diff {
namespace {

constexpr std::size_t kMaxTraceBytes = 256u << 20;
constexpr std::size_t kMaxFunctions = 1000;

struct Record {
  std::string pass, scope, ir;
  std::map<std::string, std::string> functions;
};

Result<std::vector<Record>> readTrace(const std::string& path) {
  KILN_ASSIGN(const UniqueFd file, openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, path));
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return fail(errnoError(errno, path));
  if (!S_ISREG(facts.st_mode) || static_cast<std::uint64_t>(facts.st_size) > kMaxTraceBytes)
    return fail(Code::kInvalidArgument, path + ": is no trace of at most 256 MiB");
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  KILN_TRY(readExactly(file.get(), {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, 0, path));
  KILN_ASSIGN(const Json json, parseStrictJson(text, {.bytes = kMaxTraceBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "trace"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "PassTrace"));
  KILN_ASSIGN(const Json* passes, reader.array("passes"));
  std::vector<Record> out;
  for (const Json& one : *passes) {
    KILN_ASSIGN(ObjectReader pass,
                ObjectReader::open(one, "trace.passes[" + std::to_string(out.size()) + "]"));
    Record record;
    KILN_ASSIGN(record.pass, pass.string("pass"));
    KILN_ASSIGN(record.scope, pass.string("scope"));
    KILN_ASSIGN(record.ir, pass.string("ir"));
    KILN_ASSIGN(const Json* functions, pass.array("functions"));
    for (const Json& entry : *functions) {
      KILN_ASSIGN(ObjectReader function, ObjectReader::open(entry, pass.path("functions")));
      KILN_ASSIGN(const std::string name, function.string("name"));
      KILN_ASSIGN(record.functions[name], function.string("ir"));
    }
    out.push_back(std::move(record));
  }
  return out;
}

std::vector<std::string> differingFunctions(const Record& a, const Record& b) {
  if (!a.scope.empty()) return {a.scope};
  std::vector<std::string> out;
  for (const auto& [name, ir] : a.functions) {
    if (out.size() >= kMaxFunctions) break;
    if (auto other = b.functions.find(name); other == b.functions.end() || other->second != ir)
      out.push_back(name);
  }
  for (const auto& [name, ir] : b.functions)
    if (!a.functions.contains(name) && out.size() < kMaxFunctions) out.push_back(name);
  return out;
}

std::string nameOf(const Record& record) {
  return record.scope.empty() ? record.pass : record.pass + " on " + record.scope;
}

}  // namespace

Status compareTraces(const std::string& first, const std::string& second, Differences& out) {
  if (::access(first.c_str(), F_OK) != 0 || ::access(second.c_str(), F_OK) != 0) return {};
  auto a = readTrace(first);
  if (!a) return fail(a.error().in(first));
  auto b = readTrace(second);
  if (!b) return fail(b.error().in(second));
  out.traced = true;
  const std::size_t common = std::min(a->size(), b->size());
  for (std::size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
    const bool same = i < common && (*a)[i].pass == (*b)[i].pass && (*a)[i].scope == (*b)[i].scope &&
                      (*a)[i].ir == (*b)[i].ir;
    if (same) continue;
    const Record& record = i < a->size() ? (*a)[i] : (*b)[i];
    out.pass =
        PassDifference{i, nameOf(record), i > 0 ? nameOf((*(i <= a->size() ? a : b))[i - 1]) : std::string(),
                       i < common ? differingFunctions((*a)[i], (*b)[i]) : std::vector<std::string>{}};
    return {};
  }
  return {};
}

}  // namespace kiln::diff
