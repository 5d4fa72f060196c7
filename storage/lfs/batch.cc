#include "storage/lfs/batch.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "manifest/base/glob.h"
#include "manifest/base/printable.h"
#include "manifest/json/reader.h"

namespace kiln::lfs {
namespace {

constexpr std::size_t kMaxHref = 8192;
constexpr std::size_t kMaxHeaders = 32, kMaxHeaderBytes = 16 << 10;
// What the exchange itself decides, in lower case.
constexpr std::array<std::string_view, 9> kOwnHeaders = {
    "connection", "content-length",    "cookie",  "expect", "host",
    "te",         "transfer-encoding", "upgrade", "trailer"};

// RFC 9110, "token".
bool isToken(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != kMarks.npos;
  });
}

bool isVisible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

// A line break in a header would begin another one.
Status readHeaders(const Json& headers, Download& out) {
  const auto bad = [](std::string_view why) {
    return fail(Code::kDataLoss, fmt::format("the headers to send along {}", why));
  };
  if (!headers.is_object() || headers.size() > kMaxHeaders) return bad("are no object of at most 32 members");
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers.items()) {
    if (!isToken(name) || !value.is_string()) return bad("have one without a name or a text");
    const auto& text = value.get_ref<const std::string&>();
    bytes += name.size() + text.size();
    if (!isVisible(text) || bytes > kMaxHeaderBytes) return bad("have a control character or over 16 KiB");
    const std::string known = lower(name);
    if (std::ranges::find(kOwnHeaders, known) != kOwnHeaders.end()) return bad("have one that is not theirs");
    out.authorizes = out.authorizes || known == "authorization";
    out.headers.push_back(name + ": " + text);
  }
  return {};
}

Code codeOfObject(std::int64_t status) {
  switch (status) {
    case 401:
    case 403:
      return Code::kPermissionDenied;
    case 404:
    case 410:
      return Code::kNotFound;
    case 408:
    case 429:
      return Code::kUnavailable;
    default:
      return status >= 500 ? Code::kUnavailable : Code::kDataLoss;
  }
}

Result<Download> readDownload(ObjectReader& object, const Digest& wanted) {
  KILN_ASSIGN(const std::uint64_t size, object.unsigned64("size"));
  if (size != wanted.size)
    return fail(Code::kDataLoss,
                fmt::format("the server has it with {} bytes, the pointer with {}", size, wanted.size));
  if (object.has("error")) {
    KILN_ASSIGN(ObjectReader error, object.object("error"));
    KILN_ASSIGN(const std::int64_t code, error.integer("code", 0, 999));
    std::string words;
    if (error.has("message")) {
      KILN_ASSIGN(words, error.string("message"));
    }
    return fail(codeOfObject(code), fmt::format("the server does not give it: {} {}", code, inQuotes(words)));
  }
  KILN_ASSIGN(ObjectReader actions, object.object("actions"));
  KILN_ASSIGN(ObjectReader action, actions.object("download"));
  Download out;
  KILN_ASSIGN(out.href, action.string("href"));
  if (out.href.empty() || out.href.size() > kMaxHref || !isVisible(out.href))
    return fail(Code::kDataLoss, "the address is none of at most 8 KiB of printable ASCII");
  if (!action.has("header")) return out;
  KILN_ASSIGN(const Json* const headers, action.any("header"));
  KILN_TRY(readHeaders(*headers, out));
  return out;
}

Status checkKinds(ObjectReader& answer) {
  const std::pair<const char*, const char*> kinds[] = {{"transfer", "basic"}, {"hash_algo", "sha256"}};
  for (const auto& [name, known] : kinds) {
    if (!answer.has(name)) continue;
    KILN_ASSIGN(const std::string given, answer.string(name));
    if (given != known)
      return fail(Code::kUnimplemented, fmt::format("the server wants the {} {}, and {} alone is served",
                                                    name, inQuotes(given), known));
  }
  return {};
}

// What the server says of each object, by its hash.
Result<std::map<std::string, ObjectReader>> readObjects(const Json& json) {
  KILN_ASSIGN(ObjectReader answer, ObjectReader::open(json, ""));
  KILN_TRY(checkKinds(answer));
  KILN_ASSIGN(const Json* const objects, answer.array("objects"));
  std::map<std::string, ObjectReader> out;
  for (std::size_t i = 0; i < objects->size(); ++i) {
    KILN_ASSIGN(ObjectReader object, ObjectReader::open((*objects)[i], fmt::format("objects[{}]", i)));
    KILN_ASSIGN(std::string hash, object.string("oid"));
    if (!out.emplace(std::move(hash), std::move(object)).second)
      return fail(Code::kDataLoss, fmt::format("objects[{}] is there twice", i));
  }
  return out;
}

// The answer is the server's, and no fault of whoever asked.
Error ofServer(Error error) {
  if (error.code == Code::kInvalidArgument) error.code = Code::kDataLoss;
  return error.in("the answer of the Git LFS server");
}

}  // namespace

Result<std::string> batchRequest(std::span<const LargeFile> files) {
  Json objects = Json::array();
  for (const LargeFile& file : files) {
    Json object{{"oid", file.object.hex()}, {"size", file.object.size}};
    if (std::ranges::find(objects, object) == objects.end()) objects.push_back(std::move(object));
  }
  return toCanonicalJson({{"hash_algo", "sha256"},
                          {"objects", std::move(objects)},
                          {"operation", "download"},
                          {"transfers", {"basic"}}});
}

Result<std::vector<Download>> readBatch(std::string_view answer, std::span<const LargeFile> files) {
  const auto json = parseJson(answer, {.bytes = kMaxBatchBytes, .depth = 16});
  if (!json) return fail(ofServer(json.error()).in(describe(files.front())));
  auto objects = readObjects(*json);
  if (!objects) return fail(ofServer(objects.error()).in(describe(files.front())));
  std::vector<Download> out;
  for (const LargeFile& file : files) {
    const auto found = objects->find(file.object.hex());
    if (found == objects->end())
      return fail(Code::kDataLoss, "the answer of the Git LFS server leaves out " + describe(file));
    auto download = readDownload(found->second, file.object);
    if (!download) return fail(ofServer(download.error()).in(describe(file)));
    out.push_back(std::move(*download));
  }
  return out;
}

}  // namespace kiln::lfs
