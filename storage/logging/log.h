// The log of a program: one line for each event, on stderr, for people or for machines.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::logging {

enum class Format {
  kText,  // 2026-01-01T00:00:00.000Z info kiln-worker action starts action=ab12 slot=0
  kJson,  // {"time":"...","level":"info","process":"kiln-worker","event":"action starts","action":"ab12"}
};

// Begins, or begins anew, the process's log under the program's name. Before there are other threads.
void start(const std::string& program, Format format = Format::kText);

// Of --log-format, "text" or "json".
Format formatNamed(std::string_view name);
inline constexpr char kFormatHelp[] =
    "text, or json: each line of the log an object with time, level, process and event";

// Keys are the caller's own words; "time", "level", "process" and "event" are taken. Values may come from
// outside: control characters and anything but UTF-8 become '?', and each is cut after 4 KiB. A field without
// a value is left out where it says which job, action or trace the line is about ("job", "action", "trace").
using Fields = std::initializer_list<std::pair<std::string_view, std::string>>;

// Thread safe. `event` is a few words, the same each time.
void info(std::string_view event, Fields fields);
void warning(std::string_view event, Fields fields);
void error(std::string_view event, Fields fields);

}  // namespace kiln::logging
