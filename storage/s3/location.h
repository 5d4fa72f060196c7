// Where an S3 store lies, as one URL:
//   s3://BUCKET/PREFIX?endpoint=URL&region=REGION&style=path|host&profile=NAME&ca=FILE&sse=AES256|aws:kms&kms-key=ID
//
// BUCKET, PREFIX and REGION are those of the Amazon S3 User Guide ("Bucket naming rules", "Organizing objects
// using prefixes", "Virtual hosting of buckets"). Whatever stands after the '?' may be left out.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::s3 {

// kHost: BUCKET.HOST/KEY ("virtual-hosted style"); kPath: HOST/BUCKET/KEY.
enum class Style { kHost, kPath };

struct Location {
  std::string bucket;
  std::string prefix;    // "" or "a/b/": put in front of every key
  std::string endpoint;  // "https://HOST[:PORT]" or http; Amazon's of the region unless it was given
  std::string region = "us-east-1";
  Style style = Style::kHost;  // kPath where an endpoint is given and no style
  std::string profile;         // of the shared credentials file; "" for the usual one
  std::string ca;              // a PEM file with the authorities of the server; "" for the system's
  std::string encryption;      // of objects at rest, x-amz-server-side-encryption; "" as the bucket says
  std::string kmsKey;          // with aws:kms; "" for the default key

  // kInvalidArgument says which part is wrong. Refused are all characters that would have to be quoted, in
  // whatever part, so that every key has one spelling.
  static Result<Location> parse(std::string_view url);

  // The URL of an object; `key` holds letters, digits and "/._-" only.
  std::string urlOf(std::string_view key) const;
  // "s3://BUCKET/PREFIX", for messages.
  std::string text() const;
};

}  // namespace kiln::s3
