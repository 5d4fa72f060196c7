// Printing: results on stdout, progress and errors on stderr. Text from outside is made printable first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::cli {

void printLine(std::string_view text);  // stdout
void printJson(const Json& value);      // stdout, indented
void note(std::string_view text);       // stderr

// "kiln: error: <message>" and what the details list, on stderr; as JSON {"error":{...}} on stdout.
void printError(const Error& error, bool json);

// Columns padded to their widest cell, two spaces apart. On a terminal no line is longer than it is wide: the
// last column ends in "..." instead.
void printTable(const std::vector<std::vector<std::string>>& rows);

// Control characters become '?'.
std::string printable(std::string_view text);
std::string shortDigest(std::string_view digest);  // "sha256:0123456789ab"
std::string humanBytes(std::uint64_t bytes);       // "1.4 MB"
std::string humanSeconds(double seconds);          // "1.43 s", "12.1 ms"

}  // namespace kiln::cli
