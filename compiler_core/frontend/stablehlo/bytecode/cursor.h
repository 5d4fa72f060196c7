// Reads MLIR's bytecode primitives; every error names the byte of the file.
#pragma once

#include <cstdint>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::stablehlo {

// A position inside some bytes of a file. Not thread safe.
class Cursor {
 public:
  // `bytes` lie `start` bytes behind the file's beginning.
  explicit Cursor(Bytes bytes, std::size_t start = 0) : bytes_(bytes), start_(start) {}

  bool atEnd() const { return at_ == bytes_.size(); }
  std::size_t remaining() const { return bytes_.size() - at_; }
  // The byte of the file.
  std::size_t position() const { return start_ + at_; }

  Result<std::uint8_t> byte();
  // A number whose first byte says by its trailing zeros how many bytes it has.
  Result<std::uint64_t> varint();
  // The same, zigzag.
  Result<std::int64_t> signedVarint();
  // A number and, in its lowest bit, a flag.
  struct Flagged {
    std::uint64_t value;
    bool flag;
  };
  Result<Flagged> flagged();
  // How many elements follow, each of them at least one byte long.
  Result<std::size_t> count();
  // A number below `limit`; `what` is what it counts.
  Result<std::size_t> index(std::size_t limit, const char* what);
  Result<Cursor> take(std::uint64_t length);
  // A varint and as many bytes.
  Result<Bytes> blob();
  // Up to the next NUL, which is skipped.
  Result<std::string_view> text();

  Bytes rest() const { return bytes_.subspan(at_); }

  // kInvalidArgument (or `code`) with the place in front.
  tl::unexpected<Error> error(std::string message, Code code = Code::kInvalidArgument) const;

 private:
  Bytes bytes_;
  std::size_t start_;
  std::size_t at_ = 0;
};

}  // namespace kiln::stablehlo
