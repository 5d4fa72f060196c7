// libFuzzer: what bundles bring to prove a keyless signature, and files of whom to believe. An input is a
// document, or the answer of a timestamp authority.
#include "signing/sigstore/keyless.h"
#include "signing/sigstore/rekor_body.h"
#include "signing/sigstore/sct.h"
#include "signing/sigstore/signed_timestamp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln::signing;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)checkTimestamp(text, "message", {});
  const auto certificate = X509Certificate::fromDer(text);
  if (certificate) (void)checkShown(*certificate, *certificate, {});
  const auto roots = parseTrustedRoots(text);
  if (roots)
    for (const TrustedRoot& root : *roots)
      if (root.certificateAuthorities.empty()) __builtin_trap();
  const auto json = kiln::parseJson(text);
  if (!json) return 0;
  const auto entry = readRekorEntry(*json, "entry");
  if (!entry) return 0;
  // Nobody is believed, so that nothing holds.
  if (checkRekorEntry(*entry, {})) __builtin_trap();
  if (certificate) (void)checkRekorBody(*entry, {kInTotoPayload, "payload", {"signature"}}, *certificate);
  return 0;
}
