// One signature, one form: what is not the DER of two numbers within the curve's order is refused, and so are
// keys in any form but one. Wycheproof's vectors go the same way (tests/interop/wycheproof.py).
#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/x509.h>

#include <map>

#include "signing/keys/ed25519.h"
#include "signing/keys/keys.h"

namespace kiln::signing {
namespace {

// DER pieces, with nothing done to what they hold.
std::string tlv(unsigned char tag, const std::string& content) {
  EXPECT_LT(content.size(), 128u);
  return std::string{static_cast<char>(tag), static_cast<char>(content.size())} + content;
}
std::string integer(const std::string& content) {
  return tlv(0x02, content);
}
std::string sequence(const std::string& content) {
  return tlv(0x30, content);
}

std::string fromHex(const std::string& text) {
  long size = 0;
  unsigned char* bytes = OPENSSL_hexstr2buf(text.c_str(), &size);
  std::string out(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return out;
}

// The order of P-256 (FIPS 186-4, D.1.2.3).
const std::string kOrder = fromHex("00ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");

// Sums and differences of unsigned big-endian numbers, in the fewest bytes of a non-negative INTEGER.
std::string add(const std::string& a, const std::string& b, bool subtract = false) {
  const auto number = [](const std::string& text) {
    return BN_bin2bn(reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()),
                     nullptr);
  };
  BIGNUM *x = number(a), *y = number(b);
  (subtract ? BN_sub : BN_add)(x, x, y);
  std::string out(static_cast<std::size_t>(BN_num_bytes(x)), '\0');
  BN_bn2bin(x, reinterpret_cast<unsigned char*>(out.data()));
  BN_free(x);
  BN_free(y);
  if (out.empty() || static_cast<unsigned char>(out[0]) >= 0x80) out.insert(0, 1, '\0');
  return out;
}

class SignatureForm : public testing::Test {
 protected:
  SignatureForm() {
    // One whose numbers both have 33 bytes, the first of them 0: so every way to write them differs.
    do {
      signature_ = key_.sign(asBytes(message_)).value();
    } while (signature_.size() != 72);
    r_ = signature_.substr(4, 33);
    s_ = signature_.substr(39, 33);
  }
  bool accepts(const std::string& signature) const {
    return key_.publicKey().verify(asBytes(message_), asBytes(signature)).has_value();
  }

  const PrivateKey key_ = PrivateKey::create().value();
  const std::string message_ = "message";
  std::string signature_, r_, s_;
};

TEST_F(SignatureForm, OnlyTheDerOfBothNumbers) {
  const std::string zero(1, '\0'), r = integer(r_), s = integer(s_);
  ASSERT_EQ(sequence(r + s), signature_);
  EXPECT_TRUE(accepts(signature_));
  const std::map<std::string, std::string> refused{
      {"empty", ""},
      {"a byte after its end", signature_ + zero},
      {"a byte within, after the numbers", sequence(r + s + zero)},
      {"a third number", sequence(r + s + integer("\x01"))},
      {"one number", sequence(r)},
      {"cut short", signature_.substr(0, signature_.size() - 1)},
      {"r with a leading zero too many", sequence(integer(zero + r_) + s)},
      {"s with a leading zero too many", sequence(r + integer(zero + s_))},
      {"r without its sign", sequence(integer(r_.substr(1)) + s)},
      {"s without its sign", sequence(r + integer(s_.substr(1)))},
      {"numbers without content", sequence(integer("") + integer(""))},
      {"a long form of the length", "\x30\x81" + signature_.substr(1)},
      {"a longer form of the length", std::string("\x30\x82\x00", 3) + signature_.substr(1)},
      {"a long form of r's length", sequence("\x02\x81" + r.substr(1) + s)},
      {"a length without an end", std::string("\x30\x80", 2) + r + s + std::string(2, '\0')},
      {"a set", tlv(0x31, r + s)},
      {"octet strings", sequence(tlv(0x04, r_) + tlv(0x04, s_))},
      {"a constructed number", sequence(tlv(0x22, r) + s)},
      {"both numbers in full length", r_.substr(1) + s_.substr(1)},
      {"s and r", sequence(s + r)}};
  for (const auto& [what, signature] : refused) EXPECT_FALSE(accepts(signature)) << what;
}

TEST_F(SignatureForm, OnlyNumbersWithinTheOrder) {
  const std::string zero(1, '\0'), one("\x01"), large = add(kOrder, one, true);
  const std::map<std::string, std::pair<std::string, std::string>> refused{
      {"r = 0", {zero, s_}},
      {"s = 0", {r_, zero}},
      {"both 0", {zero, zero}},
      {"r = n", {kOrder, s_}},
      {"s = n", {r_, kOrder}},
      {"r + n", {add(r_, kOrder), s_}},
      {"s + n", {r_, add(s_, kOrder)}},
      {"r = 1, s = 1", {one, one}},
      {"r = n - 1", {large, s_}},
      {"s = n - 1", {r_, large}},
      {"-1", {"\xff", "\xff"}},
      {"r = 2^264 - 1", {zero + std::string(33, '\xff'), s_}}};
  for (const auto& [what, numbers] : refused)
    EXPECT_FALSE(accepts(sequence(integer(numbers.first) + integer(numbers.second)))) << what;
  // That (r, n - s) verifies, too, is ECDSA: a signature is no name for anything. The log's entries are found
  // by the digest of what was signed.
  EXPECT_TRUE(accepts(sequence(integer(r_) + integer(add(kOrder, s_, true)))));
}

// A SubjectPublicKeyInfo of an EC key on `group` in the given forms.
std::string spki(std::string group, std::string point = "uncompressed",
                 std::string encoding = "named_curve") {
  EVP_PKEY_CTX* context = EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr);
  const auto text = [](const char* name, std::string& value) {
    return OSSL_PARAM_construct_utf8_string(name, value.data(), value.size());
  };
  const OSSL_PARAM parameters[] = {text(OSSL_PKEY_PARAM_GROUP_NAME, group),
                                   text(OSSL_PKEY_PARAM_EC_ENCODING, encoding), OSSL_PARAM_construct_end()};
  EVP_PKEY* key = nullptr;
  EXPECT_EQ(EVP_PKEY_keygen_init(context), 1);
  EXPECT_EQ(EVP_PKEY_CTX_set_params(context, parameters), 1);
  EXPECT_EQ(EVP_PKEY_generate(context, &key), 1);
  EXPECT_EQ(EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, point.c_str()),
            1);
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  std::string out(reinterpret_cast<char*>(der), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(der);
  EVP_PKEY_free(key);
  EVP_PKEY_CTX_free(context);
  return out;
}

TEST(AttackCases, Case07AKeyHasOneFormAndSoOneId) {
  const std::string good = spki("P-256");
  ASSERT_TRUE(PublicKey::fromDer(good));
  EXPECT_FALSE(PublicKey::fromDer(spki("P-384")));
  EXPECT_FALSE(PublicKey::fromDer(spki("secp256k1")));
  // Other ways to write a P-256 key: it would have two ids, and count twice.
  EXPECT_FALSE(PublicKey::fromDer(spki("P-256", "compressed")));
  EXPECT_FALSE(PublicKey::fromDer(spki("P-256", "hybrid")));
  EXPECT_FALSE(PublicKey::fromDer(spki("P-256", "uncompressed", "explicit")));
  std::string off = good;
  off.back() = static_cast<char>(off.back() ^ 1);
  EXPECT_FALSE(PublicKey::fromDer(off)) << "not on the curve";
  EXPECT_FALSE(PublicKey::fromDer(good.substr(0, 26) + std::string(65, '\0')));
  EXPECT_FALSE(PublicKey::fromDer("\x30\x81" + good.substr(1)));
}

TEST(AttackCases, Case07AKeyHasOneFormInPemToo) {
  const auto pem = [](const std::string& der) {
    std::string text = toBase64(asBytes(der));
    for (std::size_t at = 64; at < text.size(); at += 65) text.insert(at, 1, '\n');
    return "-----BEGIN PUBLIC KEY-----\n" + text + "\n-----END PUBLIC KEY-----\n";
  };
  EXPECT_TRUE(PublicKey::fromPem(pem(spki("P-256"))));
  EXPECT_FALSE(PublicKey::fromPem(pem(spki("P-256", "compressed"))));
}

TEST(Ed25519Form, OnlyTheReducedNumberAndTheWholeSignature) {
  const auto key = Ed25519PrivateKey::create().value();
  const std::string signature = key.sign(asBytes("message")).value();
  const auto accepts = [&](const std::string& one) {
    return key.publicKey().verify(asBytes("message"), asBytes(one)).has_value();
  };
  ASSERT_TRUE(accepts(signature));
  // s + L, little-endian: the same number modulo the order (RFC 8032, 5.1.7 wants it within).
  const std::string order = fromHex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  std::string larger = signature;
  int carry = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    carry += static_cast<unsigned char>(signature[32 + i]) + static_cast<unsigned char>(order[i]);
    larger[32 + i] = static_cast<char>(carry);
    carry >>= 8;
  }
  EXPECT_FALSE(accepts(larger));
  EXPECT_FALSE(accepts(signature + std::string(1, '\0')));
  EXPECT_FALSE(accepts(signature.substr(0, 63)));
  EXPECT_FALSE(accepts(""));
  EXPECT_FALSE(accepts(std::string(64, '\0')));
}

}  // namespace
}  // namespace kiln::signing
