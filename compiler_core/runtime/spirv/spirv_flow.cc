#include "compiler_core/runtime/spirv/spirv_flow.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "compiler_core/runtime/spirv/spirv_operands.h"

namespace kiln::spirv {
namespace {

using Words = std::span<const std::uint32_t>;

constexpr std::size_t kNone = SIZE_MAX;

struct Block {
  std::size_t begin = 0, end = 0;  // words: of its label, behind its last instruction
  std::vector<std::size_t> next, before;
  std::size_t order = kNone;          // in which paths reach it; none: no path does
  std::size_t dominator = kNone;      // the last block that all paths to it come by
  std::size_t entered = 0, left = 0;  // of the tree of dominators
};

class Flow {
 public:
  Flow(Words words, const Definitions& ids, std::size_t firstFunction, std::size_t at)
      : words_(words), ids_(ids), firstFunction_(firstFunction), begin_(at), at_(at) {}

  // The word behind the function.
  Result<std::size_t> run() {
    KILN_TRY(readBlocks());
    if (blocks_.empty()) return bad("a function without a block");
    KILN_TRY(readBranches());
    sort();
    KILN_TRY(dominate());
    number();
    for (std::size_t i = 0; i < blocks_.size(); ++i) KILN_TRY(checkBlock(i));
    return end_;
  }

 private:
  tl::unexpected<Error> bad(const std::string& why) const {
    return fail(Code::kDataLoss, "SPIR-V, word " + std::to_string(at_) + ": " + why);
  }
  std::uint32_t opcode() const { return words_[at_] & 0xFFFF; }
  std::size_t length() const { return words_[at_] >> 16; }
  static bool isLine(std::uint32_t opcode) { return opcode == 8 || opcode == 317; }
  static bool isEnd(std::uint32_t opcode) { return opcode >= kOpBranch && opcode <= kOpUnreachable; }

  Status readBlocks() {
    bool open = false, headed = true;
    for (at_ += length(); opcode() != kOpFunctionEnd; at_ += length()) {
      const std::uint32_t op = opcode();
      if (op == kOpLabel) {
        if (open) return bad("a block that does not end");
        blockOf_[words_[at_ + 1]] = blocks_.size();
        blocks_.push_back({.begin = at_});
        open = true, headed = false;
      } else if (op == kOpFunctionParameter) {
        if (!headed) return bad("a parameter within a block");
      } else if (!open && !isLine(op)) {
        return bad("an instruction outside of a block");
      }
      if (isEnd(op)) {
        blocks_.back().end = at_ + length();
        open = false;
      }
    }
    if (open) return bad("a block that does not end");
    end_ = at_ + length();
    return {};
  }

  Status readBranches() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      at_ = blocks_[i].begin;
      while (at_ + length() < blocks_[i].end) at_ += length();
      std::vector<std::uint32_t> labels;
      if (opcode() == kOpBranch) labels = {words_[at_ + 1]};
      if (opcode() == kOpBranchConditional) labels = {words_[at_ + 2], words_[at_ + 3]};
      if (opcode() == kOpSwitch) {
        // The default, then numbers of the selector's width with a label behind each.
        const std::size_t pair = ids_.bitsOf(ids_.typeOf(words_[at_ + 1])) > 32 ? 3 : 2;
        for (std::size_t k = 2; k < length(); k += pair) labels.push_back(words_[at_ + k]);
        if ((length() - 3) % pair != 0) return bad("a switch with half a pair");
      }
      for (const std::uint32_t label : labels) {
        const auto found = blockOf_.find(label);
        if (found == blockOf_.end() || found->second == 0) return bad("a branch to no block of the function");
        blocks_[i].next.push_back(found->second);
        blocks_[found->second].before.push_back(i);
      }
    }
    return {};
  }

  // Blocks so that each comes after one that leads to it, loops aside: reverse postorder.
  void sort() {
    std::vector<bool> seen(blocks_.size());
    std::vector<std::pair<std::size_t, std::size_t>> path = {{0, 0}};
    seen[0] = true;
    while (!path.empty()) {
      const std::size_t block = path.back().first;
      if (path.back().second < blocks_[block].next.size()) {
        const std::size_t next = blocks_[block].next[path.back().second++];
        if (!seen[next]) path.emplace_back(next, 0);
        seen[next] = true;
      } else {
        sorted_.push_back(block);
        path.pop_back();
      }
    }
    std::ranges::reverse(sorted_);
    for (std::size_t i = 0; i < sorted_.size(); ++i) blocks_[sorted_[i]].order = i;
  }

  // Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
  Status dominate() {
    std::size_t steps = 1000 * blocks_.size() + 1000000;
    blocks_[0].dominator = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t block : sorted_) {
        if (block == 0) continue;
        std::size_t found = kNone;
        for (std::size_t other : blocks_[block].before) {
          if (blocks_[other].dominator == kNone) continue;
          if (found == kNone) found = other;
          while (found != other) {
            if (steps-- == 0)
              return fail(Code::kUnimplemented, "SPIR-V, word " + std::to_string(begin_) +
                                                    ": a function whose paths are too tangled");
            std::size_t& later = blocks_[found].order > blocks_[other].order ? found : other;
            later = blocks_[later].dominator;
          }
        }
        changed |= blocks_[block].dominator != found;
        blocks_[block].dominator = found;
      }
    }
    return {};
  }

  // When a walk of the tree of dominators comes to each block and leaves it.
  void number() {
    std::vector<std::vector<std::size_t>> below(blocks_.size());
    for (const std::size_t block : sorted_)
      if (block != 0) below[blocks_[block].dominator].push_back(block);
    std::size_t time = 0;
    std::vector<std::pair<std::size_t, std::size_t>> path = {{0, 0}};
    blocks_[0].entered = time++;
    while (!path.empty()) {
      auto& [block, child] = path.back();
      if (child < below[block].size()) {
        const std::size_t next = below[block][child++];
        blocks_[next].entered = time++;
        path.emplace_back(next, 0);
      } else {
        blocks_[block].left = time++;
        path.pop_back();
      }
    }
  }
  bool dominates(const Block& one, const Block& other) const {
    return one.entered <= other.entered && other.left <= one.left;
  }

  std::size_t blockAt(std::size_t word) const {
    const auto after = std::ranges::upper_bound(blocks_, word, {}, &Block::begin);
    return after == blocks_.begin() ? kNone : static_cast<std::size_t>(after - blocks_.begin()) - 1;
  }

  // That an id is a value where the end of `in`, or word `at` of it, uses it.
  Status checkValue(std::uint32_t id, const Block& in, std::size_t at) const {
    const std::size_t defined = ids_.of(id).empty() ? 0 : ids_.wordOf(id);
    const bool isGlobal = defined != 0 && defined < firstFunction_;
    if (isGlobal) return {};
    if (defined < begin_ || defined >= end_ || defined >= at)
      return bad("id " + std::to_string(id) + " is used where nothing has defined it");
    const std::size_t block = blockAt(defined);
    if (block == kNone || in.order == kNone) return {};
    if (blocks_[block].order == kNone || !dominates(blocks_[block], in))
      return bad("id " + std::to_string(id) + " is used where a path comes that has not defined it");
    return {};
  }

  Status checkBlock(std::size_t index) {
    const Block& block = blocks_[index];
    bool atHead = true;
    for (at_ = block.begin + 2; at_ < block.end; at_ += length()) {
      if (isLine(opcode())) continue;
      if (opcode() == kOpPhi) {
        if (!atHead) return bad("a phi behind other instructions");
        KILN_TRY(checkPhi(block));
        continue;
      }
      atHead = false;
      KILN_TRY(checkOperands(block));
    }
    return {};
  }

  Status checkPhi(const Block& block) const {
    std::vector<std::size_t> given, wanted = block.before;
    if (length() % 2 == 0) return bad("a phi with half a pair");
    for (std::size_t i = 3; i + 1 < length(); i += 2) {
      const auto from = blockOf_.find(words_[at_ + i + 1]);
      if (from == blockOf_.end()) return bad("a phi of no block of the function");
      given.push_back(from->second);
      KILN_TRY(checkValue(words_[at_ + i], blocks_[from->second], end_));
    }
    std::ranges::sort(given);
    std::ranges::sort(wanted);
    wanted.erase(std::ranges::unique(wanted).begin(), wanted.end());
    if (given != wanted) return bad("a phi without a value for each block that leads there");
    return {};
  }

  Status checkOperands(const Block& block) const {
    const auto layout = layoutOf(opcode());
    const std::string_view letters = wordingOf(opcode()).operands;
    std::size_t i = 1 + (layout->hasType ? 1 : 0) + (layout->hasResult ? 1 : 0);
    for (std::size_t letter = 0; letter < letters.size() && i < length(); ++i) {
      const char kind = letters[letter];
      if (kind == 'N' || kind == 'M') break;
      const std::uint32_t id = words_[at_ + i];
      if (kind != 'n') KILN_TRY(checkOperand(block, id, i));
      if (kind == 'S') break;
      if (kind != 'I') ++letter;
    }
    return {};
  }

  Status checkOperand(const Block& block, std::uint32_t id, std::size_t i) const {
    const std::uint32_t op = opcode();
    const bool wantsLabel = op == kOpLoopMerge || op == kOpSelectionMerge || op == kOpBranch ||
                            (op == kOpBranchConditional && i > 1);
    const bool isLabel = blockOf_.contains(id);
    if (wantsLabel != isLabel)
      return bad(isLabel ? "a label as a value" : "a branch to no block of the function");
    // The set of an extended instruction and the function that is called are known to check().
    const bool isNamed = (op == kOpExtInst || op == kOpFunctionCall) && i == 3;
    if (isLabel || isNamed) return {};
    if (ids_.typeOf(id) == 0) return bad("id " + std::to_string(id) + " is used as a value and is none");
    return checkValue(id, block, at_);
  }

  const Words words_;
  const Definitions& ids_;
  const std::size_t firstFunction_, begin_;
  std::size_t at_, end_ = 0;
  std::vector<Block> blocks_;                     // in the module's order; the first is the entry
  std::map<std::uint32_t, std::size_t> blockOf_;  // by label
  std::vector<std::size_t> sorted_;
};

}  // namespace

Status checkFlow(Words words, const Definitions& ids) {
  std::size_t first = 0;
  for (std::size_t at = 5; at < words.size();) {
    if ((words[at] & 0xFFFF) != kOpFunction) {
      at += words[at] >> 16;
      continue;
    }
    if (first == 0) first = at;
    KILN_ASSIGN(at, Flow(words, ids, first, at).run());
  }
  return {};
}

}  // namespace kiln::spirv
