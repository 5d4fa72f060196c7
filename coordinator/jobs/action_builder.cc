#include "coordinator/jobs/action_builder.h"

namespace kiln::jobs {

Result<BuiltAction> buildAction(index::ActionKind kind, const CompileSpec& spec) {
  using storage::CompilerVerb;
  const CompilerVerb verb = kind == index::ActionKind::kReference ? CompilerVerb::kReference
                            : kind == index::ActionKind::kEmulate ? CompilerVerb::kEmulate
                            : kind == index::ActionKind::kPlan    ? CompilerVerb::kPlan
                            : kind == index::ActionKind::kIr      ? CompilerVerb::kIr
                                                                  : CompilerVerb::kCompile;
  return storage::buildAction(verb, spec);
}

Digest fetchAction(const index::GitSource& source) {
  // Members of text have a canonical form unless they are not UTF-8, which the request check refuses.
  auto text = toCanonicalJson({{"commit", source.commit}, {"path", source.path}, {"url", source.url}});
  return digestOf(text.value_or(source.url + "\n" + source.commit + "\n" + source.path));
}

}  // namespace kiln::jobs
