#include "signing/sigstore/keyless.h"

#include <algorithm>
#include <array>
#include <set>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "signing/sigstore/rekor_body.h"
#include "signing/sigstore/sct.h"
#include "signing/sigstore/signed_timestamp.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxEntries = 8, kMaxTimestamps = 8;

struct Proofs {
  std::vector<RekorEntry> entries;
  std::vector<std::string> timestamps;  // RFC 3161, in DER
};

Result<Proofs> readProofs(const Json& material) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(material, "verificationMaterial"));
  Proofs out;
  if (reader.has("tlogEntries")) {
    KILN_ASSIGN(const Json* list, reader.array("tlogEntries"));
    if (list->size() > kMaxEntries) return badMember(reader.path("tlogEntries"), "must hold at most 8");
    for (const Json& each : *list) {
      const std::string place = reader.path("tlogEntries") + "[" + std::to_string(out.entries.size()) + "]";
      KILN_ASSIGN(RekorEntry entry, readRekorEntry(each, place));
      out.entries.push_back(std::move(entry));
    }
  }
  const auto times = material.find("timestampVerificationData");
  if (times == material.end() || times->is_null()) return out;  // which mean the same in this form of JSON
  KILN_ASSIGN(ObjectReader data, reader.object("timestampVerificationData"));
  if (!data.has("rfc3161Timestamps")) return out;
  KILN_ASSIGN(const Json* list, data.array("rfc3161Timestamps"));
  if (list->size() > kMaxTimestamps) return badMember(data.path("rfc3161Timestamps"), "must hold at most 8");
  for (const Json& each : *list) {
    KILN_ASSIGN(ObjectReader one, ObjectReader::open(each, data.path("rfc3161Timestamps")));
    KILN_ASSIGN(const std::string text, one.string("signedTimestamp"));
    auto bytes = fromBase64(text);
    if (!bytes) return badMember(one.path("signedTimestamp"), "must be base64 with padding");
    out.timestamps.push_back(std::move(*bytes));
  }
  return out;
}

// The times that what a bundle brings proves under a root; each proof that is there must hold.
Result<std::vector<TimePoint>> provenTimes(const Proofs& proofs, const TrustedRoot& root,
                                           const X509Certificate& leaf, const Envelope& envelope) {
  std::vector<TimePoint> out;
  for (const std::string& one : proofs.timestamps) {
    KILN_ASSIGN(const TimePoint time, checkTimestamp(one, envelope.signatures[0], root.timestampAuthorities));
    out.push_back(time);
  }
  std::vector<ValidFor> used;
  for (const RekorEntry& entry : proofs.entries) {
    KILN_ASSIGN(const LoggedAt logged, checkRekorEntry(entry, root.logs));
    KILN_TRY(checkRekorBody(entry, envelope, leaf));
    if (logged.time) out.push_back(*logged.time);
    used.push_back(logged.validFor);
  }
  if (used.empty() && !root.logs.empty())
    return fail(Code::kDataLoss, "it is in none of the logs that are believed");
  if (out.empty()) return fail(Code::kDataLoss, "nothing that is believed says when it was signed");
  for (const ValidFor& one : used)
    for (const TimePoint time : out)
      if (!one.holds(time)) return fail(Code::kDataLoss, "its log's key was not in use when it was signed");
  return out;
}

Result<std::vector<X509Certificate>> chainAt(const X509Certificate& leaf, const TrustedRoot& root,
                                             TimePoint at) {
  Error last{Code::kDataLoss, "no certificate authority that is believed was at work when it was signed"};
  for (const KnownAuthority& authority : root.certificateAuthorities) {
    if (!authority.validFor.holds(at)) continue;
    auto chain = checkChain(std::array{leaf}, authority.roots, at);
    if (chain) return chain;
    last = std::move(chain).error();
  }
  return fail(std::move(last));
}

Result<KeylessSigner> checkUnder(const TrustedRoot& root, const Proofs& proofs, const X509Certificate& leaf,
                                 const Envelope& envelope) {
  KILN_ASSIGN(const std::vector<TimePoint> times, provenTimes(proofs, root, leaf, envelope));
  KeylessSigner out;
  out.at = std::ranges::min(times);
  for (const TimePoint time : times) {
    KILN_ASSIGN(out.chain, chainAt(leaf, root, time));
    if (!root.certificateLogs.empty()) KILN_TRY(checkShown(leaf, out.chain[1], root.certificateLogs));
  }
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + inQuotes(name);
  return out.empty() ? "nobody in a subject alternative name" : out;
}

}  // namespace

Result<KeylessSigner> checkKeyless(const Json& material, const X509Certificate& leaf,
                                   const Envelope& envelope, const KeylessRule& rule) {
  KILN_ASSIGN(const Proofs proofs, readProofs(material));
  Result<KeylessSigner> out = fail(Code::kDataLoss, "no trusted root is named");
  for (const TrustedRoot& root : rule.roots) {
    out = checkUnder(root, proofs, leaf, envelope);
    if (out) break;
  }
  if (!out) return out;
  const auto identity =
      std::ranges::find_if(rule.identities, [&](const std::string& one) { return leaf.names(one); });
  if (identity == rule.identities.end())
    return fail(Code::kDataLoss, "its certificate names " + listed(leaf.alternativeNames()) + ", and not " +
                                     listed(rule.identities));
  out->identity = *identity;
  out->issuer = leaf.oidcIssuer();
  if (out->issuer.empty() || std::ranges::find(rule.issuers, out->issuer) == rule.issuers.end())
    return fail(Code::kDataLoss, "its certificate states the OpenID issuer " + inQuotes(out->issuer) +
                                     ", and not " + listed(rule.issuers));
  return out;
}

}  // namespace kiln::signing
