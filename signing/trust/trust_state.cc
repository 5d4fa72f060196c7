#include "signing/trust/trust_state.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "manifest/base/durable_file.h"
#include "manifest/base/file.h"
#include "manifest/json/reader.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxStateBytes = 16u << 20;

Result<TrustState> parse(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxStateBytes, .depth = 4}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "state"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "TrustState"));
  TrustState state;
  KILN_ASSIGN(state.root, reader.string("root"));
  KILN_ASSIGN(std::string time, reader.string("latestSeen"));
  KILN_ASSIGN(state.latestSeen, parseRfc3339(time));
  KILN_ASSIGN(state.recallsVersion, reader.unsigned64("recallsVersion"));
  KILN_ASSIGN(state.recalls, reader.string("recalls"));
  KILN_TRY(reader.finish());
  return state;
}

Status replace(const std::string& path, const TrustState& state) {
  const Json json{{"apiVersion", "kiln/v1"},
                  {"kind", "TrustState"},
                  {"root", state.root},
                  {"latestSeen", rfc3339(state.latestSeen)},
                  {"recallsVersion", std::to_string(state.recallsVersion)},
                  {"recalls", state.recalls}};
  return replaceFile(path, json.dump() + "\n", 0600);
}

bool isReadOnly(int error) {
  return error == EROFS || error == EACCES || error == EPERM;
}

}  // namespace

Result<TrustState> TrustState::load(const std::string& path) {
  auto text = readTrustFile(path, kMaxStateBytes);
  if (!text && text.error().code == Code::kNotFound) return TrustState{};
  if (!text) return fail(text.error());
  auto state = parse(*text);
  if (!state)
    return fail(Code::kDataLoss, path + ": what is remembered of the root is damaged (" +
                                     state.error().message +
                                     "); remove it only if you know that the root beside it is the newest");
  return state;
}

Status TrustState::update(const std::string& path, const std::function<Status(TrustState&)>& change) {
  const std::string lock = path + ".lock";
  const UniqueFd alone(::open(lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!alone && isReadOnly(errno)) return {};
  if (!alone || ::flock(alone.get(), LOCK_EX) != 0) return fail(errnoError(errno, lock));
  KILN_ASSIGN(const TrustState before, load(path));
  TrustState after = before;
  KILN_TRY(change(after));
  return after == before ? Status{} : replace(path, after);
}

}  // namespace kiln::signing
