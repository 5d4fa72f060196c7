// How to ask a farm that infra/up started, by its state directory alone.
#pragma once

#include <string>

#include "api/cli/base/context.h"

namespace kiln::cli {

// Fills in what `context` leaves open of endpoint, trust root and policy, as the coordinator of the farm in
// directory `farm` was started (run/services.json); what is not there stays open.
void fillInFrom(const std::string& farm, Context& context);

// The next step for who named no farm's endpoint or trust root: to source `farm`'s kiln.env, or `otherwise`
// where there is none.
std::string sourceOr(const std::string& farm, const std::string& otherwise);

// The command that starts the farm in directory `farm`, "" for the one of the checkout.
std::string upCommand(const std::string& farm);

}  // namespace kiln::cli
