#include "signing/model/model_signer.h"

#include <openssl/pem.h>

#include "signing/keys/openssl.h"
#include "signing/x509/chain.h"

namespace kiln::signing {

ModelSigner::ModelSigner(PrivateKey key)
    : key_(std::make_shared<const PrivateKey>(std::move(key))),
      public_(ModelKey::fromPem(key_->publicKey().pem()).value()) {}

Result<ModelSigner> ModelSigner::load(const std::string& path) {
  KILN_ASSIGN(EVP_PKEY * loaded, loadPrivateKey(path));
  auto key = std::make_shared<const KeyHandle>(loaded);
  const BioPtr bio = writer();
  PEM_write_bio_PUBKEY(bio.get(), key->key);
  clearErrors();
  auto half = ModelKey::fromPem(textOf(bio.get()));
  if (!half)
    return fail(Code::kInvalidArgument, path + ": not a private key on P-256, P-384 or P-521, in PEM");
  return ModelSigner(std::move(key), std::move(*half));
}

Result<ModelSigner> ModelSigner::with(std::vector<X509Certificate> certificates) const {
  if (certificates.empty() || certificates[0].keyPem() != public_.pem())
    return fail(Code::kInvalidArgument,
                "the first certificate is not that of the key; the signer's comes before its authorities'");
  KILN_TRY(checkCodeSigner(certificates[0]));
  ModelSigner out = *this;
  out.certificates_ = std::move(certificates);
  return out;
}

Result<std::string> ModelSigner::sign(Bytes message) const {
  return key_ ? key_->sign(message) : signMessage(wide_->key, public_.hash(), message);
}

Json ModelSigner::material() const {
  Json out{{"tlogEntries", Json::array()}};
  if (certificates_.empty()) {
    out["publicKey"] = {{"hint", modelKeyHint(public_.pem())}};
    return out;
  }
  Json list = Json::array();
  for (const X509Certificate& one : certificates_)
    list.push_back({{"rawBytes", toBase64(asBytes(one.der()))}});
  out["x509CertificateChain"] = {{"certificates", std::move(list)}};
  return out;
}

}  // namespace kiln::signing
