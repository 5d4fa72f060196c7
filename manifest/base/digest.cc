#include "manifest/base/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace kiln {

struct Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  std::uint64_t size = 0;
  ~State() { EVP_MD_CTX_free(context); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(Bytes bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
  state_->size += bytes.size();
}

Digest Hasher::finish() {
  Digest digest;
  EVP_DigestFinal_ex(state_->context, digest.hash.data(), nullptr);
  digest.size = state_->size;
  return digest;
}

Digest digestOf(Bytes bytes) {
  Hasher hasher;
  hasher.update(bytes);
  return hasher.finish();
}

Result<Digest> digestOfFile(const std::string& path) {
  // A FIFO would be waited for, and /dev/zero never ends.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(errnoError(errno, path));
  struct stat facts{};
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(fd);
    return fail(Code::kInvalidArgument, path + ": not a regular file");
  }
  Hasher hasher;
  std::vector<std::uint8_t> buffer(1 << 20);
  for (;;) {
    ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      int number = errno;
      ::close(fd);
      return fail(errnoError(number, path));
    }
    if (got == 0) break;
    hasher.update({buffer.data(), static_cast<std::size_t>(got)});
  }
  ::close(fd);
  return hasher.finish();
}

std::string toHex(Bytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string toBase64(Bytes bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes.data(), static_cast<int>(bytes.size()));
  return out;
}

Result<std::string> fromBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return fail(Code::kInvalidArgument, "base64 text whose length is not a multiple of 4");
  std::string out(text.size() / 4 * 3, '\0');
  int got =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (got < 0) return fail(Code::kInvalidArgument, "not base64");
  for (std::size_t i = 0; i < 2 && i < text.size() && text[text.size() - 1 - i] == '='; ++i) out.pop_back();
  // EVP also takes white space around it, '-' for an end and bits that stand for nothing.
  if (toBase64(asBytes(out)) != text) return fail(Code::kInvalidArgument, "not base64 in its one spelling");
  return out;
}

std::string Digest::hex() const {
  return toHex(hash);
}
std::string Digest::text() const {
  return "sha256:" + hex();
}

Result<Digest> Digest::parse(std::string_view hash, std::uint64_t size) {
  constexpr std::string_view kPrefix = "sha256:";
  if (hash.starts_with(kPrefix)) hash.remove_prefix(kPrefix.size());
  auto bad = [&] { return fail(Code::kInvalidArgument, "not a SHA-256 digest (64 lowercase hex digits)"); };
  if (hash.size() != 64) return bad();
  Digest digest;
  digest.size = size;
  for (std::size_t i = 0; i < 64; ++i) {
    char c = hash[i];
    int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (value < 0) return bad();
    digest.hash[i / 2] = static_cast<std::uint8_t>(digest.hash[i / 2] << 4 | value);
  }
  return digest;
}

std::size_t DigestHash::operator()(const Digest& digest) const {
  std::size_t value;
  std::memcpy(&value, digest.hash.data(), sizeof value);
  return value;
}

}  // namespace kiln
