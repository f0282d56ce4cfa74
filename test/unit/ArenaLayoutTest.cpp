// SPDX-License-Identifier: Apache-2.0

// Arenas: blocks that are alive together never overlap, and the arena has no
// more bytes than are alive at one time where that is possible.

#include "weft/Memory/ArenaLayout.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace mlir::weft;

namespace {

/// Says whether blocks whose lives meet lie apart, on aligned offsets.
bool isSound(const std::vector<ArenaBlock> &blocks, int64_t bytes) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const ArenaBlock &a = blocks[i];
    if (a.offset < 0 || a.offset % kArenaAlignment != 0 ||
        a.offset + a.bytes > bytes)
      return false;
    for (size_t j = 0; j < i; ++j) {
      const ArenaBlock &b = blocks[j];
      bool meet = a.begin <= b.end && b.begin <= a.end;
      bool overlap =
          a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      if (meet && overlap && a.bytes != 0 && b.bytes != 0)
        return false;
    }
  }
  return true;
}

/// A training step: per layer, activations that live until its backward pass
/// and weights that are gathered some layers ahead, all with temporaries.
std::vector<ArenaBlock> makeStep(int64_t layers, int64_t ahead,
                                 bool keepsWeights) {
  std::vector<ArenaBlock> blocks;
  int64_t last = 20 * layers;
  for (int64_t layer = 0; layer < layers; ++layer) {
    int64_t forward = 10 * layer, backward = last - 10 * layer;
    blocks.push_back({4096, forward + 2, backward + 4});
    blocks.push_back({1000, forward + 4, backward + 2});
    if (keepsWeights) {
      blocks.push_back({8192, forward - 10 * ahead, backward + 6});
    } else {
      blocks.push_back({8192, forward - 10 * ahead, forward + 5});
      blocks.push_back({8192, backward - 10 * ahead, backward + 6});
    }
    for (int64_t start : {forward, backward})
      for (int64_t i = 0; i < 8; ++i)
        blocks.push_back({512 * (1 + (i * 7 + layer) % 5), start + i,
                          start + i + 1 + i % 3});
    blocks.push_back({8192, backward + 5, backward + 25});
  }
  return blocks;
}

TEST(ArenaLayoutTest, HasNoBytesWithoutBlocks) {
  std::vector<ArenaBlock> none, empty = {{0, 0, 9}, {0, 1, 2}};
  EXPECT_EQ(layOutArena(none), 0);
  EXPECT_EQ(layOutArena(empty), 0);
  EXPECT_EQ(findArenaPeak(none).bytes, 0);
}

TEST(ArenaLayoutTest, SharesMemoryOfBlocksThatDoNotMeet) {
  std::vector<ArenaBlock> blocks = {{100, 0, 3}, {128, 4, 5}};
  EXPECT_EQ(layOutArena(blocks), 128);
  EXPECT_EQ(blocks[0].offset, blocks[1].offset);
}

TEST(ArenaLayoutTest, KeepsBlocksApartThatMeetAtOneTime) {
  std::vector<ArenaBlock> blocks = {{100, 0, 4}, {128, 4, 5}};
  EXPECT_EQ(layOutArena(blocks), 256);
  EXPECT_NE(blocks[0].offset, blocks[1].offset);
}

TEST(ArenaLayoutTest, FindsTheFirstPeak) {
  std::vector<ArenaBlock> blocks = {{64, 0, 9}, {1, 2, 3}, {64, 4, 5}};
  ArenaPeak peak = findArenaPeak(blocks);
  EXPECT_EQ(peak.bytes, 128);
  EXPECT_EQ(peak.time, 2);
}

TEST(ArenaLayoutTest, ReachesTheBoundOnSteps) {
  for (int64_t layers : {1, 2, 8, 30})
    for (int64_t ahead : {0, 1, 3, 30})
      for (bool keepsWeights : {false, true}) {
        std::vector<ArenaBlock> blocks = makeStep(layers, ahead, keepsWeights);
        int64_t bytes = layOutArena(blocks);
        int64_t bound = findArenaPeak(blocks).bytes;
        EXPECT_TRUE(isSound(blocks, bytes));
        EXPECT_LE(bytes * 100, bound * 102)
            << layers << " layers, " << ahead << " ahead, " << keepsWeights;
      }
}

TEST(ArenaLayoutTest, IsSoundOnRandomBlocks) {
  std::mt19937 random(1);
  auto draw = [&](int64_t count) -> int64_t { return random() % count; };
  for (int round = 0; round < 300; ++round) {
    std::vector<ArenaBlock> blocks(1 + draw(60));
    for (ArenaBlock &block : blocks) {
      int64_t begin = draw(50);
      block = {draw(4) == 0 ? draw(5000) : draw(200), begin,
               begin + draw(draw(2) ? 50 : 4), 0};
    }
    int64_t bytes = layOutArena(blocks);
    ASSERT_TRUE(isSound(blocks, bytes)) << "round " << round;
    EXPECT_GE(bytes, findArenaPeak(blocks).bytes);
  }
}

TEST(ArenaLayoutTest, IsTheSameEachTime) {
  std::vector<ArenaBlock> first = makeStep(12, 2, false), second = first;
  EXPECT_EQ(layOutArena(first), layOutArena(second));
  for (auto [a, b] = std::pair(first.begin(), second.begin()); a != first.end();
       ++a, ++b)
    EXPECT_EQ(a->offset, b->offset);
}

} // namespace
