#include "compiler_core/frontend/torch/reader/members.h"

#include <limits>

#include "compiler_core/frontend/torch/reader/expression_text.h"
#include "manifest/base/printable.h"

namespace kiln::torch {
namespace {

constexpr std::size_t kMaxName = 4096;

Result<const Json*> member(const Json& object, std::string_view name) {
  const Json* found = find(object, name);
  if (!found) return malformed("it has no member " + inQuotes(name));
  return found;
}

tl::unexpected<Error> wrong(std::string_view name, const std::string& wanted) {
  return malformed("its member " + inQuotes(name) + " is no " + wanted);
}

}  // namespace

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Code::kInvalidArgument, what);
}

const Json* find(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<const Json*> arrayOf(const Json& object, std::string_view name) {
  KILN_ASSIGN(const Json* found, member(object, name));
  if (!found->is_array()) return wrong(name, "list");
  return found;
}

Result<const Json*> objectOf(const Json& object, std::string_view name) {
  KILN_ASSIGN(const Json* found, member(object, name));
  if (!found->is_object()) return wrong(name, "object");
  return found;
}

Result<std::string> textOf(const Json& object, std::string_view name) {
  KILN_ASSIGN(const Json* found, member(object, name));
  if (!found->is_string()) return wrong(name, "text");
  return found->get<std::string>();
}

Result<std::int64_t> integerOf(const Json& object, std::string_view name) {
  KILN_ASSIGN(const Json* found, member(object, name));
  auto value = asInteger(*found);
  if (!value) return wrong(name, "whole number of 64 bits");
  return *value;
}

Result<bool> flagOf(const Json& object, std::string_view name) {
  KILN_ASSIGN(const Json* found, member(object, name));
  if (!found->is_boolean()) return wrong(name, "boolean");
  return found->get<bool>();
}

Result<std::int64_t> asInteger(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    return malformed("a number beyond 64 bits");
  if (!value.is_number_integer()) return malformed("what should be a whole number of 64 bits is none");
  return value.get<std::int64_t>();
}

Result<std::string> asName(const Json& value) {
  if (!value.is_string()) return malformed("what should be a name is none");
  const auto& name = value.get_ref<const std::string&>();
  if (name.empty() || name.size() > kMaxName) return malformed("a name has 1 to 4096 bytes");
  return name;
}

Result<double> asReal(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return malformed("what should be a number is none");
}

Result<Tagged> asUnion(const Json& value) {
  if (!value.is_object() || value.size() != 1)
    return malformed("what should be an object of one member, whose name says its kind, is none");
  return Tagged{value.begin().key(), &value.begin().value()};
}

Result<Expression> asSymInt(const Json& value) {
  KILN_ASSIGN(const Tagged tagged, asUnion(value));
  if (tagged.tag == "as_int") {
    KILN_ASSIGN(const std::int64_t one, asInteger(*tagged.value));
    return number(one);
  }
  if (tagged.tag != "as_expr") return malformed("a size of kind " + inQuotes(tagged.tag) + " is unknown");
  KILN_ASSIGN(const std::string text, textOf(*tagged.value, "expr_str"));
  return parseExpression(text);
}

}  // namespace kiln::torch
