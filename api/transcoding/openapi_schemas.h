// Schemas of messages in their JSON form, and the protos' comments.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "manifest/json/json.h"

namespace kiln::transcoding {

// What a field, message or method is described with: the comments before it and behind it; "" for none.
template <class Descriptor>
std::string commentOf(const Descriptor& descriptor);

// Of one value of the field: of a list, of an entry.
Json valueSchema(const google::protobuf::FieldDescriptor& field);
// Adds the schema of `message`, and of whatever it holds, to those of `components`.
void addSchema(const google::protobuf::Descriptor& message, Json& schemas);
// {"$ref": ...} to what addSchema() adds.
Json referenceTo(const google::protobuf::Descriptor& message);

}  // namespace kiln::transcoding
