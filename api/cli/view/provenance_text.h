// Provenance as lines of text. Whatever the statements say, a line of it stays one line.
#pragma once

#include <string>
#include <string_view>

#include "api/graph/provenance_graph.h"
#include "signing/verify/verify.h"

namespace kiln::cli {

// One line on stdout: line breaks in text from outside become '?' like all control characters.
void printOneLine(std::string_view text);

// "FAILED under urn:kiln:policy:production (sha256:…) at <time>: minOperators".
std::string verdictText(const VerificationSummary& said);

void printProvenance(const signing::Verdict& verdict, const graph::Ancestry& ancestry);

}  // namespace kiln::cli
