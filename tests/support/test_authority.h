// Certificates of other people's authorities, made in memory with any extensions and any validity.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "manifest/base/clock.h"
#include "signing/keys/openssl.h"
#include "signing/model/model_key.h"
#include "signing/x509/certificate.h"

namespace kiln::testing_support {

inline TimePoint at(const char* text) {
  return parseRfc3339(text).value();
}

// What a certificate says. Extensions by OpenSSL's names (or dotted numbers) and values, in order.
struct CertificateOrder {
  std::string name;
  std::vector<std::pair<std::string, std::string>> extensions;
  TimePoint from = at("2026-01-01T00:00:00Z"), to = at("2027-01-01T00:00:00Z");
  const char* curve = "P-256";
};

inline CertificateOrder authorityOrder(const std::string& name) {
  return {name, {{"basicConstraints", "critical,CA:TRUE"}, {"keyUsage", "critical,keyCertSign,cRLSign"}}};
}
inline CertificateOrder signerOrder(const std::string& names) {
  return {"signer",
          {{"keyUsage", "critical,digitalSignature"},
           {"extendedKeyUsage", "codeSigning"},
           {"subjectAltName", names}}};
}

// A certificate and its key.
class TestCertificate {
 public:
  // Signed by itself.
  explicit TestCertificate(const CertificateOrder& order) : TestCertificate(order, nullptr) {}
  // Issued by this one, whatever it may be good for.
  TestCertificate issue(const CertificateOrder& order) const { return TestCertificate(order, this); }

  X509* x509() const { return x509_.get(); }
  EVP_PKEY* key() const { return key_.get(); }
  std::string der() const {
    unsigned char* data = nullptr;
    const int size = i2d_X509(x509_.get(), &data);
    std::string out(reinterpret_cast<char*>(data), static_cast<std::size_t>(size));
    OPENSSL_free(data);
    return out;
  }
  std::string pem() const {
    const auto bio = signing::writer();
    PEM_write_bio_X509(bio.get(), x509_.get());
    return signing::textOf(bio.get());
  }
  std::string keyPem() const {
    const auto bio = signing::writer();
    PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return signing::textOf(bio.get());
  }
  signing::X509Certificate certificate() const { return signing::X509Certificate::fromDer(der()).value(); }
  // Adds an extension that holds `bytes` as a string of octets, and has it signed again.
  void addRaw(const char* id, const std::string& bytes, const TestCertificate& issuer) {
    const std::shared_ptr<ASN1_OCTET_STRING> inner(ASN1_OCTET_STRING_new(), ASN1_OCTET_STRING_free);
    const std::shared_ptr<ASN1_OCTET_STRING> outer(ASN1_OCTET_STRING_new(), ASN1_OCTET_STRING_free);
    ASN1_OCTET_STRING_set(inner.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                          static_cast<int>(bytes.size()));
    unsigned char* der = nullptr;
    const int size = i2d_ASN1_OCTET_STRING(inner.get(), &der);
    ASN1_OCTET_STRING_set(outer.get(), der, size);
    OPENSSL_free(der);
    const std::shared_ptr<ASN1_OBJECT> object(OBJ_txt2obj(id, 1), ASN1_OBJECT_free);
    X509_EXTENSION* extension = X509_EXTENSION_create_by_OBJ(nullptr, object.get(), 0, outer.get());
    X509_add_ext(x509_.get(), extension, -1);
    X509_EXTENSION_free(extension);
    X509_sign(x509_.get(), issuer.key(), EVP_sha256());
  }
  // Its list of what it has taken back, of those certificates.
  std::shared_ptr<X509_CRL> takesBack(const std::vector<TestCertificate>& certificates,
                                      TimePoint from = at("2026-01-01T00:00:00Z"),
                                      TimePoint to = at("2027-01-01T00:00:00Z")) const {
    const std::shared_ptr<X509_CRL> list(X509_CRL_new(), X509_CRL_free);
    const std::shared_ptr<ASN1_TIME> first(ASN1_TIME_set(nullptr, seconds(from)), ASN1_TIME_free);
    const std::shared_ptr<ASN1_TIME> next(ASN1_TIME_set(nullptr, seconds(to)), ASN1_TIME_free);
    X509_CRL_set_version(list.get(), 1);
    X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(x509_.get()));
    X509_CRL_set1_lastUpdate(list.get(), first.get());
    X509_CRL_set1_nextUpdate(list.get(), next.get());
    for (const TestCertificate& one : certificates) {
      X509_REVOKED* entry = X509_REVOKED_new();
      X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(one.x509()));
      X509_REVOKED_set_revocationDate(entry, first.get());
      X509_CRL_add0_revoked(list.get(), entry);
    }
    X509_CRL_sort(list.get());
    X509_CRL_sign(list.get(), key_.get(), EVP_sha256());
    return list;
  }
  // By its key, over the hash of `md`.
  std::string sign(std::string_view message, const EVP_MD* md = EVP_sha256()) const {
    return signing::signMessage(key_.get(), md, asBytes(message)).value();
  }

 private:
  TestCertificate(const CertificateOrder& order, const TestCertificate* issuer)
      : x509_(X509_new(), X509_free), key_(EVP_EC_gen(order.curve), EVP_PKEY_free) {
    X509* x = x509_.get();
    X509* by = issuer ? issuer->x509() : x;
    X509_set_version(x, X509_VERSION_3);
    static long serial = 0;
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    if (!order.name.empty())
      X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(order.name.c_str()), -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(by));
    ASN1_TIME_set(X509_getm_notBefore(x), seconds(order.from));
    ASN1_TIME_set(X509_getm_notAfter(x), seconds(order.to));
    X509_set_pubkey(x, key_.get());
    X509V3_CTX context;
    X509V3_set_ctx(&context, by, x, nullptr, nullptr, 0);
    for (const auto& [name, value] : order.extensions) {
      X509_EXTENSION* extension = X509V3_EXT_nconf(nullptr, &context, name.c_str(), value.c_str());
      EXPECT_NE(extension, nullptr) << name << "=" << value;
      X509_add_ext(x, extension, -1);
      X509_EXTENSION_free(extension);
    }
    X509_sign(x, issuer ? issuer->key() : key_.get(), EVP_sha256());
    signing::clearErrors();
  }
  static std::time_t seconds(TimePoint time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  }

  std::shared_ptr<X509> x509_;
  std::shared_ptr<EVP_PKEY> key_;
};

}  // namespace kiln::testing_support
