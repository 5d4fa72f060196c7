// libFuzzer: recalls as they are read before and after their signatures are known to hold.
#include "signing/recall/recalls.h"
#include "signing/trust/root_logs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const auto key = kiln::signing::PrivateKey::create().value();
  static const auto root = [] {
    auto made = kiln::signing::developmentRoot(key.publicKey(), "urn:b", {});
    made.recallKeys = kiln::signing::RecallKeys{{1, {key.publicKey()}}, 1, 100};
    return made;
  }();
  (void)kiln::signing::Recalls::parse(text, root);
  (void)kiln::signing::Recalls::cosign(text, std::span(&key, 1));
  const auto json = kiln::parseStrictJson(text);
  if (!json) return 0;
  if (auto recall = kiln::signing::Recall::fromJson(*json)) {
    if (!kiln::signing::Recall::fromJson(recall->toJson())) __builtin_trap();
  }
  // As one that the root's key signed.
  const auto signedText = kiln::signing::signEnvelope(kiln::signing::kRecallsPayload, text, key);
  if (signedText) (void)kiln::signing::Recalls::parse(signedText->toJson().dump(), root);
  // As its proofs.
  if (auto log = kiln::signing::RecallLog::fromJson(*json)) {
    if (!kiln::signing::RecallLog::fromJson(log->toJson())) __builtin_trap();
    (void)kiln::signing::RootLogs(root).open(log->checkpoint, {});
  }
  return 0;
}
