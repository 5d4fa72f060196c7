#include "coordinator/jobs/check_action.h"

#include "storage/tree/tree_builder.h"

namespace kiln::jobs {
Result<BuiltAction> buildCheckAction(const index::ArtifactRecord& artifact, const CheckRequest& request,
                                     const Outputs* emulation) {
  if (!artifact.fixtures)
    return fail(Code::kFailedPrecondition,
                "artifact " + artifact.digest.text() + " has no fixtures to check with");
  BuiltAction built;
  storage::TreeBuilder input;
  KILN_TRY(input.addFile("artifact/manifest.json", artifact.config, false));
  for (const index::FileRecord& file : artifact.files)
    KILN_TRY(input.addFile("artifact/" + file.path, file.digest, false));
  KILN_TRY(input.addTree("artifact/fixtures", *artifact.fixtures));
  KILN_TRY(input.addFile("plan/check.json", request.plan, false));
  for (const ModelFile& file : request.files)
    if (auto added = input.addFile("plan/" + file.path, file.digest, false); !added)
      return fail(Code::kInvalidArgument, "check plan: " + added.error().message);
  if (emulation)
    for (const OutputFile& file : emulation->files)
      if (file.path.starts_with(kEmulationPrefix)) KILN_TRY(input.addFile(file.path, file.digest, false));
  storage::BuiltTree tree = input.build();
  std::move(tree.directories.begin(), tree.directories.end(), std::back_inserter(built.blobs));
  reapi::Command command;
  for (const char* argument :
       {"kiln-check", "--artifact", "artifact", "--plan", "plan/check.json", "--out", "output"})
    command.add_arguments(argument);
  command.add_output_paths("output");
  reapi::Action action;
  *action.mutable_command_digest() = toProto(built.keep(command.SerializeAsString()));
  *action.mutable_input_root_digest() = toProto(tree.root);
  built.action = built.keep(action.SerializeAsString());
  return built;
}

}  // namespace kiln::jobs
