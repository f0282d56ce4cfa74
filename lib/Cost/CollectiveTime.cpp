// SPDX-License-Identifier: Apache-2.0

// Steps, bytes and rates of each way. See the header for the formulas.

#include "CollectiveTime.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::weft;

namespace {

/// Bytes that a rank receives of `bufferBytes` in a group.
double getReceived(CollectiveKind kind, int64_t ranks, double bufferBytes) {
  if (kind == CollectiveKind::Permute)
    return bufferBytes;
  double share = bufferBytes * double(ranks - 1) / double(ranks);
  return kind == CollectiveKind::AllReduce ? 2 * share : share;
}

/// Steps in which a rank receives once.
double getSteps(CollectiveKind kind, int64_t ranks) {
  if (kind == CollectiveKind::Permute)
    return 1;
  return kind == CollectiveKind::AllReduce ? 2 * double(ranks - 1)
                                           : double(ranks - 1);
}

/// The ways of one collective on one group.
class Ways {
public:
  Ways(const Machine &machine, const GroupShape &group, CollectiveKind kind,
       double bufferBytes)
      : machine(machine), group(group), kind(kind), bufferBytes(bufferBytes),
        top(machine.levels[group.levels.size() - 1]) {}

  CollectiveTime getFastest();

private:
  using Pick = const LinkRate &(*)(const MachineLevel &);

  void add(const LinkRate &link, double latency, double movingNs);
  void addRing(Pick pick);
  void addExchange(Pick pick);
  void addTree();
  void addSwitches();

  /// Blocks of a level, or ranks below the first, that one of the group's
  /// blocks of `level` holds at most.
  int64_t blocksInside(size_t level) const {
    return level == 0 ? group.ranks : group.levels[level - 1].blocks;
  }
  int64_t membersInside(size_t level) const {
    return level == 0 ? 1 : group.levels[level - 1].members;
  }
  double getRailRate(size_t level, const LinkRate &link) const {
    return link.bytesPerSecond *
           double(machine.levels[level].hasRails ? membersInside(level) : 1);
  }

  const Machine &machine;
  const GroupShape &group;
  CollectiveKind kind;
  double bufferBytes;
  const MachineLevel &top;
  std::optional<CollectiveTime> fastest;
};

const LinkRate &pickRing(const MachineLevel &level) { return level.link; }

const LinkRate &pickLowLatency(const MachineLevel &level) {
  return level.lowLatencyRing ? *level.lowLatencyRing : level.link;
}

const LinkRate &pickTree(const MachineLevel &level) {
  return level.tree ? *level.tree : level.link;
}

void Ways::add(const LinkRate &link, double latency, double movingNs) {
  double ns = latency + movingNs / link.byBytes.at(bufferBytes);
  if (!fastest || ns < fastest->nanoseconds)
    fastest = CollectiveTime{ns, latency};
}

void Ways::addRing(Pick pick) {
  double latency = pick(top).latencyNs, rate = 0;
  double rounds = kind == CollectiveKind::AllReduce ? 2 : 1;
  for (size_t i = 0; i < group.levels.size(); ++i) {
    int64_t steps = blocksInside(i) - group.levels[i].blocks;
    if (steps == 0)
      continue;
    const LinkRate &link = pick(machine.levels[i]);
    latency += rounds * double(steps) * link.latencyPerStepNs;
    double own = getRailRate(i, link);
    rate = rate == 0 ? own : std::min(rate, own);
  }
  add(pick(top), latency,
      getReceived(kind, group.ranks, bufferBytes) * 1e9 / rate);
}

/// A chain in the innermost blocks, binary trees over blocks.
void Ways::addTree() {
  const LinkRate &tree = *top.tree;
  double latency = tree.latencyNs, rate = 0;
  for (size_t i = 0; i < group.levels.size(); ++i) {
    int64_t inside = blocksInside(i), blocks = group.levels[i].blocks;
    if (inside == blocks)
      continue;
    const LinkRate &link = pickTree(machine.levels[i]);
    auto fan = uint64_t(llvm::divideCeil(inside, blocks));
    double steps = i == 0 ? double(fan - 1) : double(llvm::Log2_64_Ceil(fan));
    latency += 2 * steps * link.latencyPerStepNs;
    double own = getRailRate(i, link);
    rate = rate == 0 ? own : std::min(rate, own);
  }
  add(tree, latency, getReceived(kind, group.ranks, bufferBytes) * 1e9 / rate);
}

void Ways::addSwitches() {
  const SwitchRate &switches = *top.switches;
  if (group.ranks < switches.leastRanks ||
      !llvm::is_contained(switches.collectives, stringifyCollectiveKind(kind)))
    return;
  double bytes = kind == CollectiveKind::AllReduce
                     ? bufferBytes * (1 + 1 / double(group.ranks))
                     : bufferBytes;
  const LinkRate &link = switches.link;
  add(link, link.latencyNs, bytes * 1e9 / link.bytesPerSecond);
}

void Ways::addExchange(Pick pick) {
  double latency = pick(top).latencyNs, longest = 0;
  if (kind == CollectiveKind::Permute) {
    const LinkRate &link = pick(top);
    add(link, latency + link.latencyPerStepNs,
        bufferBytes * 1e9 / link.bytesPerSecond);
    return;
  }
  for (size_t i = 0; i < group.levels.size(); ++i) {
    double peers = double(group.levels[i].members - membersInside(i));
    const LinkRate &link = pick(machine.levels[i]);
    latency += peers * link.latencyPerStepNs;
    longest = std::max(longest, bufferBytes * peers / double(group.ranks) *
                                    1e9 / link.bytesPerSecond);
  }
  add(pick(top), latency, longest);
}

CollectiveTime Ways::getFastest() {
  auto addWay = [&](Pick pick) {
    isExchange(kind) ? addExchange(pick) : addRing(pick);
  };
  addWay(pickRing);
  if (top.lowLatencyRing)
    addWay(pickLowLatency);
  if (top.tree && kind == CollectiveKind::AllReduce)
    addTree();
  if (top.switches)
    addSwitches();
  return *fastest;
}

} // namespace

CollectiveTime mlir::weft::getCollectiveTime(const Machine &machine,
                                             const GroupShape &group,
                                             CollectiveKind kind,
                                             double bufferBytes) {
  return Ways(machine, group, kind, bufferBytes).getFastest();
}

CollectiveTime mlir::weft::getLinkTime(const LinkRate &link, int64_t ranks,
                                       CollectiveKind kind,
                                       double bufferBytes) {
  double latency =
      link.latencyNs + link.latencyPerStepNs * getSteps(kind, ranks);
  double moving = getReceived(kind, ranks, bufferBytes) * 1e9 /
                  (link.bytesPerSecond * link.byBytes.at(bufferBytes));
  return {latency + moving, latency};
}
