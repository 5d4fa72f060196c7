// The proven identity of a caller.
#pragma once

#include <map>
#include <string>
#include <variant>

namespace kiln::access {

// Over the coordinator's private Unix socket, which only its own user can open.
struct LocalUser {
  bool operator==(const LocalUser&) const = default;
};
// Has the key of a certificate from one of the client authorities.
struct CertificateHolder {
  std::string
      subject;      // RFC 2253, as `openssl x509 -subject -nameopt RFC2253` prints it: "CN=alice,O=Example"
  std::string key;  // "sha256:<hex>" of the SubjectPublicKeyInfo
  bool operator==(const CertificateHolder&) const = default;
};
// Has the key of a certificate from the farm's worker authority.
struct WorkerHolder {
  std::string name, operatorName;
  std::string key;  // as above
  bool operator==(const WorkerHolder&) const = default;
};
// Sent a token that its issuer signed for this farm.
struct TokenHolder {
  std::string issuer, subject;
  // Every claim of the token whose value is a text, by name: what grants may ask for. Bounded by the token's
  // size; the values are what the issuer signed and no fitter for a terminal than that.
  std::map<std::string, std::string> claims = {};
  bool operator==(const TokenHolder&) const = default;
};

// Called the plaintext endpoint on loopback that a developer opened: anybody on this machine.
struct LoopbackCaller {
  bool operator==(const LoopbackCaller&) const = default;
};

using Identity = std::variant<LocalUser, CertificateHolder, WorkerHolder, TokenHolder, LoopbackCaller>;

// For messages, log lines and the record of who submitted: "local", a subject, "worker NAME", "SUBJECT of
// ISSUER", "loopback".
std::string describe(const Identity& identity);

}  // namespace kiln::access
