// libFuzzer: model signatures and other statements about inputs from outside, as if their signatures held,
// and the certificates in them.
#include "signing/model/model_manifest.h"
#include "signing/model/signed_envelope.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln::signing;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)openSignedEnvelope(text, {}, EnvelopeForm::kBundleOrBare);
  (void)ModelKey::fromPem(text);
  (void)CertificateRoots::fromPem(text);
  if (const auto certificate = X509Certificate::fromDer(text)) {
    (void)certificate->oidcIssuer();
    (void)checkChain(std::vector{*certificate}, {{*certificate}, {*certificate}}, certificate->notBefore());
    // A name that it has is one that it is found by, of its kind.
    for (const std::string& name : certificate->alternativeNames()) (void)certificate->names(name);
  }
  if (const auto manifest = ModelManifest::fromStatement(text)) {
    for (const ModelResource& resource : manifest->resources)
      if (resource.name != kWholeModel && !isResourceName(resource.name)) __builtin_trap();
    // What was read is written in a form that reads back.
    const auto written = manifest->statement();
    if (!written || !ModelManifest::fromStatement(*written)) __builtin_trap();
  }
  return 0;
}
