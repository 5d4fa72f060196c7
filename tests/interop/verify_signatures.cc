// Verifies signatures as Kiln does, one a line: "ecdsa|ed25519 KEY MESSAGE SIGNATURE", all in hex (an ECDSA
// key as SubjectPublicKeyInfo, an Ed25519 one as its 32 bytes; "-" for nothing). Prints "accepted" or
// "refused" for each.
#include <iostream>
#include <optional>
#include <sstream>

#include "signing/keys/ed25519.h"
#include "signing/keys/keys.h"

namespace kiln::signing {
namespace {

std::optional<std::string> fromHex(const std::string& text) {
  if (text == "-") return "";
  if (text.size() % 2 != 0 || text.find_first_not_of("0123456789abcdef") != text.npos) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

template <class Key>
bool verifies(const Result<Key>& key, const std::string& message, const std::string& signature) {
  return key && key->verify(asBytes(message), asBytes(signature));
}

int run() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string kind, keyHex, messageHex, signatureHex;
    words >> kind >> keyHex >> messageHex >> signatureHex;
    const auto key = fromHex(keyHex), message = fromHex(messageHex), signature = fromHex(signatureHex);
    if (!words || !key || !message || !signature || (kind != "ecdsa" && kind != "ed25519")) {
      std::cerr << "not a case: " << line << "\n";
      return 2;
    }
    const bool good = kind == "ecdsa" ? verifies(PublicKey::fromDer(*key), *message, *signature)
                                      : verifies(Ed25519PublicKey::fromRaw(*key), *message, *signature);
    std::cout << (good ? "accepted\n" : "refused\n");
  }
  return 0;
}

}  // namespace
}  // namespace kiln::signing

int main() {
  return kiln::signing::run();
}
