// Fields of requests by the names that paths and queries have for them: "page_size", "pageSize",
// "digest.hash".
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::transcoding {

// A field, and the messages that it lies in. The descriptors' pool must outlive it.
class FieldPath {
 public:
  // A name is the proto's or that of JSON. kInvalidArgument if there is none of this name, if it is a message
  // that JSON does not write as a string (Timestamp and Duration are), or if a list stands before the last.
  static Result<FieldPath> find(const google::protobuf::Descriptor& message, std::string_view name);

  const google::protobuf::FieldDescriptor& last() const { return *fields_.back(); }
  // "page_size", "digest.hash": the same for both ways to write it.
  std::string name() const;

  // Sets the field, or adds to the list that it is, from the text of its JSON form without quotes.
  // kInvalidArgument says which field, and what it takes.
  Status set(google::protobuf::Message& message, std::string_view text) const;

 private:
  std::vector<const google::protobuf::FieldDescriptor*> fields_;
};

// Whether a query may have such a field.
bool isParameter(const google::protobuf::FieldDescriptor& field);

}  // namespace kiln::transcoding
