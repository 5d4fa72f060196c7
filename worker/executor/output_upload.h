// From a finished action's output directory to the store.
#pragma once

#include <span>
#include <string>

#include "storage/blob/upload.h"
#include "storage/tree/digest_proto.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {

// Hashes every file below `dir`, uploads what the store does not have, and adds to `result` one OutputFile
// each, in byte order, with `prefix` + "/" in front of its path. Nothing may write to `dir` any more. Errors
// as of sandbox::visitOutputs and of the store.
Status uploadOutputs(storage::BlobStore& store, const std::string& instance, const std::string& dir,
                     const std::string& prefix, const sandbox::Limits& limits, reapi::ActionResult* result);

// Of an open output; kDataLoss if it has not the size that it was found with.
Result<Digest> digestOfOutput(const sandbox::OutputFile& file);

// storage::uploadMissing(), tried again for 3 s where the store is away.
Status uploadItems(storage::BlobStore& store, const std::string& instance,
                   std::span<const storage::UploadItem> items);

// The policy's canonical JSON, so that auditors can read what a receipt names. Its digest.
Result<Digest> uploadPolicy(storage::BlobStore& store, const std::string& instance,
                            const sandbox::Policy& policy);

// stdout and stderr: inline up to 64 KiB, else a blob.
Status uploadLogs(storage::BlobStore& store, const std::string& instance, std::string out, std::string err,
                  reapi::ActionResult* result);

}  // namespace kiln::executor
