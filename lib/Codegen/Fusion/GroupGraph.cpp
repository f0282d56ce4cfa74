// SPDX-License-Identifier: Apache-2.0

#include "GroupGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace mlir::weft;

namespace {

/// How many groups a search may meet: what is further apart stays apart, so
/// that the time of all searches is linear in the number of ops.
constexpr size_t kMaxMet = 1024;

} // namespace

GroupGraph::GroupGraph(Block &block) {
  for (Operation &op : block) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
  unsigned count = ops.size();
  dependences.resize(count);
  users.resize(count);
  seen.assign(count, 0);
  for (unsigned position = 0; position < count; ++position) {
    llvm::SetVector<unsigned> needs;
    ops[position]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *def = operand.getDefiningOp();
        def = def ? block.findAncestorOpInBlock(*def) : nullptr;
        if (def && def != ops[position])
          needs.insert(positions.lookup(def));
      }
    });
    dependences[position].assign(needs.begin(), needs.end());
    for (unsigned need : needs)
      users[need].push_back(position);
    groupOf.push_back(position);
    groups.push_back({position});
    numbers.push_back(position);
  }
}

bool GroupGraph::isBetween(unsigned group, unsigned a, unsigned b) const {
  auto [low, high] = std::minmax(numbers[a], numbers[b]);
  return numbers[group] > low && numbers[group] < high;
}

/// Finds the groups between `start` and `end` that edges lead to from `start`.
/// Fails if one of them leads to `end`, or there are too many.
bool GroupGraph::search(unsigned start, unsigned end, const Edges &edges,
                        std::vector<unsigned> &found) {
  ++numSearches;
  std::vector<unsigned> stack = {start};
  while (!stack.empty()) {
    unsigned group = stack.back();
    stack.pop_back();
    for (unsigned position : groups[group])
      for (unsigned other : edges[position]) {
        unsigned next = groupOf[other];
        if (next == end && group != start)
          return false;
        if (!isBetween(next, start, end) || seen[next] == numSearches)
          continue;
        seen[next] = numSearches;
        found.push_back(next);
        stack.push_back(next);
      }
    if (found.size() > kMaxMet)
      return false;
  }
  llvm::sort(found,
             [&](unsigned a, unsigned b) { return numbers[a] < numbers[b]; });
  return true;
}

bool GroupGraph::merge(unsigned from, unsigned into) {
  auto [low, high] = std::pair(from, into);
  if (numbers[low] > numbers[high])
    std::swap(low, high);
  std::vector<unsigned> below, above;
  if (!search(high, low, dependences, below) ||
      !search(low, high, users, above))
    return false;
  // They share the numbers that they have.
  std::vector<unsigned> order = below;
  order.push_back(into);
  llvm::append_range(order, above);
  std::vector<unsigned> free = {numbers[low]};
  for (unsigned group : llvm::concat<unsigned>(below, above))
    free.push_back(numbers[group]);
  llvm::sort(free);
  for (auto [group, number] : llvm::zip(order, free))
    numbers[group] = number;
  for (unsigned position : groups[from])
    groupOf[position] = into;
  llvm::append_range(groups[into], groups[from]);
  llvm::sort(groups[into]);
  groups[from].clear();
  return true;
}

std::vector<unsigned> GroupGraph::getOrder() const {
  std::vector<unsigned> order, missing(groups.size(), 0);
  std::vector<Group> waiting(groups.size());
  /// Groups that wait for nothing, by their last op.
  std::set<std::pair<unsigned, unsigned>> ready;
  for (unsigned group = 0; group < groups.size(); ++group) {
    if (groups[group].empty())
      continue;
    std::set<unsigned> needs;
    for (unsigned position : groups[group])
      for (unsigned need : dependences[position])
        if (groupOf[need] != group)
          needs.insert(groupOf[need]);
    missing[group] = needs.size();
    for (unsigned need : needs)
      waiting[need].push_back(group);
    if (needs.empty())
      ready.insert({groups[group].back(), group});
  }
  while (!ready.empty()) {
    unsigned group = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(group);
    for (unsigned user : waiting[group])
      if (--missing[user] == 0)
        ready.insert({groups[user].back(), user});
  }
  return order;
}
