// The IR of published artifacts: which files it has (manifest/statement/ir_statement.h). The bytes are in the
// CAS.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/spec/compile_spec.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

struct IrRecord {
  Digest artifact;
  Digest ir;                     // the OCI manifest that its files make, by its hash alone
  Digest statement;              // the payload that names it first, by its hash alone
  std::vector<ModelFile> files;  // by path
};

// Of a published artifact, with that statement in the index already. An artifact has one: another changes
// nothing.
Status insertIr(postgres::Connection& connection, const std::string& instance, const IrRecord& record);

// That of an artifact; nothing if it has none.
Result<std::optional<IrRecord>> irOf(postgres::Connection& connection, const std::string& instance,
                                     const Digest& artifact);
// The one whose OCI manifest has this hash.
Result<std::optional<IrRecord>> findIr(postgres::Connection& connection, const std::string& instance,
                                       const Digest& hash);

}  // namespace kiln::index
