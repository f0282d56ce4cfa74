// SPDX-License-Identifier: Apache-2.0

// The forward pass of a tile of queries of one head: a warp has 16 or 32 of
// them and all keys that they see, a tile at a time, whose scores stay in its
// registers. With groups, scores of the next keys are computed while those of
// these become weights.

#ifndef WEFT_RT_CUDA_TENSOR_ATTENTION_FORWARD_H
#define WEFT_RT_CUDA_TENSOR_ATTENTION_FORWARD_H

#include "backends/cuda/tensor_attention_block.h"

namespace weft::rt::cuda {
namespace {

template <typename Format, int HeadSize> class TensorForward {
  using Tiles = TilesOf<HeadSize>;
  static constexpr int warps = Tiles::forwardWarps,
                       queries = Tiles::forwardQueries,
                       keys = Tiles::forwardKeys,
                       rows = queries / warps, // of a warp
      M = rows / 16, N = keys / 8, together = hasGroups ? groupRows : rows;

  struct State {
    TileSums out[M][HeadSize / 8], scores[M][N];
    TileSums next[M][N];               // scores, with groups
    Lanes<float> max[M][2], sum[M][2]; // of products; a lane's part of sums
  };

public:
  TensorForward(const AttentionArgs &args, WarpBlock<warps> &block,
                Shared shared)
      : args(args), heads(args), window(args), block(block), shared(shared) {}

  /// A head's tile of queries; tiles that see most keys come first.
  void compute(int64_t number) {
    moveTo(number);
    Window::Span seen = window.keysOf(first, queries);
    int key = seen.first / keys * keys;
    block.phase([&](int warp) {
      bringRows<HeadSize, queries>(
          block, warp, shared, queryTile,
          heads.rows(WEFT_RT_ATTENTION_Q, head, true, false).from(first));
      if (key < seen.last)
        bringKeys(warp, false, key);
      start(states[warp]);
      block.waitForCopies(warp);
    });
    if (hasGroups)
      multiplyFirstKeys(key, seen.last);
    for (; key < seen.last; key += keys) {
      block.phase([&](int warp) {
        bringKeys(warp, true, key);
        if constexpr (hasGroups)
          weighWhileNextIsMultiplied(warp, key, key + keys < seen.last);
        else if (isSeen(warp, key))
          multiplyKeys(warp, key);
        block.waitForCopies(warp);
      });
      block.phase([&](int warp) {
        int next = key + (hasGroups ? 2 : 1) * keys;
        if (next < seen.last)
          bringKeys(warp, false, next);
        if (isSeen(warp, key))
          addValues(warp);
        block.waitForCopies(warp);
      });
    }
    block.phase([&](int warp) { store(warp); });
  }

private:
  void moveTo(int64_t number) {
    int64_t tiles = (args.queries + queries - 1) / queries,
            numHeads = args.batches * args.groups, place = number % numHeads;
    first = int(tiles - 1 - number / numHeads) * queries;
    head = {place / args.groups, place % args.groups};
    keyRows = heads.rows(WEFT_RT_ATTENTION_K, head, false, false);
    valueRows = heads.rows(WEFT_RT_ATTENTION_V, head, false, true);
  }

  int rowOf(int warp) const { return first + warp * rows; }
  bool isSeen(int warp, int key) const {
    int row = first + warp * rows / together * together;
    return window.isSeen(row, together, key, keys);
  }

  void bringKeys(int warp, bool areValues, int key) {
    bringRows<HeadSize, keys>(block, warp, shared,
                              areValues ? valueTile : keyTile,
                              (areValues ? valueRows : keyRows).from(key));
  }

  void start(State &state) {
    clear(state.out);
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        WEFT_UNROLL
        for (int half = 0; half < 2; ++half) {
          state.max[m][half][lane] = kNone;
          state.sum[m][half][lane] = 0;
        }
      }
    });
  }

  void beginScores(int warp) {
    State &state = states[warp];
    clear(state.next);
    beginHeads<Format, HeadSize, queries>(shared, state.next, queryTile,
                                          warp * rows, keyTile);
  }

  /// With groups: scores of the first keys, and then the next keys in their
  /// place.
  void multiplyFirstKeys(int key, int last) {
    if (key < last)
      block.phase([&](int warp) {
        if (isSeen(warp, key))
          beginScores(warp);
        end(states[warp].next);
      });
    if (key + keys < last)
      block.phase([&](int warp) {
        bringKeys(warp, false, key + keys);
        block.waitForCopies(warp);
      });
  }

  /// Where there are no next keys, or none that are seen, their scores are
  /// computed for nobody: what is multiplied must not be chosen between.
  void weighWhileNextIsMultiplied(int warp, int key, bool hasNext) {
    State &state = states[warp];
    if (isSeen(warp, key)) {
      copy(state.scores, state.next);
      beginScores(warp);
      hideScores(warp, key);
      weighAll(state);
      end(state.next);
    } else if (hasNext && isSeen(warp, key + keys)) {
      beginScores(warp);
      end(state.next);
    }
  }

  void multiplyKeys(int warp, int key) {
    State &state = states[warp];
    clear(state.scores);
    beginHeads<Format, HeadSize, queries>(shared, state.scores, queryTile,
                                          warp * rows, keyTile);
    hideScores(warp, key);
  }

  void hideScores(int warp, int key) {
    State &state = states[warp];
    int row = rowOf(warp);
    if (window.isWhole(row, rows, key, keys))
      return;
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        WEFT_UNROLL
        for (int i = 0; i < 4; ++i) {
          Window::Span seen = window.seenBy(row + m * 16 + rowInTile(lane, i),
                                            key + columnInTile(lane, i));
          WEFT_UNROLL
          for (int n = 0; n < N; ++n)
            if (!seen.has(n * 8))
              state.scores[m][n][i][lane] = kNone;
        }
      }
    });
  }

  void weighAll(State &state) {
    WEFT_UNROLL
    for (int m = 0; m < M; ++m) {
      WEFT_UNROLL
      for (int half = 0; half < 2; ++half)
        weigh(state, m, half);
    }
  }

  void addValues(int warp) {
    State &state = states[warp];
    if (!hasGroups)
      weighAll(state);
    TileParts weights[M][N / 2];
    pack<Format>(weights, state.scores);
    beginRows<Format, HeadSize>(shared, state.out, weights, valueTile);
    end(state.out);
    hold(weights);
  }

  /// Scores of a lane's row become weights, and what was summed is corrected
  /// by the maximum so far.
  void weigh(State &state, int m, int half) {
    Lanes<float> largest;
    forLanes([&](int lane) {
      largest[lane] = state.max[m][half][lane];
      WEFT_UNROLL
      for (int n = 0; n < N; ++n) {
        WEFT_UNROLL
        for (int i = 2 * half; i < 2 * half + 2; ++i)
          largest[lane] = larger(largest[lane], state.scores[m][n][i][lane]);
      }
    });
    WEFT_UNROLL
    for (int bits = 1; bits < 4; bits *= 2) {
      Lanes<float> other = exchanged(largest, bits);
      forLanes([&](int lane) {
        largest[lane] = larger(largest[lane], other[lane]);
      });
    }
    float scale = args.scale * log2OfE;
    forLanes([&](int lane) {
      float max = largest[lane], base = max == kNone ? 0 : max * scale;
      float correction =
          powerOfTwo(fused(state.max[m][half][lane], scale, -base));
      state.max[m][half][lane] = max;
      float sum = state.sum[m][half][lane] * correction;
      WEFT_UNROLL
      for (int n = 0; n < N; ++n) {
        WEFT_UNROLL
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          float &score = state.scores[m][n][i][lane];
          score = powerOfTwo(fused(score, scale, -base));
          sum = sum + score;
        }
      }
      state.sum[m][half][lane] = sum;
      WEFT_UNROLL
      for (int n = 0; n < HeadSize / 8; ++n) {
        WEFT_UNROLL
        for (int i = 2 * half; i < 2 * half + 2; ++i)
          state.out[m][n][i][lane] = state.out[m][n][i][lane] * correction;
      }
    });
  }

  void store(int warp) {
    State &state = states[warp];
    WEFT_UNROLL
    for (int m = 0; m < M; ++m) {
      WEFT_UNROLL
      for (int half = 0; half < 2; ++half)
        endRow(state, m, half, rowOf(warp) + m * 16);
    }
    heads.storeSums(state.out, WEFT_RT_ATTENTION_OUT, head, rowOf(warp), true,
                    true, 1);
  }

  void endRow(State &state, int m, int half, int row) {
    Lanes<float> &sum = state.sum[m][half];
    WEFT_UNROLL
    for (int bits = 1; bits < 4; bits *= 2) {
      Lanes<float> other = exchanged(sum, bits);
      forLanes([&](int lane) { sum[lane] = sum[lane] + other[lane]; });
    }
    const AttentionTensor &lse = args.tensors[WEFT_RT_ATTENTION_LSE];
    int64_t begin = heads.heads.offset(WEFT_RT_ATTENTION_LSE, head);
    forLanes([&](int lane) {
      float all = sum[lane], inverse = all != 0 ? 1 / all : 0;
      WEFT_UNROLL
      for (int n = 0; n < HeadSize / 8; ++n) {
        WEFT_UNROLL
        for (int i = 2 * half; i < 2 * half + 2; ++i)
          state.out[m][n][i][lane] = state.out[m][n][i][lane] * inverse;
      }
      int at = row + rowInTile(lane, 2 * half);
      if (lane % 4 != 0 || at >= args.queries)
        return;
      float max = state.max[m][half][lane];
      static_cast<float *>(lse.data)[begin + at * lse.query] =
          all != 0 ? fused(logarithmOfTwo(all), logOf2, max * args.scale)
                   : kNone;
    });
  }

  static constexpr uint32_t queryTile = 0, keyTile = queries * 2 * HeadSize,
                            valueTile = keyTile + keys * 2 * HeadSize;
  static_assert(valueTile + keys * 2 * HeadSize == Tiles::forwardBytes);

  const AttentionArgs &args;
  const TensorHeads heads;
  const Window window;
  WarpBlock<warps> &block;
  const Shared shared;
  PerWarp<State, warps> states;
  Head head{};
  RowSource keyRows{}, valueRows{};
  int first = 0; // query
};

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_TENSOR_ATTENTION_FORWARD_H
