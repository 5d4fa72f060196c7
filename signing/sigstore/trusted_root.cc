#include "signing/sigstore/trusted_root.h"

#include "manifest/json/reader.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr char kMediaType[] = "application/vnd.dev.sigstore.trustedroot+json;version=0.1";
constexpr std::size_t kMaxRootBytes = 4u << 20, kMaxOfAKind = 64, kMaxRoots = 16;

// RFC 3339 in UTC; a fraction of a second is cut off.
Result<TimePoint> readTime(ObjectReader& reader, const char* name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  if (const auto dot = text.find('.'); dot != text.npos && text.ends_with('Z'))
    text.erase(dot, text.size() - 1 - dot);
  const auto time = parseRfc3339(text);
  if (!time) return badMember(reader.path(name), "must be a time in UTC, as 2026-11-20T05:23:32Z");
  return *time;
}

Result<ValidFor> readValidFor(ObjectReader& parent) {
  KILN_ASSIGN(ObjectReader reader, parent.object("validFor"));
  ValidFor out;
  KILN_ASSIGN(out.start, readTime(reader, "start"));
  if (reader.has("end")) {
    KILN_ASSIGN(out.end, readTime(reader, "end"));
  }
  return out;
}

Result<std::string> readBytes(ObjectReader& reader, const char* name) {
  KILN_ASSIGN(const std::string text, reader.string(name));
  auto bytes = fromBase64(text);
  if (!bytes) return badMember(reader.path(name), "must be base64 with padding");
  return bytes;
}

Result<KnownLog> readLog(ObjectReader& reader) {
  KILN_ASSIGN(ObjectReader id, reader.object("logId"));
  KILN_ASSIGN(std::string keyId, readBytes(id, "keyId"));
  if (keyId.size() != 32) return badMember(id.path("keyId"), "must have 32 bytes");
  KILN_ASSIGN(ObjectReader key, reader.object("publicKey"));
  KILN_ASSIGN(const std::string der, readBytes(key, "rawBytes"));
  KILN_ASSIGN(const ValidFor validFor, readValidFor(key));
  KnownLog out{std::move(keyId), {}, validFor};
  if (auto read = LogKey::fromDer(der)) out.key = std::move(*read);
  return out;
}

Result<std::vector<X509Certificate>> readChain(ObjectReader& reader) {
  KILN_ASSIGN(ObjectReader chain, reader.object("certChain"));
  KILN_ASSIGN(const Json* list, chain.array("certificates"));
  if (list->empty() || list->size() > kMaxCertificates)
    return badMember(chain.path("certificates"), "must hold 1 to 16 certificates");
  std::vector<X509Certificate> out;
  for (const Json& each : *list) {
    const std::string place = chain.path("certificates") + "[" + std::to_string(out.size()) + "]";
    KILN_ASSIGN(ObjectReader one, ObjectReader::open(each, place));
    KILN_ASSIGN(const std::string der, readBytes(one, "rawBytes"));
    auto certificate = X509Certificate::fromDer(der);
    if (!certificate) return fail(certificate.error().in(place));
    out.push_back(std::move(*certificate));
  }
  return out;
}

Result<KnownAuthority> readAuthority(ObjectReader& reader) {
  KILN_ASSIGN(std::vector<X509Certificate> chain, readChain(reader));
  auto roots = CertificateRoots::of(std::move(chain));
  if (!roots) return fail(roots.error().in(reader.path("certChain")));
  KILN_ASSIGN(const ValidFor validFor, readValidFor(reader));
  return KnownAuthority{std::move(*roots), validFor};
}

// The signer comes first in its chain.
Result<KnownTimestampAuthority> readTimestampAuthority(ObjectReader& reader) {
  KILN_ASSIGN(std::vector<X509Certificate> chain, readChain(reader));
  X509Certificate signer = std::move(chain.front());
  chain.erase(chain.begin());
  auto roots = CertificateRoots::of(std::move(chain));
  if (!roots) return fail(roots.error().in(reader.path("certChain")));
  KILN_ASSIGN(const ValidFor validFor, readValidFor(reader));
  return KnownTimestampAuthority{std::move(signer), std::move(*roots), validFor};
}

template <class T>
Status readAll(ObjectReader& reader, const char* name, Result<T> (*read)(ObjectReader&),
               std::vector<T>& out) {
  if (!reader.has(name)) return {};
  KILN_ASSIGN(const Json* list, reader.array(name));
  if (list->size() > kMaxOfAKind) return badMember(reader.path(name), "must hold at most 64");
  for (const Json& each : *list) {
    KILN_ASSIGN(ObjectReader one,
                ObjectReader::open(each, reader.path(name) + "[" + std::to_string(out.size()) + "]"));
    KILN_ASSIGN(T value, read(one));
    out.push_back(std::move(value));
  }
  return {};
}

}  // namespace

Result<TrustedRoot> TrustedRoot::parse(std::string_view text) {
  KILN_ASSIGN(const Json json, parseJson(text, {.bytes = kMaxRootBytes, .depth = 16}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "trustedRoot"));
  KILN_TRY(reader.expect("mediaType", kMediaType));
  TrustedRoot out;
  KILN_TRY(readAll(reader, "certificateAuthorities", readAuthority, out.certificateAuthorities));
  KILN_TRY(readAll(reader, "timestampAuthorities", readTimestampAuthority, out.timestampAuthorities));
  KILN_TRY(readAll(reader, "tlogs", readLog, out.logs));
  KILN_TRY(readAll(reader, "ctlogs", readLog, out.certificateLogs));
  if (out.certificateAuthorities.empty())
    return badMember(reader.path("certificateAuthorities"), "must name one that is believed");
  return out;
}

Result<std::vector<TrustedRoot>> parseTrustedRoots(std::string_view text) {
  std::vector<TrustedRoot> out;
  auto whole = TrustedRoot::parse(text);
  const auto isBlank = [](std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; };
  std::vector<std::string_view> lines;
  for (std::string_view rest = text; !rest.empty() && lines.size() <= kMaxRoots;) {
    const auto end = std::min(rest.find('\n'), rest.size());
    if (!isBlank(rest.substr(0, end))) lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // A document over several lines does not end on its first.
  if (whole || lines.size() < 2 || !parseJson(lines[0], {.bytes = kMaxRootBytes, .depth = 16})) {
    KILN_ASSIGN(TrustedRoot one, std::move(whole));
    out.push_back(std::move(one));
    return out;
  }
  if (lines.size() > kMaxRoots) return fail(Code::kInvalidArgument, "holds more than 16 trusted roots");
  for (const std::string_view line : lines) {
    auto one = TrustedRoot::parse(line);
    if (!one) return fail(one.error().in("line " + std::to_string(out.size() + 1)));
    out.push_back(std::move(*one));
  }
  return out;
}

Result<std::vector<TrustedRoot>> loadTrustedRoots(const std::string& path) {
  KILN_ASSIGN(const std::string text, readTrustFile(path, kMaxRootBytes));
  return parseTrustedRoots(text).map_error([&](const Error& error) { return error.in(path); });
}

}  // namespace kiln::signing
