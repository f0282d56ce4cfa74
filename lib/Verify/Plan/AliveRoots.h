// SPDX-License-Identifier: Apache-2.0

// Which roots of the arena have their bytes to themselves. Two that share bytes
// are never alive at once: the first write to one ends what the other held.

#ifndef WEFT_LIB_VERIFY_PLAN_ALIVEROOTS_H
#define WEFT_LIB_VERIFY_PLAN_ALIVEROOTS_H

#include "PlannedProgram.h"

#include <map>

namespace mlir::weft::proof {

class AliveRoots {
public:
  explicit AliveRoots(const PlannedProgram &program) : program(program) {}

  /// Gives a root of the arena its bytes; returns those that this ends.
  SmallVector<unsigned> claim(unsigned root) {
    const Root &claimed = program.getRoots()[root];
    SmallVector<unsigned> ended;
    if (claimed.bytes == 0)
      return ended;
    auto it = alive.lower_bound(claimed.begin);
    if (it != alive.begin()) {
      const Root &before = program.getRoots()[std::prev(it)->second];
      if (before.begin + before.bytes > claimed.begin)
        --it;
    }
    while (it != alive.end() && it->first < claimed.begin + claimed.bytes) {
      ended.push_back(it->second);
      it = alive.erase(it);
    }
    alive.insert({claimed.begin, root});
    return ended;
  }

  /// Says whether a root is alive, at whose bytes no other one is.
  void set(unsigned root, bool isAlive) {
    const Root &info = program.getRoots()[root];
    if (!info.isArena() || info.bytes == 0)
      return;
    auto it = alive.find(info.begin);
    if (it != alive.end() && it->second == root)
      alive.erase(it);
    if (isAlive)
      alive.insert({info.begin, root});
  }

private:
  const PlannedProgram &program;
  /// By their first byte; none overlap.
  std::map<int64_t, unsigned> alive;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_ALIVEROOTS_H
