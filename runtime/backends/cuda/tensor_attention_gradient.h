// SPDX-License-Identifier: Apache-2.0

// The gradient in three passes: what it needs of each query; dk and dv, where a
// warp has keys and all queries that see them; and dq, where it has queries.
// Scores are computed in the latter two. Each sum is a warp's own, in one
// order: no atomics, and the same bits at every run.

#ifndef WEFT_RT_CUDA_TENSOR_ATTENTION_GRADIENT_H
#define WEFT_RT_CUDA_TENSOR_ATTENTION_GRADIENT_H

#include "backends/cuda/tensor_attention_block.h"

namespace weft::rt::cuda {
namespace {

// ---- what is needed of queries ---------------------------------------------

/// Of 64 queries of a head; 16 lanes have one at a time.
template <typename Format>
void prepareRows(const AttentionArgs &args, WarpBlock<rowsWarps> &block) {
  constexpr int lanes = 16, rows = tensorRows / rowsWarps;
  TensorHeads heads(args);
  int64_t tiles = paddedQueries(args.queries) / tensorRows,
          place = block.index() / tiles;
  int first = int(block.index() % tiles) * tensorRows;
  Head head = {place / args.groups, place % args.groups};
  RowSource out =
                heads.rows(WEFT_RT_ATTENTION_OUT, head, true, true).from(first),
            dout = heads.rows(WEFT_RT_ATTENTION_DOUT, head, true, true)
                       .from(first);
  const AttentionTensor &lse = args.tensors[WEFT_RT_ATTENTION_LSE];
  const float *sums = static_cast<const float *>(lse.data) +
                      heads.heads.offset(WEFT_RT_ATTENTION_LSE, head) +
                      first * lse.query;
  float *to = heads.sumsOf(head) + first;
  block.phase([&](int warp) {
    WEFT_UNROLL_BY(1)
    for (int i = 0; i < rows; i += warpLanes / lanes) {
      Lanes<float> delta;
      forLanes([&](int lane) {
        int row = warp * rows + i + lane / lanes, chunk = lane % lanes;
        delta[lane] = 0;
        if (row >= out.count || chunk >= out.chunks)
          return;
        uint32_t x[4], y[4];
        auto load = [&](const RowSource &from, uint32_t (&values)[4]) {
          loadVector(reinterpret_cast<const uint32_t *>(
                         from.data + row * from.stride + chunk * chunkBytes),
                     values);
        };
        load(out, x);
        load(dout, y);
        float sum = 0;
        WEFT_UNROLL
        for (int j = 0; j < 4; ++j) {
          sum = fused(Format::load(uint16_t(x[j])),
                      Format::load(uint16_t(y[j])), sum);
          sum = fused(Format::load(uint16_t(x[j] >> 16)),
                      Format::load(uint16_t(y[j] >> 16)), sum);
        }
        delta[lane] = sum;
      });
      WEFT_UNROLL
      for (int bits = 1; bits < lanes; bits *= 2) {
        Lanes<float> other = exchanged(delta, bits);
        forLanes([&](int lane) { delta[lane] = delta[lane] + other[lane]; });
      }
      forLanes([&](int lane) {
        int row = warp * rows + i + lane / lanes;
        if (lane % lanes != 0)
          return;
        // Of a query that sees no key, and of none, all weights are 0.
        float sum = row < out.count ? sums[row * lse.query] : kNone;
        to[row] = sum == kNone ? -kNone : sum * log2OfE;
        to[row + heads.toDeltas()] = delta[lane];
      });
    }
  });
}

// ---- dk and dv -------------------------------------------------------------

template <typename Format, int HeadSize> class TensorKeyGradient {
  using Tiles = TilesOf<HeadSize>;
  static constexpr int warps = Tiles::keysWarps, keys = Tiles::keys,
                       queries = Tiles::queries, rows = keys / warps,
                       M = rows / 16, N = queries / 8,
                       together = hasGroups ? groupRows : rows;

  struct State {
    TileSums dk[M][HeadSize / 8], dv[M][HeadSize / 8];
  };

public:
  TensorKeyGradient(const AttentionArgs &args, WarpBlock<warps> &block,
                    Shared shared)
      : args(args), heads(args), window(args), block(block), shared(shared) {}

  /// A tile of keys of a batch; tiles that most queries see come first.
  void compute(int64_t number) {
    first = int(number / args.batches) * keys;
    batch = number % args.batches;
    Window::Span seen = window.queriesOf(first, keys);
    int begin = seen.first / queries * queries;
    int64_t groups = begin < seen.last ? args.groups : 0;
    if (groups > 0)
      moveTo(0);
    block.phase([&](int warp) {
      Head head = {batch, 0};
      bringRows<HeadSize, keys>(
          block, warp, shared, keyTile,
          heads.rows(WEFT_RT_ATTENTION_K, head, false, false).from(first));
      bringRows<HeadSize, keys>(
          block, warp, shared, valueTile,
          heads.rows(WEFT_RT_ATTENTION_V, head, false, true).from(first));
      if (groups > 0)
        bringQueries(warp, begin, 0);
      clear(states[warp].dk);
      clear(states[warp].dv);
      block.waitForCopies(warp);
    });
    uint32_t stage = 0;
    for (int64_t group = 0; group < groups;) {
      int query = begin;
      // The next tile is that of the next group after the last one.
      for (; query < seen.last; query += queries) {
        int next = query + queries;
        bool endsGroup = next >= seen.last;
        if (endsGroup) {
          next = begin;
          if (++group < groups)
            moveTo(group);
        }
        block.phase([&](int warp) {
          if (group < groups)
            bringQueries(warp, next, 1 - stage);
          addQueries(warp, query, stage);
          block.waitForCopies(warp);
        });
        stage = 1 - stage;
      }
    }
    block.phase([&](int warp) {
      int row = first + warp * rows;
      heads.storeSums(states[warp].dk, WEFT_RT_ATTENTION_DK, {batch, 0}, row,
                      false, false, args.scale);
      heads.storeSums(states[warp].dv, WEFT_RT_ATTENTION_DV, {batch, 0}, row,
                      false, true, 1);
    });
  }

private:
  void moveTo(int64_t group) {
    Head head = {batch, group};
    queryRows = heads.rows(WEFT_RT_ATTENTION_Q, head, true, false);
    gradientRows = heads.rows(WEFT_RT_ATTENTION_DOUT, head, true, true);
    sums = heads.sumsOf(head);
  }

  void bringQueries(int warp, int query, uint32_t stage) {
    uint32_t place = stages + stage * stageBytes;
    bringRows<HeadSize, queries>(block, warp, shared, place,
                                 queryRows.from(query));
    bringRows<HeadSize, queries>(block, warp, shared, place + queryBytes,
                                 gradientRows.from(query));
    bringFloats<queries>(block, warp, shared, sumsPlace(stage), sums + query);
    bringFloats<queries>(block, warp, shared, deltasPlace(stage),
                         sums + query + heads.toDeltas());
  }

  void addQueries(int warp, int query, uint32_t stage) {
    int mine = warp * rows, row = first + mine;
    if (!window.isSeen(query, queries, first + mine / together * together,
                       together))
      return;
    State &state = states[warp];
    uint32_t queryTile = stages + stage * stageBytes,
             gradientTile = queryTile + queryBytes;
    TileSums weights[M][N], products[M][N];
    clear(weights);
    beginHeads<Format, HeadSize, keys>(shared, weights, keyTile, mine,
                                       queryTile);
    clear(products);
    beginHeads<Format, HeadSize, keys>(shared, products, valueTile, mine,
                                       gradientTile);
    end<1>(weights);
    weigh(weights, stage);
    if (!window.isWhole(query, queries, row, rows))
      hideWeights(weights, query, row);
    TileParts ofValues[M][N / 2], ofKeys[M][N / 2];
    pack<Format>(ofValues, weights);
    beginRows<Format, HeadSize>(shared, state.dv, ofValues, gradientTile);
    end<1>(products);
    subtract(products, weights, stage);
    pack<Format>(ofKeys, products);
    beginRows<Format, HeadSize>(shared, state.dk, ofKeys, queryTile);
    end(state.dv);
    end(state.dk);
    hold(ofValues);
    hold(ofKeys);
  }

  /// Products of keys and queries become weights.
  void weigh(TileSums (&weights)[M][N], uint32_t stage) {
    float scale = args.scale * log2OfE;
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int n = 0; n < N; ++n) {
        int column = n * 8 + columnInTile(lane, 0);
        float sums[2];
        shared.loadPair(sumsPlace(stage) + 4 * column, sums[0], sums[1]);
        WEFT_UNROLL
        for (int m = 0; m < M; ++m) {
          WEFT_UNROLL
          for (int i = 0; i < 4; ++i) {
            float &weight = weights[m][n][i][lane];
            weight = powerOfTwo(fused(weight, scale, -sums[i % 2]));
          }
        }
      }
    });
  }

  void hideWeights(TileSums (&weights)[M][N], int query, int key) {
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        WEFT_UNROLL
        for (int i = 0; i < 4; ++i) {
          Window::Span seeing = window.seeing(key + m * 16 + rowInTile(lane, i),
                                              query + columnInTile(lane, i));
          WEFT_UNROLL
          for (int n = 0; n < N; ++n)
            if (!seeing.has(n * 8))
              weights[m][n][i][lane] = 0;
        }
      }
    });
  }

  /// Gradients of weights become those of scores.
  void subtract(TileSums (&products)[M][N], const TileSums (&weights)[M][N],
                uint32_t stage) {
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int n = 0; n < N; ++n) {
        float deltas[2];
        shared.loadPair(deltasPlace(stage) +
                            4 * (n * 8 + columnInTile(lane, 0)),
                        deltas[0], deltas[1]);
        WEFT_UNROLL
        for (int m = 0; m < M; ++m) {
          WEFT_UNROLL
          for (int i = 0; i < 4; ++i)
            products[m][n][i][lane] = weights[m][n][i][lane] *
                                      (products[m][n][i][lane] - deltas[i % 2]);
        }
      }
    });
  }

  static constexpr uint32_t keyTile = 0, valueTile = keys * 2 * HeadSize,
                            stages = 2 * valueTile,
                            queryBytes = queries * 2 * HeadSize,
                            stageBytes = 2 * queryBytes,
                            floats = stages + 2 * stageBytes;
  static uint32_t sumsPlace(uint32_t stage) {
    return floats + stage * 8 * queries;
  }
  static uint32_t deltasPlace(uint32_t stage) {
    return sumsPlace(stage) + 4 * queries;
  }
  static_assert(floats + 16 * queries == Tiles::keysBytes);

  const AttentionArgs &args;
  const TensorHeads heads;
  const Window window;
  WarpBlock<warps> &block;
  const Shared shared;
  PerWarp<State, warps> states;
  int64_t batch = 0;
  int first = 0; // key
  RowSource queryRows{}, gradientRows{};
  const float *sums = nullptr;
};

// ---- dq --------------------------------------------------------------------

template <typename Format, int HeadSize> class TensorQueryGradient {
  using Tiles = TilesOf<HeadSize>;
  static constexpr int warps = Tiles::queriesWarps,
                       queries = Tiles::gradientQueries,
                       keys = Tiles::gradientKeys, rows = queries / warps,
                       M = rows / 16, N = keys / 8,
                       together = hasGroups ? groupRows : rows;

  struct State {
    TileSums dq[M][HeadSize / 8];
    Lanes<float> sums[M][2], deltas[M][2];
  };

public:
  TensorQueryGradient(const AttentionArgs &args, WarpBlock<warps> &block,
                      Shared shared)
      : args(args), heads(args), window(args), block(block), shared(shared) {}

  /// A head's tile of queries; tiles that see most keys come first.
  void compute(int64_t number) {
    moveTo(number);
    Window::Span seen = window.keysOf(first, queries);
    int begin = seen.first / keys * keys;
    block.phase([&](int warp) {
      bringRows<HeadSize, queries>(
          block, warp, shared, queryTile,
          heads.rows(WEFT_RT_ATTENTION_Q, head, true, false).from(first));
      bringRows<HeadSize, queries>(
          block, warp, shared, gradientTile,
          heads.rows(WEFT_RT_ATTENTION_DOUT, head, true, true).from(first));
      if (begin < seen.last)
        bringKeys(warp, begin, 0);
      start(states[warp], rowOf(warp));
      block.waitForCopies(warp);
    });
    int stage = 0;
    for (int key = begin; key < seen.last; key += keys) {
      block.phase([&](int warp) {
        if (key + keys < seen.last)
          bringKeys(warp, key + keys, 1 - stage);
        addKeys(warp, key, stage);
        block.waitForCopies(warp);
      });
      stage = 1 - stage;
    }
    block.phase([&](int warp) {
      heads.storeSums(states[warp].dq, WEFT_RT_ATTENTION_DQ, head, rowOf(warp),
                      true, false, args.scale);
    });
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
  static uint32_t placeOfStage(int stage) {
    return stages + uint32_t(stage) * 2 * keyBytes;
  }

  void bringKeys(int warp, int key, int stage) {
    bringRows<HeadSize, keys>(block, warp, shared, placeOfStage(stage),
                              keyRows.from(key));
    bringRows<HeadSize, keys>(block, warp, shared,
                              placeOfStage(stage) + keyBytes,
                              valueRows.from(key));
  }

  void start(State &state, int row) {
    clear(state.dq);
    const float *sums = heads.sumsOf(head);
    int padded = int(paddedQueries(args.queries));
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        WEFT_UNROLL
        for (int half = 0; half < 2; ++half) {
          int at = row + m * 16 + rowInTile(lane, 2 * half);
          bool isThere = at < padded;
          state.sums[m][half][lane] = isThere ? sums[at] : -kNone;
          state.deltas[m][half][lane] =
              isThere ? sums[at + heads.toDeltas()] : 0;
        }
      }
    });
  }

  void addKeys(int warp, int key, int stage) {
    int mine = warp * rows, row = first + mine;
    if (!window.isSeen(first + mine / together * together, together, key, keys))
      return;
    State &state = states[warp];
    uint32_t keyTile = placeOfStage(stage);
    TileSums scores[M][N], products[M][N];
    clear(scores);
    beginHeads<Format, HeadSize, queries>(shared, scores, queryTile, mine,
                                          keyTile);
    clear(products);
    beginHeads<Format, HeadSize, queries>(shared, products, gradientTile, mine,
                                          keyTile + keyBytes);
    end<1>(scores);
    if (!window.isWhole(row, rows, key, keys))
      hideScores(scores, row, key);
    weigh(state, scores);
    end(products);
    subtract(state, products, scores);
    TileParts parts[M][N / 2];
    pack<Format>(parts, products);
    beginRows<Format, HeadSize>(shared, state.dq, parts, keyTile);
    end(state.dq);
    hold(parts);
  }

  void hideScores(TileSums (&scores)[M][N], int row, int key) {
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
              scores[m][n][i][lane] = kNone;
        }
      }
    });
  }

  /// Scores become weights.
  void weigh(const State &state, TileSums (&scores)[M][N]) {
    float scale = args.scale * log2OfE;
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        WEFT_UNROLL
        for (int n = 0; n < N; ++n) {
          WEFT_UNROLL
          for (int i = 0; i < 4; ++i) {
            float &score = scores[m][n][i][lane];
            score =
                powerOfTwo(fused(score, scale, -state.sums[m][i / 2][lane]));
          }
        }
      }
    });
  }

  /// Gradients of weights become those of scores.
  void subtract(const State &state, TileSums (&products)[M][N],
                const TileSums (&weights)[M][N]) {
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        WEFT_UNROLL
        for (int n = 0; n < N; ++n) {
          WEFT_UNROLL
          for (int i = 0; i < 4; ++i)
            products[m][n][i][lane] =
                weights[m][n][i][lane] *
                (products[m][n][i][lane] - state.deltas[m][i / 2][lane]);
        }
      }
    });
  }

  static constexpr uint32_t queryTile = 0,
                            gradientTile = queries * 2 * HeadSize,
                            stages = 2 * gradientTile,
                            keyBytes = keys * 2 * HeadSize;
  static_assert(stages + 4 * keyBytes == Tiles::queriesBytes);

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

#endif // WEFT_RT_CUDA_TENSOR_ATTENTION_GRADIENT_H
