// A Sigstore of a test's own: a certificate authority, a log of certificates, a Rekor log and a timestamp
// authority, in memory.
#pragma once

#include <openssl/ts.h>

#include <string>
#include <utility>
#include <vector>

#include "manifest/json/json.h"
#include "signing/dsse/dsse.h"
#include "signing/log/merkle.h"
#include "signing/log/note.h"
#include "tests/support/test_authority.h"

namespace kiln::testing_support {

inline std::string bigEndian(std::uint64_t number, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(number >> (8 * i));
  return out;
}
inline std::string raw(const Digest& digest) {
  return {digest.hash.begin(), digest.hash.end()};
}
inline std::int64_t secondsOf(TimePoint time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}
inline std::string base64(std::string_view bytes) {
  return toBase64(asBytes(bytes));
}

// The key of a log, with its id.
class TestLog {
 public:
  explicit TestLog(const char* curve = "P-256") : key_(EVP_EC_gen(curve), EVP_PKEY_free) {}
  std::string der() const {
    unsigned char* data = nullptr;
    const int size = i2d_PUBKEY(key_.get(), &data);
    std::string out(reinterpret_cast<char*>(data), static_cast<std::size_t>(size));
    OPENSSL_free(data);
    return out;
  }
  std::string id() const { return raw(digestOf(der())); }
  std::string sign(std::string_view message) const {
    return signing::signMessage(key_.get(), EVP_sha256(), asBytes(message)).value();
  }
  Json json() const {
    return {{"baseUrl", "https://log.test"},
            {"logId", {{"keyId", base64(id())}}},
            {"publicKey",
             {{"rawBytes", base64(der())},
              {"keyDetails", "PKIX_ECDSA_P256_SHA_256"},
              {"validFor", {{"start", "2026-01-01T00:00:00Z"}, {"end", "2026-12-31T23:59:59.999Z"}}}}}};
  }

 private:
  std::shared_ptr<EVP_PKEY> key_;
};

struct SmallSigstore {
  static constexpr char kWho[] = "https://forge.test/acme/models/.ci/release.yml@refs/heads/main";
  static constexpr char kIssuer[] = "https://token.forge.test";
  const TimePoint now = at("2026-06-01T00:00:00Z");

  TestCertificate root{authorityOrder("root")};
  TestCertificate middle = root.issue(codeAuthority());
  TestCertificate timeRoot{authorityOrder("time root")};
  TestCertificate timeSigner = timeRoot.issue(
      {"time", {{"keyUsage", "critical,digitalSignature"}, {"extendedKeyUsage", "critical,timeStamping"}}});
  TestLog rekor, certificateLog;

  static CertificateOrder codeAuthority() {
    CertificateOrder out = authorityOrder("middle");
    out.extensions.emplace_back("extendedKeyUsage", "codeSigning");
    return out;
  }

  // Of ten minutes from `now`, as Fulcio issues them: no subject, the name as a URI.
  CertificateOrder leafOrder() const {
    CertificateOrder order = signerOrder("critical,URI:" + std::string(kWho));
    order.name = "";
    order.from = now;
    order.to = now + std::chrono::minutes(10);
    order.extensions.emplace_back("1.3.6.1.4.1.57264.1.8", "ASN1:UTF8String:" + std::string(kIssuer));
    return order;
  }
  // With the timestamp of `log`, at `now` or later, for this issuer's key.
  TestCertificate issue(const CertificateOrder& order, const TestLog* log,
                        const TestCertificate* shownFor = nullptr, Duration later = {}) const {
    TestCertificate out = middle.issue(order);
    if (!log) return out;
    unsigned char* data = nullptr;
    int size = i2d_re_X509_tbs(out.x509(), &data);
    const std::string shown(reinterpret_cast<char*>(data), static_cast<std::size_t>(size));
    OPENSSL_free(data);
    data = nullptr;
    size = i2d_PUBKEY(X509_get0_pubkey((shownFor ? shownFor : &middle)->x509()), &data);
    const std::string issuerKey(reinterpret_cast<char*>(data), static_cast<std::size_t>(size));
    OPENSSL_free(data);
    const std::string time = bigEndian(static_cast<std::uint64_t>(secondsOf(now + later)) * 1000, 8);
    const std::string signature =
        log->sign(bigEndian(0, 2) + time + bigEndian(1, 2) + raw(digestOf(issuerKey)) +
                  bigEndian(shown.size(), 3) + shown + bigEndian(0, 2));
    const std::string one = bigEndian(0, 1) + log->id() + time + bigEndian(0, 2) + bigEndian(0x0403, 2) +
                            bigEndian(signature.size(), 2) + signature;
    const std::string list = bigEndian(one.size() + 2, 2) + bigEndian(one.size(), 2) + one;
    out.addRaw("1.3.6.1.4.1.11129.2.4.2", list, middle);
    return out;
  }
  TestCertificate leaf() const { return issue(leafOrder(), &certificateLog); }

  static signing::Envelope sign(const TestCertificate& leaf, const std::string& payload) {
    const std::string message = signing::preAuthenticationEncoding(signing::kInTotoPayload, payload);
    return {signing::kInTotoPayload, payload, {leaf.sign(message)}};
  }

  // Bodies of each kind of entry about an envelope.
  static std::string body(const std::string& kind, const std::string& version,
                          const signing::Envelope& envelope, const TestCertificate& leaf) {
    const Json hex{{"algorithm", "sha256"}, {"value", digestOf(envelope.payload).hex()}};
    const Json verifier{{"x509Certificate", {{"rawBytes", base64(leaf.der())}}},
                        {"keyDetails", "PKIX_ECDSA_P256_SHA_256"}};
    const Json second{{"content", base64(envelope.signatures[0])}, {"verifier", verifier}};
    Json spec;
    if (kind == "dsse" && version == "0.0.1")
      spec = {{"payloadHash", hex},
              {"signatures",
               {{{"signature", base64(envelope.signatures[0])}, {"verifier", base64(leaf.pem())}}}}};
    else if (kind == "intoto")
      spec = {
          {"content",
           {{"payloadHash", hex},
            {"envelope",
             {{"payloadType", envelope.payloadType},
              {"signatures",
               {{{"sig", base64(base64(envelope.signatures[0]))}, {"publicKey", base64(leaf.pem())}}}}}}}}};
    else if (kind == "dsse")
      spec = {
          {"dsseV002",
           {{"payloadHash", {{"algorithm", "SHA2_256"}, {"digest", base64(raw(digestOf(envelope.payload)))}}},
            {"signatures", Json::array({second})}}}};
    else
      spec = {{"hashedRekordV002",
               {{"data",
                 {{"algorithm", "SHA2_256"},
                  {"digest", base64(raw(digestOf(signing::preAuthenticationEncoding(envelope.payloadType,
                                                                                    envelope.payload))))}}},
                {"signature", second}}}};
    return Json{{"kind", kind}, {"apiVersion", version}, {"spec", spec}}.dump();
  }

  // An entry in a tree of two, promised at `now` and a minute, with a proof.
  Json entry(const std::string& kind, const std::string& version, const std::string& body) const {
    const auto leafHash = signing::leafHash(body), other = signing::leafHash("other");
    const auto top = signing::nodeHash(other, leafHash);
    const std::string text = "log.test - 4711\n2\n" + toBase64(top) + "\n";
    signing::Note note{text, {{"log.test", {}, rekor.sign(text)}}};
    const std::string id = rekor.id();
    std::copy_n(id.begin(), 4, note.signatures[0].hint.begin());
    const std::int64_t time = secondsOf(now) + 60;
    const std::string promise = rekor.sign(toCanonicalJson({{"body", base64(body)},
                                                            {"integratedTime", time},
                                                            {"logID", toHex(asBytes(id))},
                                                            {"logIndex", 1001}})
                                               .value());
    return {{"logIndex", "1001"},
            {"logId", {{"keyId", base64(id)}}},
            {"kindVersion", {{"kind", kind}, {"version", version}}},
            {"integratedTime", std::to_string(time)},
            {"inclusionPromise", {{"signedEntryTimestamp", base64(promise)}}},
            {"inclusionProof",
             {{"logIndex", "1"},
              {"treeSize", "2"},
              {"rootHash", toBase64(top)},
              {"hashes", {toBase64(other)}},
              {"checkpoint", {{"envelope", note.toString()}}}}},
            {"canonicalizedBody", base64(body)}};
  }

  // What `signer`, an authority of time, answers about `message` at that time.
  static std::string timestamp(const TestCertificate& signer, const std::string& message, TimePoint time) {
    TS_REQ* request = TS_REQ_new();
    TS_MSG_IMPRINT* imprint = TS_MSG_IMPRINT_new();
    X509_ALGOR* algorithm = X509_ALGOR_new();
    X509_ALGOR_set0(algorithm, OBJ_nid2obj(NID_sha256), V_ASN1_NULL, nullptr);
    TS_REQ_set_version(request, 1);
    TS_MSG_IMPRINT_set_algo(imprint, algorithm);
    std::string hash = raw(digestOf(message));
    TS_MSG_IMPRINT_set_msg(imprint, reinterpret_cast<unsigned char*>(hash.data()),
                           static_cast<int>(hash.size()));
    TS_REQ_set_msg_imprint(request, imprint);
    TS_REQ_set_cert_req(request, 1);
    BIO* asked = BIO_new(BIO_s_mem());
    i2d_TS_REQ_bio(asked, request);
    TS_RESP_CTX* context = TS_RESP_CTX_new();
    ASN1_OBJECT* policy = OBJ_txt2obj("1.2.3.4.1", 1);
    TS_RESP_CTX_set_def_policy(context, policy);
    TS_RESP_CTX_add_md(context, EVP_sha256());
    TS_RESP_CTX_set_signer_cert(context, signer.x509());
    TS_RESP_CTX_set_signer_key(context, signer.key());
    TS_RESP_CTX_set_signer_digest(context, EVP_sha256());
    TS_RESP_CTX_set_ess_cert_id_digest(context, EVP_sha256());
    TS_RESP_CTX_set_serial_cb(
        context,
        [](TS_RESP_CTX*, void*) {
          ASN1_INTEGER* one = ASN1_INTEGER_new();
          ASN1_INTEGER_set(one, 1);
          return one;
        },
        nullptr);
    std::int64_t seconds = secondsOf(time);
    TS_RESP_CTX_set_time_cb(
        context,
        [](TS_RESP_CTX*, void* data, long* sec, long* usec) {
          *sec = *static_cast<std::int64_t*>(data);
          *usec = 0;
          return 1;
        },
        &seconds);
    TS_RESP* response = TS_RESP_create_response(context, asked);
    unsigned char* data = nullptr;
    const int size = i2d_TS_RESP(response, &data);
    std::string out(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0);
    OPENSSL_free(data);
    TS_RESP_free(response);
    ASN1_OBJECT_free(policy);
    TS_RESP_CTX_free(context);
    BIO_free(asked);
    X509_ALGOR_free(algorithm);
    TS_MSG_IMPRINT_free(imprint);
    TS_REQ_free(request);
    signing::clearErrors();
    return out;
  }

  static Json chain(const std::vector<TestCertificate>& certificates) {
    Json list = Json::array();
    for (const TestCertificate& one : certificates) list.push_back({{"rawBytes", base64(one.der())}});
    return {{"certificates", list}};
  }
  Json trustedRoot() const {
    const Json validFor{{"start", "2026-01-01T00:00:00Z"}};
    return {
        {"mediaType", "application/vnd.dev.sigstore.trustedroot+json;version=0.1"},
        {"certificateAuthorities", {{{"certChain", chain({middle, root})}, {"validFor", validFor}}}},
        {"timestampAuthorities", {{{"certChain", chain({timeSigner, timeRoot})}, {"validFor", validFor}}}},
        {"tlogs", {rekor.json()}},
        {"ctlogs", {certificateLog.json()}}};
  }
};

}  // namespace kiln::testing_support
