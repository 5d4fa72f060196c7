// The outputs of builders, and whether they agree. The coordinator compares by itself; a worker's word counts
// nothing.
#pragma once

#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/tree/digest_proto.h"

namespace kiln::jobs {

struct OutputFile {
  std::string path;
  Digest digest;
};

// The output files of one run, sorted by path, relative to output/.
struct Outputs {
  std::vector<OutputFile> files;

  // Null if there is none.
  const OutputFile* find(std::string_view path) const;
};

// From a worker's report, so hostile: kInvalidArgument for anything but regular files below output/ at safe
// paths, each once, at most 20,000 of them.
Result<Outputs> readOutputs(const reapi::ActionResult& result);
Result<Outputs> readOutputs(const index::ResultRecord& record);

// In their order.
std::vector<std::string> pathsOf(const Outputs& outputs);

// Digest of the listing "<hex> <size> <path>\n" in path order: equal exactly when the outputs are.
Digest outputsDigest(const Outputs& outputs);

// What differs, for a person: "program.so: 2f1c… (worker a), 8d03… (worker b); weights/0001.bin: missing
// (worker b)". At most ten files are named.
std::string describeDifferences(const index::ResultRecord& first, const index::ResultRecord& second);
// The same as a JSON object: {"differences":[{"path","first","second"}],"workers":[first,second]}.
std::string differencesJson(const index::ResultRecord& first, const index::ResultRecord& second);

// The results of builders whose tool ended alike and left the same bytes; oldest first, never empty.
using AgreementGroup = std::vector<index::ResultRecord>;
// The groups among these results, each worker once: the largest first (the oldest of equal ones), the others
// by age.
std::vector<AgreementGroup> agreementGroups(const std::vector<index::ResultRecord>& builders);

// Who made it, as runs exclude workers: "operator/name".
std::string builderOf(const index::ResultRecord& result);
// One result per worker, the oldest each: a builder counts once. Workers of two operators are two, whatever
// they are called.
std::vector<index::ResultRecord> distinctBuilders(const std::vector<index::ResultRecord>& results);
std::size_t distinctOperators(const std::vector<index::ResultRecord>& results);

}  // namespace kiln::jobs
