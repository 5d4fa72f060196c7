// Toolchain labels: append-only names of trees in the CAS.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// The same label with the same tree again changes nothing; with another tree it is kAlreadyExists. The
// instance's first toolchain becomes its default.
Status addToolchain(postgres::Connection& connection, const ToolchainRecord& toolchain, bool makeDefault);

// `name` is a label, "sha256:<hex>" of a tree that has a label, its first 12 digits or more, or "" for the
// default. kNotFound names the labels that exist, the nearest first, and the next step; kInvalidArgument:
// several trees begin so.
Result<ToolchainRecord> findToolchain(postgres::Connection& connection, const std::string& instance,
                                      const std::string& name);
// The same by its label alone, held against others who would lock it until the transaction ends.
Result<ToolchainRecord> lockToolchain(postgres::Connection& connection, const std::string& instance,
                                      const std::string& label);
// It counts instead of those of its label with an earlier time; the same time again is kAlreadyExists.
Status addAdmission(postgres::Connection& connection, const AdmissionRecord& admission);
// Oldest first.
Result<std::vector<ToolchainRecord>> listToolchains(postgres::Connection& connection,
                                                    const std::string& instance);

}  // namespace kiln::index
