// The tables of a farm at a glance, before they are fitted to a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/cli/view/farm_view.h"

namespace kiln::cli {

struct FarmTable {
  std::vector<std::vector<std::string>> rows;  // the first is the heading
  std::vector<std::size_t> right;              // columns that are numbers
};

// Queue by kind, instances, operators, workers that take nothing new, devices, failures, in this order; those
// that have nothing to show have a heading alone. Cells are short and printable.
std::vector<FarmTable> farmTables(const FarmView& farm);

// All workers in one line.
std::string fleetLine(const FarmView& farm);

double secondsOf(const google::protobuf::Duration& duration);

// "0s", "59s", "12m 05s", "3h 07m", "2d 04h".
std::string ageText(double seconds);

}  // namespace kiln::cli
