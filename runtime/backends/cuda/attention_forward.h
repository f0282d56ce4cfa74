// SPDX-License-Identifier: Apache-2.0

// The forward pass of 32 queries of one head; or, for the gradient, what that
// needs of them: delta, and the maximum and the sum where lse has lost the
// logarithm.

#ifndef WEFT_RT_CUDA_ATTENTION_FORWARD_H
#define WEFT_RT_CUDA_ATTENTION_FORWARD_H

#include "backends/cuda/attention_block.h"

namespace weft::rt::cuda {
namespace {

/// Lanes of a sum over a row.
constexpr int lanes = 16;
/// Threads of a row: each has two lanes.
constexpr int rowThreads = blockThreads / attentionRows;
static_assert(2 * rowThreads == lanes);

/// Where lse has a size from which on the sum's logarithm is lost in it.
constexpr float largeLse = 256;

struct ForwardSpace {
  StepSpace operands;
  ScoreRows<attentionKeys> scores;
  float laneSums[lanes][attentionRows];
  float largest[rowThreads][attentionRows];
  float max[attentionRows], nextMax[attentionRows], sum[attentionRows],
      correction[attentionRows];
};

/// Joins the lanes of a row.
inline float sumOfLanes(const ForwardSpace &space, int row) {
  float values[lanes];
  WEFT_UNROLL
  for (int lane = 0; lane < lanes; ++lane)
    values[lane] = space.laneSums[lane][row];
  WEFT_UNROLL
  for (int half = lanes / 2; half > 0; half /= 2) {
    WEFT_UNROLL
    for (int lane = 0; lane < half; ++lane)
      values[lane] = values[lane] + values[lane + half];
  }
  return values[0];
}

template <typename Chains> class ForwardBlock {
public:
  struct State {
    Chains chains;
    Sums sums, out;
  };

  ForwardBlock(const AttentionArgs &args, Block &block, ForwardSpace &space)
      : args(args), heads(args), block(block), space(space) {}

  /// Forward: out of values [element, element + 128), and lse. Backward: rows.
  void compute(int64_t element) {
    start();
    bool isNeeded = !args.isBackward;
    if (args.isBackward) {
      startRows();
      for (int row = 0; row < rows; ++row)
        isNeeded |= hasLargeLse(row);
    }
    if (isNeeded)
      addKeys(element);
    block.phase([&](int thread) {
      if (!args.isBackward)
        storeOut(thread, element);
      if (thread < rows)
        args.isBackward ? storeRow(thread) : storeLse(thread);
    });
  }

  /// To the 32 queries with this number, of all heads; heads that need much
  /// come first.
  void moveTo(int64_t number) {
    int64_t tiles = (args.queries + attentionRows - 1) / attentionRows;
    first = (tiles - 1 - number % tiles) * attentionRows;
    int64_t place = number / tiles;
    head = {place / args.groups, place % args.groups};
    int64_t left = args.queries - first;
    rows = int(left < attentionRows ? left : attentionRows);
  }

private:
  void start() {
    block.phase([&](int thread) {
      State &state = states[thread];
      forSums<each, each>([&](int i, int j) { state.out[i][j] = 0; });
      state.chains.clear();
      if (thread >= attentionRows)
        return;
      space.max[thread] = kNone;
      space.sum[thread] = 0;
    });
  }

  void startRows() {
    block.phase([&](int thread) { addDelta(thread); });
    block.phase([&](int thread) {
      if (thread < rows)
        rowOfGradient(thread).delta = sumOfLanes(space, thread);
    });
  }

  /// Blocks of keys, ascending: scores become P, and are multiplied by values.
  void addKeys(int64_t element) {
    Range all = heads.seenBy(first, rows);
    for (int64_t begin = 0; begin < args.keys; begin += attentionKeys) {
      Range seen = all.within({begin, begin + attentionKeys});
      if (seen.isEmpty())
        continue;
      keys = begin;
      // Steps of products stay where they are.
      columns = {(seen.first - begin) / stepLength * stepLength,
                 seen.last - begin};
      computeScores();
      computeWeights();
      if (!args.isBackward)
        addValues(element);
    }
  }

  void computeScores() {
    ScoreSources sources(heads, head);
    int64_t begin = columns.first / attentionColumns * attentionColumns;
    for (int64_t column = begin; column < columns.last;
         column += attentionColumns) {
      int64_t left = columns.last - column;
      multiply(block, states, space.operands,
               heads.alongHead(WEFT_RT_ATTENTION_Q, head, first, true), rows,
               heads.alongHead(WEFT_RT_ATTENTION_K, head, keys + column, false),
               left, args.depth);
      block.phase([&](int thread) {
        putSums(thread, states[thread].sums, &space.scores.at[column]);
      });
      block.phase([&](int thread) {
        forScores(thread, false, [&](int row, int at) {
          float &value = space.scores.at[column + at][row];
          value = score(sources, row, keys + column + at, value);
        });
      });
    }
  }

  float score(const ScoreSources &sources, int row, int64_t key,
              float product) const {
    Range seen = heads.seenBy(first + row);
    if (row >= rows || key < seen.first || key >= seen.last)
      return kNone;
    return scoreOf(args, sources, first + row, key, product).value;
  }

  void computeWeights() {
    block.phase([&](int thread) {
      int row = thread % attentionRows, part = thread / attentionRows;
      float largest = kNone;
      for (int64_t at = columns.first + part; at < columns.last;
           at += rowThreads) {
        float score = space.scores.at[at][row];
        largest = score > largest ? score : largest;
      }
      space.largest[part][row] = largest;
    });
    block.phase([&](int thread) {
      int row = thread % attentionRows, part = thread / attentionRows;
      addWeights(row, part);
      addWeights(row, part + rowThreads);
    });
    block.phase([&](int thread) {
      if (thread < attentionRows)
        joinRow(thread);
    });
  }

  /// P of one lane's columns, of which it has the sum.
  void addWeights(int row, int lane) {
    float scale = pendingScale(args), largest = space.largest[0][row];
    for (int part = 1; part < rowThreads; ++part) {
      float other = space.largest[part][row];
      largest = other > largest ? other : largest;
    }
    float max = largest * scale;
    max = max > space.max[row] ? max : space.max[row];
    float base = max == kNone ? 0 : max, sum = 0;
    ScoreSources sources(heads, head);
    for (int64_t at = columns.first + lane; at < columns.last; at += lanes) {
      float &score = space.scores.at[at][row];
      float p = exponential<ScalarTraits>(fused(score, scale, -base));
      sum = sum + p;
      if (row < rows && !args.isBackward)
        p = p * retainedOf(args, sources, first + row, keys + at);
      score = asOperand<Chains>(p);
    }
    space.laneSums[lane][row] = sum;
    if (lane == 0)
      space.nextMax[row] = max;
  }

  void joinRow(int row) {
    float max = space.nextMax[row], base = max == kNone ? 0 : max;
    float correction = exponential<ScalarTraits>(space.max[row] - base);
    space.correction[row] = correction;
    space.sum[row] = fused(space.sum[row], correction, sumOfLanes(space, row));
    space.max[row] = max;
  }

  void addValues(int64_t element) {
    Source values =
        heads.alongSequence(WEFT_RT_ATTENTION_V, head, keys, element, false);
    for (int64_t at = columns.first; at < columns.last; at += stepLength) {
      int64_t left = columns.last - at;
      int count = int(left < stepLength ? left : stepLength);
      block.phase([&](int thread) {
        bring<Chains>(thread, values, at, count, args.values - element,
                      space.operands.columns);
      });
      block.phase([&](int thread) {
        State &state = states[thread];
        addStep(thread, &space.scores.at[at], space.operands, count,
                state.chains);
        if (at + count == columns.last)
          endKeys(thread, state);
      });
    }
  }

  void endKeys(int thread, State &state) {
    forSums<each, each>([&](int i, int j) {
      float &out = state.out[i][j];
      out = out * space.correction[rowOf(thread) + i] + state.chains.sums[i][j];
    });
    state.chains.clear();
  }

  void storeOut(int thread, int64_t element) {
    const AttentionTensor &out = args.tensors[WEFT_RT_ATTENTION_OUT];
    int64_t begin = heads.offset(WEFT_RT_ATTENTION_OUT, head);
    forSums<each, each>([&](int i, int j) {
      int row = rowOf(thread) + i;
      int64_t at = element + columnOf(thread, j);
      if (row >= rows || at >= args.values)
        return;
      float sum = space.sum[row];
      float value = sum != 0 ? states[thread].out[i][j] / sum + 0.0f : 0.0f;
      storeElement(out.type, out.data,
                   begin + (first + row) * out.query + at * out.element, value);
    });
  }

  int64_t lsePlace(int row) const {
    return heads.offset(WEFT_RT_ATTENTION_LSE, head) +
           (first + row) * args.tensors[WEFT_RT_ATTENTION_LSE].query;
  }
  float &lse(int row) const {
    return static_cast<float *>(
        args.tensors[WEFT_RT_ATTENTION_LSE].data)[lsePlace(row)];
  }

  /// The same from each block of elements.
  void storeLse(int row) {
    float max = space.max[row], sum = space.sum[row];
    lse(row) = sum != 0 ? max + logarithm(sum) : max;
  }

  bool hasLargeLse(int row) const {
    float size = __builtin_fabsf(lse(row));
    return size > largeLse && size < __builtin_inff();
  }

  void addDelta(int thread) {
    int row = thread % attentionRows, lane = thread / attentionRows;
    addDeltaLane(row, lane);
    addDeltaLane(row, lane + rowThreads);
  }

  void addDeltaLane(int row, int lane) {
    float sum = 0;
    Source dout =
        heads.alongHead(WEFT_RT_ATTENTION_DOUT, head, first + row, true);
    Source out =
        heads.alongHead(WEFT_RT_ATTENTION_OUT, head, first + row, true);
    auto at = [](const Source &from, int64_t i) {
      return loadElement<float>(from.type, from.data,
                                from.offset + i * from.strideK);
    };
    if (row < rows)
      for (int64_t i = lane; i < args.values; i += lanes)
        sum = fused(at(dout, i), at(out, i), sum);
    space.laneSums[lane][row] = sum;
  }

  void storeRow(int row) {
    bool isLarge = hasLargeLse(row) && space.sum[row] != 0;
    AttentionRow &to = rowOfGradient(row);
    to.offset = isLarge ? space.max[row] : lse(row);
    to.weight = isLarge ? 1 / space.sum[row] : 1;
  }

  AttentionRow &rowOfGradient(int row) const {
    return args.rows[(head.batch * args.groups + head.group) * args.queries +
                     first + row];
  }

  const AttentionArgs &args;
  const Heads heads;
  Block &block;
  ForwardSpace &space;
  PerThread<State> states;
  Head head{};
  int64_t first = 0; // query
  int rows = 0;
  int64_t keys = 0; // the first of the block of keys
  Range columns{};  // of it
};

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_ATTENTION_FORWARD_H
