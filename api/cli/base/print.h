// Printing: results on stdout, progress and errors on stderr. Text from outside is made printable first.
// Nothing here fails: what was lost is found when the program ends (manifest/base/program.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::cli {

void printLine(std::string_view text);  // stdout, one line whatever is in it, since scripts read lines
void printJson(const Json& value);      // stdout, indented
void printText(std::string_view text);  // stdout, as it is
void note(std::string_view text);       // stderr
void noteText(std::string_view text);   // stderr, as it is: for terminals

// "kiln: error: <message>" in one line, then its further lines and what the details list, indented, on
// stderr; as JSON {"error":{...}} on stdout.
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
