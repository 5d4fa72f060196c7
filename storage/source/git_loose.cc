#include "storage/source/git_loose.h"

#include <git2/sys/odb_backend.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <span>
#include <string_view>

#include "manifest/base/file.h"
#include "storage/source/git_library.h"

namespace kiln::source {
namespace {

constexpr std::size_t kMaxHeader = 32;  // "commit 18446744073709551615" and the byte that ends it
constexpr std::size_t kShardDigits = 2;
constexpr std::size_t kMaxSize = std::size_t{1} << 62;  // so that one more byte is no overflow

struct LooseObjects : git_odb_backend {
  std::string objects;
};

const std::string& objectsOf(git_odb_backend* backend) {
  return static_cast<LooseObjects*>(backend)->objects;
}

std::string hexOf(const git_oid& id) {
  char text[GIT_OID_HEXSZ + 1];
  return git_oid_tostr(text, sizeof text, &id);
}

std::string pathOf(const std::string& objects, const std::string& hex) {
  return objects + "/" + hex.substr(0, kShardDigits) + "/" + hex.substr(kShardDigits);
}

int failed(const Error& error) {
  git_error_set_str(error.code == Code::kDataLoss ? GIT_ERROR_ODB : GIT_ERROR_OS, error.message.c_str());
  return error.code == Code::kNotFound ? GIT_ENOTFOUND : GIT_ERROR;
}

// What a file inflates to, piece by piece: never more than is asked for.
class Inflater {
 public:
  explicit Inflater(int fd) : fd_(fd) { ready_ = inflateInit(&stream_) == Z_OK; }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out`; returns less only at the end of the stream. kDataLoss for what is no such stream.
  Result<std::size_t> read(std::span<std::uint8_t> out) {
    std::size_t filled = 0;
    while (filled < out.size() && !ended_) {
      if (stream_.avail_in == 0) KILN_TRY(refill());
      const std::size_t wanted = std::min<std::size_t>(out.size() - filled, kChunkBytes);
      stream_.next_out = out.data() + filled;
      stream_.avail_out = static_cast<uInt>(wanted);
      const int code = ready_ ? inflate(&stream_, Z_NO_FLUSH) : Z_MEM_ERROR;
      if (code != Z_OK && code != Z_STREAM_END) return fail(Code::kDataLoss, "it is no zlib stream");
      filled += wanted - stream_.avail_out;
      ended_ = code == Z_STREAM_END;
    }
    return filled;
  }

 private:
  Status refill() {
    ssize_t got = -1;
    do got = ::read(fd_, buffer_.data(), buffer_.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) return fail(errnoError(errno, "reading"));
    if (got == 0) return fail(Code::kDataLoss, "it ends within its zlib stream");
    stream_.next_in = buffer_.data();
    stream_.avail_in = static_cast<uInt>(got);
    return {};
  }

  const int fd_;
  z_stream stream_{};
  bool ready_ = false, ended_ = false;
  std::array<std::uint8_t, 65536> buffer_;
};

struct Header {
  git_object_t type = GIT_OBJECT_INVALID;
  std::size_t size = 0;
  std::array<std::uint8_t, kMaxHeader> start{};
  std::span<const std::uint8_t> content;  // what of `start` lies behind the header
};

// "TYPE SIZE" and a zero byte.
Status readHeader(Inflater& inflater, Header& out) {
  KILN_ASSIGN(const std::size_t got, inflater.read(out.start));
  const auto* const begin = reinterpret_cast<const char*>(out.start.data());
  const std::string_view text(begin, got);
  const std::size_t end = text.find('\0'), space = text.substr(0, end).find(' ');
  if (end == text.npos || space == text.npos) return fail(Code::kDataLoss, "it has no header");
  out.type = git_object_string2type(std::string(text.substr(0, space)).c_str());
  const auto [rest, error] = std::from_chars(begin + space + 1, begin + end, out.size);
  if (git_object_typeisloose(out.type) == 0 || error != std::errc() || rest != begin + end ||
      out.size > kMaxSize)
    return fail(Code::kDataLoss, "its header is malformed");
  out.content = std::span(out.start).subspan(end + 1, got - end - 1);
  return {};
}

// Exactly what the header declares, into `to`.
Status readContent(Inflater& inflater, const Header& header, std::uint8_t* to) {
  const auto other = [] { return fail(Code::kDataLoss, "it inflates to another length than it declares"); };
  if (header.content.size() > header.size) return other();
  std::copy(header.content.begin(), header.content.end(), to);
  const std::size_t left = header.size - header.content.size();
  KILN_ASSIGN(const std::size_t got, inflater.read({to + header.content.size(), left}));
  std::uint8_t beyond = 0;
  KILN_ASSIGN(const std::size_t more, inflater.read({&beyond, 1}));  // the end checks the stream's sum too
  if (got != left || more != 0) return other();
  return {};
}

// Without `data` the header alone.
int readObject(git_odb_backend* self, const std::string& hex, git_object_t* type, std::size_t* size,
               void** data) {
  const std::string path = pathOf(objectsOf(self), hex);
  const auto failedHere = [&](const Error& error) { return failed(error.in("loose object " + hex)); };
  const auto file = openRegular(path);
  if (!file) return failed(file.error());
  Inflater inflater(file->get());
  Header header;
  if (const Status read = readHeader(inflater, header); !read) return failedHere(read.error());
  *type = header.type;
  *size = header.size;
  if (data == nullptr) return 0;
  *data = git_odb_backend_data_alloc(self, header.size + 1);
  if (*data == nullptr) return GIT_ERROR;
  auto* const bytes = static_cast<std::uint8_t*>(*data);
  bytes[header.size] = 0;  // as libgit2's own backends end what it parses
  const Status read = readContent(inflater, header, bytes);
  if (read) return 0;
  git_odb_backend_data_free(self, *data);
  *data = nullptr;
  return failedHere(read.error());
}

// The one object whose name begins with the first `length` digits of `prefix`.
int findPrefix(git_odb_backend* self, const git_oid* prefix, std::size_t length, std::string& found) {
  const std::string wanted = hexOf(*prefix).substr(0, length);
  if (length < kShardDigits) return GIT_EAMBIGUOUS;
  const std::string shard = wanted.substr(0, kShardDigits);
  std::error_code error;
  for (std::filesystem::directory_iterator at(objectsOf(self) + "/" + shard, error), end; !error && at != end;
       at.increment(error)) {
    const std::string hex = shard + at->path().filename().string();
    if (hex.size() != GIT_OID_HEXSZ || !hex.starts_with(wanted)) continue;
    if (!found.empty()) return GIT_EAMBIGUOUS;
    found = hex;
  }
  return found.empty() ? GIT_ENOTFOUND : 0;
}

int existsPrefix(git_oid* id, git_odb_backend* self, const git_oid* prefix, std::size_t length) {
  std::string hex;
  if (const int code = findPrefix(self, prefix, length, hex); code != 0) return code;
  return git_oid_fromstr(id, hex.c_str());
}

}  // namespace

git_odb_backend* makeLooseBackend(const std::string& objects) {
  auto* const backend = new LooseObjects;
  git_odb_init_backend(backend, GIT_ODB_BACKEND_VERSION);
  backend->objects = objects;
  backend->read = [](void** data, std::size_t* size, git_object_t* type, git_odb_backend* self,
                     const git_oid* id) { return readObject(self, hexOf(*id), type, size, data); };
  backend->read_header = [](std::size_t* size, git_object_t* type, git_odb_backend* self, const git_oid* id) {
    return readObject(self, hexOf(*id), type, size, nullptr);
  };
  backend->read_prefix = [](git_oid* id, void** data, std::size_t* size, git_object_t* type,
                            git_odb_backend* self, const git_oid* prefix, std::size_t length) {
    if (const int code = existsPrefix(id, self, prefix, length); code != 0) return code;
    return readObject(self, hexOf(*id), type, size, data);
  };
  backend->exists = [](git_odb_backend* self, const git_oid* id) {
    return ::access(pathOf(objectsOf(self), hexOf(*id)).c_str(), F_OK) == 0 ? 1 : 0;
  };
  backend->exists_prefix = existsPrefix;
  backend->free = [](git_odb_backend* self) { delete static_cast<LooseObjects*>(self); };
  return backend;
}

}  // namespace kiln::source
