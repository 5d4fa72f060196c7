// The paths of google.api.http, in the form that Kiln's protos use: "/api/v1/jobs/{id}:watch".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::transcoding {

class PathTemplate {
 public:
  // A segment is a literal of letters, digits, '-', '_' and '.', or "{field}", where a field within another
  // is "a.b". ":verb" may stand behind the last. kInvalidArgument for anything else, and for a field named
  // twice.
  static Result<PathTemplate> parse(std::string_view text);

  // What a path has in the place of each field, in order and still percent-encoded; nothing if the path does
  // not fit. A path that ends with another template's ":verb" fits that one better: see RouteTable. No
  // segment may be empty.
  std::optional<std::vector<std::string_view>> match(std::string_view path) const;

  const std::string& text() const { return text_; }
  const std::vector<std::string>& fields() const { return fields_; }
  const std::string& verb() const { return verb_; }  // "" for none

 private:
  struct Segment {
    std::string literal;  // "" where a field stands
  };
  std::string text_;
  std::vector<Segment> segments_;
  std::vector<std::string> fields_;
  std::string verb_;
};

}  // namespace kiln::transcoding
