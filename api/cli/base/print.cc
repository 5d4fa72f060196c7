#include "api/cli/base/print.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "api/cli/base/colour.h"
#include "api/cli/base/terminal_size.h"
#include "api/cli/base/text_table.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxListed = 50;

// A list of objects such as the unsupported nodes: one line each, "name=value" in a stable order.
void printList(const std::string& title, const Json& list) {
  note(fmt::format("  {}:", title));
  for (std::size_t i = 0; i < list.size() && i < kMaxListed; ++i) {
    std::string line;
    if (list[i].is_object()) {
      for (const auto& [key, value] : list[i].items()) {
        const auto text = value.is_string() ? value.get<std::string>() : value.dump();
        if (!text.empty()) line += fmt::format("{}{}={}", line.empty() ? "" : "  ", key, text);
      }
    } else {
      line = list[i].is_string() ? list[i].get<std::string>() : list[i].dump();
    }
    note("    " + kiln::printable(line, std::string_view::npos));  // a name in it may hold line feeds
  }
  if (list.size() > kMaxListed)
    note(fmt::format("    and {} more (--json lists all)", list.size() - kMaxListed));
}

// What cannot be written is noticed once, at the end of the program (manifest/base/program.h).
void write(std::FILE* file, std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), file));
}

}  // namespace

void printLine(std::string_view text) {
  printText(kiln::printable(text, std::string_view::npos) + "\n");
}

void printText(std::string_view text) {
  write(stdout, text);
}

void printJson(const Json& value) {
  printText(value.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
}

void note(std::string_view text) {
  noteText(printable(text) + "\n");
}

void noteText(std::string_view text) {
  write(stderr, text);
}

void printError(const Error& error, bool json) {
  Json details = Json::object();
  if (auto parsed = parseJson(error.details); parsed && parsed->is_object()) details = std::move(*parsed);
  details.erase("exitCode");
  if (json) {
    Json body{{"code", codeName(error.code)}, {"message", error.message}};
    if (!details.empty()) body["details"] = std::move(details);
    printJson({{"error", std::move(body)}});
    return;
  }
  // One line says it; what the message adds in lines of its own is indented below.
  std::string message = error.message;
  while (message.ends_with('\n')) message.pop_back();
  for (std::size_t at = message.find('\n'); at != std::string::npos; at = message.find('\n', at + 1))
    message.insert(at + 1, "  ");
  noteText("kiln: " + coloured(Colour::kBad, "error:", STDERR_FILENO) + " " + printable(message) + "\n");
  for (const auto& [key, value] : details.items()) {
    if (value.is_array() && !value.empty()) printList(key, value);
  }
}

void printTable(const std::vector<std::vector<std::string>>& rows) {
  const auto terminal = terminalSize();
  const std::size_t width = terminal ? terminal->columns : std::string::npos;
  for (const std::string& line : tableLines(rows))
    printLine(kiln::printable(line, line.size() > width ? width - 3 : width));  // a row stays one line
}

std::string printable(std::string_view text) {
  std::string out;
  for (;;) {
    const auto end = text.find('\n');
    out += kiln::printable(text.substr(0, end), std::string_view::npos);
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string shortDigest(std::string_view digest) {
  return std::string(digest.substr(0, 7 + 12));
}

std::string humanBytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string humanSeconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

}  // namespace kiln::cli
