#include "api/relay/door.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <array>
#include <cstdint>

#include "manifest/base/digest.h"

namespace kiln::relay {
namespace {

Result<std::string> newSecret() {
  std::array<std::uint8_t, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail(Code::kUnavailable, "the system hands out no random bytes");
  return toHex(bytes);
}

bool same(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace

Result<std::string> Door::newLink() {
  KILN_ASSIGN(std::string secret, newSecret());
  const MutexLock lock(mutex_);
  link_ = secret;
  return secret;
}

std::optional<std::string> Door::open(std::string_view secret) {
  Result<std::string> token = newSecret();
  const MutexLock lock(mutex_);
  if (!token || link_.empty() || !same(secret, link_)) return std::nullopt;
  link_.clear();
  sessions_.push_back(*token);
  if (sessions_.size() > most_) sessions_.pop_front();
  return *token;
}

bool Door::admits(std::string_view token) const {
  const MutexLock lock(mutex_);
  for (const std::string& known : sessions_)
    if (same(token, known)) return true;
  return false;
}

}  // namespace kiln::relay
