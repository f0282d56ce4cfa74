// SPDX-License-Identifier: Apache-2.0

// Partition refinement: start with classes by slowness, split a class whenever
// two of its ranks see different classes in one of their groups, until nothing
// is split.

#include "Classes.h"

#include <algorithm>
#include <map>

using namespace mlir::weft;

/// Numbers things in the order in which they first come.
template <typename Key>
static int32_t numberOf(std::map<Key, int32_t> &numbers, const Key &key) {
  return numbers.try_emplace(key, int32_t(numbers.size())).first->second;
}

/// For each group of a channel, the number of the set of classes in it.
static std::vector<int32_t> getGroupSets(const ReplayChannel &channel,
                                         const std::vector<int32_t> &classOf,
                                         int32_t &numSets) {
  std::vector<std::vector<int32_t>> members(channel.numGroups);
  for (size_t rank = 0; rank < classOf.size(); ++rank)
    members[channel.groupOf[rank]].push_back(classOf[rank]);
  std::map<std::vector<int32_t>, int32_t> sets;
  std::vector<int32_t> setOf;
  for (std::vector<int32_t> &set : members) {
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    setOf.push_back(numberOf(sets, set));
  }
  numSets = int32_t(sets.size());
  return setOf;
}

/// Splits classes by what ranks see on one channel.
static void split(const ReplayChannel &channel, std::vector<int32_t> &classOf) {
  int32_t numSets;
  std::vector<int32_t> setOf = getGroupSets(channel, classOf, numSets);
  std::map<std::pair<int32_t, int32_t>, int32_t> numbers;
  for (size_t rank = 0; rank < classOf.size(); ++rank)
    classOf[rank] =
        numberOf(numbers, {classOf[rank], setOf[channel.groupOf[rank]]});
}

static int32_t countClasses(const std::vector<int32_t> &classOf) {
  return *std::max_element(classOf.begin(), classOf.end()) + 1;
}

RankClasses
mlir::weft::makeSingletons(int64_t numRanks,
                           const std::vector<ReplayChannel> &channels) {
  RankClasses result;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    result.classOf.push_back(int32_t(rank));
    result.representative.push_back(rank);
  }
  result.channels = channels;
  return result;
}

RankClasses
mlir::weft::refineClasses(int64_t numRanks,
                          const std::vector<ReplayChannel> &channels,
                          const std::vector<double> &slowness) {
  RankClasses result;
  std::map<double, int32_t> speeds;
  for (int64_t rank = 0; rank < numRanks; ++rank)
    result.classOf.push_back(
        numberOf(speeds, slowness.empty() ? 1.0 : slowness[rank]));
  for (int32_t before = 0, now = countClasses(result.classOf); before != now;
       now = countClasses(result.classOf)) {
    before = now;
    for (const ReplayChannel &channel : channels)
      split(channel, result.classOf);
  }
  for (int64_t rank = 0; rank < numRanks; ++rank)
    if (result.classOf[rank] == int32_t(result.representative.size()))
      result.representative.push_back(rank);
  for (const ReplayChannel &channel : channels) {
    ReplayChannel merged;
    std::vector<int32_t> setOf =
        getGroupSets(channel, result.classOf, merged.numGroups);
    for (int64_t rank : result.representative)
      merged.groupOf.push_back(setOf[channel.groupOf[rank]]);
    result.channels.push_back(std::move(merged));
  }
  return result;
}
