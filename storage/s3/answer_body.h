// What an S3 server says in XML, as little of it as is needed: the text of elements without children.
//
// Amazon S3 API Reference, "Error responses", "CreateMultipartUpload" and "CompleteMultipartUpload".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kiln::s3 {

// Longer answers are not read to their end.
inline constexpr std::size_t kMaxAnswerBody = 64 << 10;

// The text of the first element of that name, its entities resolved; nothing where there is none, where it
// has children, or is longer than 2 KiB.
std::optional<std::string> elementText(std::string_view xml, std::string_view name);
// Whether the outermost element is <Error>, which may come with a 200 too.
bool isErrorBody(std::string_view xml);
// Text as it stands between tags.
std::string escaped(std::string_view text);

}  // namespace kiln::s3
