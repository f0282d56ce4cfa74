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
void prepareRows(const AttentionArgs &args, TensorBlock &block) {
  constexpr int lanes = 16, rows = tensorRows / tensorWarps;
  TensorHeads heads(args);
  int64_t tiles = paddedQueries(args.queries) / tensorRows,
          place = block.index() / tiles;
  int first = int(block.index() % tiles) * tensorRows;
  Head head = {place / args.groups, place % args.groups};
  RowSource out = heads.rows(WEFT_RT_ATTENTION_OUT, head, first, true, true),
            dout = heads.rows(WEFT_RT_ATTENTION_DOUT, head, first, true, true);
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
  using Tiles = TensorTiles<HeadSize>;
  static constexpr int keys = Tiles::keys, queries = Tiles::queries,
                       rows = keys / tensorWarps, M = rows / 16,
                       N = queries / 8;

  struct State {
    TileSums dk[M][HeadSize / 8], dv[M][HeadSize / 8];
  };

public:
  TensorKeyGradient(const AttentionArgs &args, TensorBlock &block,
                    Shared shared)
      : args(args), heads(args), window(args), block(block), shared(shared) {}

  /// A tile of keys of a batch; tiles that most queries see come first.
  void compute(int64_t number) {
    first = int(number / args.batches) * keys;
    batch = number % args.batches;
    Window::Span seen = window.queriesOf(first, keys);
    begin = seen.first / queries * queries;
    perHead = (seen.last - begin + queries - 1) / queries;
    int all = int(args.groups) * perHead;
    block.phase([&](int warp) {
      Head head = {batch, 0};
      bringRows<HeadSize, keys>(
          block, warp, shared, keyTile,
          heads.rows(WEFT_RT_ATTENTION_K, head, first, false, false));
      bringRows<HeadSize, keys>(
          block, warp, shared, valueTile,
          heads.rows(WEFT_RT_ATTENTION_V, head, first, false, true));
      if (all > 0)
        bringQueries(warp, 0);
      clear(states[warp].dk);
      clear(states[warp].dv);
      block.waitForCopies(warp);
    });
    for (int i = 0; i < all; ++i)
      block.phase([&](int warp) {
        if (i + 1 < all)
          bringQueries(warp, i + 1);
        addQueries(warp, i);
        block.waitForCopies(warp);
      });
    block.phase([&](int warp) {
      int row = first + warp * rows;
      heads.storeSums(states[warp].dk, WEFT_RT_ATTENTION_DK, {batch, 0}, row,
                      false, false, args.scale);
      heads.storeSums(states[warp].dv, WEFT_RT_ATTENTION_DV, {batch, 0}, row,
                      false, true, 1);
    });
  }

private:
  int queryOf(int i) const { return begin + i % perHead * queries; }
  static uint32_t stageOf(int i) { return stages + i % 2 * stageBytes; }

  void bringQueries(int warp, int i) {
    Head head = {batch, i / perHead};
    int query = queryOf(i);
    uint32_t stage = stageOf(i);
    bringRows<HeadSize, queries>(
        block, warp, shared, stage,
        heads.rows(WEFT_RT_ATTENTION_Q, head, query, true, false));
    bringRows<HeadSize, queries>(
        block, warp, shared, stage + gradientTile,
        heads.rows(WEFT_RT_ATTENTION_DOUT, head, query, true, true));
    const float *sums = heads.sumsOf(head) + query;
    bringFloats<queries>(block, warp, shared, stage + sumsPlace, sums);
    bringFloats<queries>(block, warp, shared, stage + deltasPlace,
                         sums + heads.toDeltas());
  }

  void addQueries(int warp, int i) {
    int row = first + warp * rows, query = queryOf(i);
    if (!window.isSeen(query, queries, row, rows))
      return;
    State &state = states[warp];
    uint32_t stage = stageOf(i), mine = warp * rows * pitch<HeadSize>;
    TileSums weights[M][N], products[M][N];
    clear(weights);
    multiplyHeads<Format, HeadSize>(shared, weights,
                                    placesOfRows<HeadSize>(keyTile + mine),
                                    placesOfColumns<HeadSize>(stage));
    weigh(weights, stage, query, row);
    TileParts parts[M][N / 2];
    pack<Format>(parts, weights);
    multiplyRows<Format, HeadSize>(
        shared, state.dv, parts, placesOfRows<HeadSize>(stage + gradientTile));
    clear(products);
    multiplyHeads<Format, HeadSize>(
        shared, products, placesOfRows<HeadSize>(valueTile + mine),
        placesOfColumns<HeadSize>(stage + gradientTile));
    subtract(products, weights, stage);
    pack<Format>(parts, products);
    multiplyRows<Format, HeadSize>(shared, state.dk, parts,
                                   placesOfRows<HeadSize>(stage));
  }

  /// Products of keys and queries become weights.
  void weigh(TileSums (&weights)[M][N], uint32_t stage, int query, int key) {
    bool isWhole = window.isWhole(query, queries, key, rows);
    float scale = args.scale * log2OfE;
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int n = 0; n < N; ++n) {
        int column = n * 8 + columnInTile(lane, 0);
        float sums[2];
        shared.loadPair(stage + sumsPlace + 4 * column, sums[0], sums[1]);
        WEFT_UNROLL
        for (int m = 0; m < M; ++m) {
          WEFT_UNROLL
          for (int i = 0; i < 4; ++i) {
            float &weight = weights[m][n][i][lane];
            weight = powerOfTwo(fused(weight, scale, -sums[i % 2]));
            if (!isWhole && !window.sees(query + column + i % 2,
                                         key + m * 16 + rowInTile(lane, i)))
              weight = 0;
          }
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
        shared.loadPair(stage + deltasPlace +
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

  static constexpr uint32_t keyTile = 0, valueTile = keys * pitch<HeadSize>,
                            stages = 2 * valueTile,
                            gradientTile = queries * pitch<HeadSize>,
                            sumsPlace = 2 * gradientTile,
                            deltasPlace = sumsPlace + 4 * queries,
                            stageBytes = deltasPlace + 4 * queries;
  static_assert(stages + 2 * stageBytes == keysBytes<HeadSize>);

  const AttentionArgs &args;
  const TensorHeads heads;
  const Window window;
  TensorBlock &block;
  const Shared shared;
  PerWarp<State, tensorWarps> states;
  int64_t batch = 0;
  int first = 0;              // key
  int begin = 0, perHead = 0; // the first query, and tiles of a head
};

// ---- dq --------------------------------------------------------------------

template <typename Format, int HeadSize> class TensorQueryGradient {
  using Tiles = TensorTiles<HeadSize>;
  static constexpr int queries = Tiles::gradientQueries,
                       keys = Tiles::gradientKeys, rows = queries / tensorWarps,
                       M = rows / 16, N = keys / 8;

  struct State {
    TileSums dq[M][HeadSize / 8];
    Lanes<float> sums[M][2], deltas[M][2];
  };

public:
  TensorQueryGradient(const AttentionArgs &args, TensorBlock &block,
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
          heads.rows(WEFT_RT_ATTENTION_Q, head, first, true, false));
      bringRows<HeadSize, queries>(
          block, warp, shared, gradientTile,
          heads.rows(WEFT_RT_ATTENTION_DOUT, head, first, true, true));
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
  }

  int rowOf(int warp) const { return first + warp * rows; }
  static uint32_t placeOfStage(int stage) {
    return stages + uint32_t(stage) * 2 * valueTile;
  }

  void bringKeys(int warp, int key, int stage) {
    bringRows<HeadSize, keys>(
        block, warp, shared, placeOfStage(stage),
        heads.rows(WEFT_RT_ATTENTION_K, head, key, false, false));
    bringRows<HeadSize, keys>(
        block, warp, shared, placeOfStage(stage) + valueTile,
        heads.rows(WEFT_RT_ATTENTION_V, head, key, false, true));
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
    int row = rowOf(warp);
    if (!window.isSeen(row, rows, key, keys))
      return;
    State &state = states[warp];
    uint32_t mine = warp * rows * pitch<HeadSize>,
             keyTile = placeOfStage(stage);
    TileSums scores[M][N], products[M][N];
    clear(scores);
    multiplyHeads<Format, HeadSize>(shared, scores,
                                    placesOfRows<HeadSize>(queryTile + mine),
                                    placesOfColumns<HeadSize>(keyTile));
    clear(products);
    multiplyHeads<Format, HeadSize>(
        shared, products, placesOfRows<HeadSize>(gradientTile + mine),
        placesOfColumns<HeadSize>(keyTile + valueTile));
    combine(state, products, scores, row, key);
    TileParts parts[M][N / 2];
    pack<Format>(parts, products);
    multiplyRows<Format, HeadSize>(shared, state.dq, parts,
                                   placesOfRows<HeadSize>(keyTile));
  }

  /// Gradients of weights become those of scores.
  void combine(const State &state, TileSums (&products)[M][N],
               const TileSums (&scores)[M][N], int row, int key) {
    bool isWhole = window.isWhole(row, rows, key, keys);
    float scale = args.scale * log2OfE;
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        WEFT_UNROLL
        for (int n = 0; n < N; ++n) {
          WEFT_UNROLL
          for (int i = 0; i < 4; ++i) {
            float weight = powerOfTwo(fused(scores[m][n][i][lane], scale,
                                            -state.sums[m][i / 2][lane]));
            if (!isWhole && !window.sees(row + m * 16 + rowInTile(lane, i),
                                         key + n * 8 + columnInTile(lane, i)))
              weight = 0;
            float &product = products[m][n][i][lane];
            product = weight * (product - state.deltas[m][i / 2][lane]);
          }
        }
      }
    });
  }

  static constexpr uint32_t queryTile = 0,
                            gradientTile = queries * pitch<HeadSize>,
                            stages = 2 * gradientTile,
                            valueTile = keys * pitch<HeadSize>; // of a stage
  static_assert(stages + 4 * valueTile == queriesBytes<HeadSize>);

  const AttentionArgs &args;
  const TensorHeads heads;
  const Window window;
  TensorBlock &block;
  const Shared shared;
  PerWarp<State, tensorWarps> states;
  Head head{};
  int first = 0; // query
};

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_TENSOR_ATTENTION_GRADIENT_H
