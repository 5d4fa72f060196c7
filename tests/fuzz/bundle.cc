// libFuzzer: bundles, statements, provenance and receipts from outside.
#include "signing/bundle/bundle.h"
#include "manifest/statement/provenance.h"
#include "signing/receipt/receipt.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto bundle = kiln::signing::parseBundle(text)) (void)kiln::parseStatement(bundle->envelope.payload);
  if (auto statement = kiln::parseStatement(text)) (void)kiln::Provenance::fromJson(statement->predicate);
  (void)kiln::signing::parseEnvelope(text, kiln::signing::kReceiptPayload);
  (void)kiln::signing::Certificate::fromPem(text);
  return 0;
}
