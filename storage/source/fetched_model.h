// What kiln-fetcher leaves of a model, by the names of its files: how the folder of a commit comes as well as
// a file.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::source {

// The model of a folder lies below kFetchedModel at its path in the folder, external data below kFetchedData
// at its path beside the model, and the weights of a program that has none below kFetchedWeights under their
// names in the folder. A file that was asked for lies under its own name, its data beside it.
inline constexpr char kFetchedModel[] = "model/", kFetchedData[] = "data/", kFetchedWeights[] = "weights/";
// The path that stands for the whole commit.
inline constexpr char kWholeCommit[] = ".";

struct FetchedFile {
  std::string output;  // where kiln-fetcher left it, relative
  std::string name;    // what a spec calls it: normalised, relative to the model, or parameterPath()
  std::string path;    // in the commit
};

struct FetchedModel {
  FetchedFile model;
  std::vector<FetchedFile> data;
  std::vector<FetchedFile> weights;  // in the order in which they are bound; of a folder alone
  bool isFolder = false;
};

// `asked` is the path in the commit; `outputs` are relative paths that are safe to join, sorted. They may be
// a worker's word: kDataLoss, naming a file, for what kiln-fetcher leaves of nothing.
Result<FetchedModel> fetchedModel(const std::string& asked, const std::vector<std::string>& outputs);

}  // namespace kiln::source
