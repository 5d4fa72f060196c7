// ObjectReader: takes a JSON object apart member by member. Every error is kInvalidArgument and names the
// member by its path ("spec.profiles[0].name"); members that nobody asked for are refused by finish().
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln {

// Not thread safe. The JSON value must outlive the reader.
class ObjectReader {
 public:
  // `place` is the path of `json` in its document, for messages; "" at the top.
  static Result<ObjectReader> open(const Json& json, std::string place);

  bool has(std::string_view name) const;
  // The path of a member, for messages.
  std::string path(std::string_view name) const;

  Result<const Json*> any(std::string_view name);
  Result<const Json*> array(std::string_view name);
  Result<ObjectReader> object(std::string_view name);
  Result<std::string> string(std::string_view name);
  Result<bool> boolean(std::string_view name);
  // An integer in [low, high].
  Result<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high);
  // A 64-bit size or count: a decimal string, or an integer up to 2^53-1.
  Result<std::uint64_t> unsigned64(std::string_view name);
  // A finite fraction of 0 or more, as a decimal string: JSON numbers are not used for fractions in Kiln's
  // documents.
  Result<double> decimal(std::string_view name);
  Result<std::vector<double>> decimals(std::string_view name);
  Result<std::vector<std::string>> strings(std::string_view name);
  // A digest: member `name` ("sha256:<hex>") with its size in member "size".
  Result<Digest> digest(std::string_view name = "digest");
  // Member `name` is a string that equals `expected`.
  Status expect(std::string_view name, std::string_view expected);

  // Refuses members that were not read.
  Status finish() const;

 private:
  ObjectReader(const Json& json, std::string place) : json_(&json), place_(std::move(place)) {}

  const Json* json_;
  std::string place_;
  std::set<std::string, std::less<>> seen_;
};

// "kInvalidArgument: <place>: <what>", the form of the reader's own errors.
tl::unexpected<Error> badMember(std::string_view place, std::string_view what);
// Decimal digits without sign, leading zeros or overflow.
Result<std::uint64_t> parseDecimal(std::string_view text);
Result<std::int64_t> parseSignedDecimal(std::string_view text);

}  // namespace kiln
