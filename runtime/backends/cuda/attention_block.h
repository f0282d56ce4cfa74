// SPDX-License-Identifier: Apache-2.0

// What the kernels of attention have in common: a block has 32 rows, of queries
// or of keys, and 128 columns, of the other sequence or of elements of heads.
// Thread t has the 4 x 4 sums of rows t / 32 * 4 + i and columns t % 32 + 32 j.

#ifndef WEFT_RT_CUDA_ATTENTION_BLOCK_H
#define WEFT_RT_CUDA_ATTENTION_BLOCK_H

#include "backends/cuda/attention_args.h"
#include "backends/cuda/block.h"
#include "backends/cuda/chains.h"
#include "backends/cuda/element.h"
#include "contract/attention_formulas.h"

namespace weft::rt::cuda {
namespace {

constexpr int each = 4; // sums of a thread in each direction
using Sums = float[each][each];

/// The traits of one float for the formulas of attention.
struct ScalarTraits {
  using V = float;
  static V set(float x) { return x; }
  static V add(V x, V y) { return x + y; }
  static V sub(V x, V y) { return x - y; }
  static V mul(V x, V y) { return x * y; }
  static V div(V x, V y) { return x / y; }
  static V fma(V x, V y, V z) { return fused(x, y, z); }
  static V selectLess(V x, V y, V a, V b) { return x < y ? a : b; }
  static V selectNan(V x, V y) { return x != x ? x : y; }
  static V scaleByTwoTo(V x, V y) {
    return bitsAs<float>(bitsAs<uint32_t>(x) + (bitsAs<uint32_t>(y) << 23));
  }
  static V abs(V x) { return __builtin_fabsf(x); }
  static V copySign(V size, V sign) { return __builtin_copysignf(size, sign); }
};

/// A range of positions.
struct Range {
  int64_t first, last;

  bool isEmpty() const { return first >= last; }
  Range within(Range other) const {
    return {first > other.first ? first : other.first,
            last < other.last ? last : other.last};
  }
};

/// A matrix in memory whose elements become operands: element (k, at) lies at
/// k * strideK + at * strideAt.
struct Source {
  const void *data;
  int32_t type;
  int64_t offset, strideK, strideAt;
};

/// One index of batch and group dims.
struct Head {
  int64_t batch, group;
};

/// Descriptors' addresses.
class Heads {
public:
  explicit Heads(const AttentionArgs &args) : args(args) {}

  bool has(int tensor) const { return args.tensors[tensor].data; }

  /// Where a tensor's part for a head begins.
  int64_t offset(int tensor, Head head) const {
    int64_t offset = 0;
    for (int i = args.numDims - 1; i >= 0; --i) {
      const AttentionDim &dim = args.dims[i];
      if (dim.size == 0)
        continue; // of no group there are still keys
      int64_t &rest = dim.isGroup ? head.group : head.batch;
      offset += rest % dim.size * dim.strides[tensor];
      rest /= dim.size;
    }
    return offset;
  }

  /// Rows of a sequence from `first` on, as what is summed along a head
  /// (k: elements), or as what is summed along the sequence (k: rows).
  Source alongHead(int tensor, Head head, int64_t first, bool isQueries) const {
    const AttentionTensor &t = args.tensors[tensor];
    int64_t step = isQueries ? t.query : t.key;
    return {t.data, t.type, offset(tensor, head) + first * step, t.element,
            step};
  }
  Source alongSequence(int tensor, Head head, int64_t first, int64_t element,
                       bool isQueries) const {
    Source source = alongHead(tensor, head, first, isQueries);
    return {source.data, source.type, source.offset + element * source.strideK,
            source.strideAt, source.strideK};
  }

  /// Keys that a query sees, as far as positions say.
  Range seenBy(int64_t query) const {
    int64_t position = args.queryStart + query;
    Range near = {args.left < 0 ? 0 : position - args.left,
                  args.right < 0 ? args.keys : position + args.right + 1};
    return near.within({0, args.keys});
  }
  /// Keys that some of the queries see.
  Range seenBy(int64_t first, int64_t count) const {
    return {seenBy(first).first, seenBy(first + count - 1).last};
  }

private:
  const AttentionArgs &args;
};

/// A step of operands in shared memory: [k][row] and [k][column].
struct StepSpace {
  alignas(16) float rows[stepLength][attentionRows + 4];
  alignas(16) float columns[stepLength][attentionColumns + 1];
};

/// Numbers of scores for products with them as rows: [column][row].
template <int Columns> struct ScoreRows {
  alignas(16) float at[Columns][attentionRows + 4];
};

inline int rowOf(int thread) { return thread / 32 * each; }
inline int columnOf(int thread, int j) { return thread % 32 + 32 * j; }

/// Brings elements (k, at) of a step to shared memory; zeros where there are
/// none. Threads side by side read what lies side by side.
template <typename Chains, int Pitch>
void bring(int thread, const Source &from, int64_t begin, int count,
           int64_t width, float (&to)[stepLength][Pitch]) {
  constexpr int across =
      Pitch == attentionRows + 4 ? attentionRows : attentionColumns;
  bool isDense = from.strideK <= from.strideAt;
  WEFT_UNROLL_BY(4)
  for (int i = thread; i < stepLength * across; i += blockThreads) {
    int k = isDense ? i % stepLength : i / across;
    int at = isDense ? i / stepLength : i % across;
    float value = 0;
    if (k < count && at < width)
      value = loadElement<float>(from.type, from.data,
                                 from.offset + (begin + k) * from.strideK +
                                     at * from.strideAt);
    to[k][at] = Chains::operand(value);
  }
}

/// Adds the products of a step, whose rows lie [k][row] from `rows` on.
template <typename Chains>
void addStep(int thread, const float (*rows)[attentionRows + 4],
             const StepSpace &operands, int count, Chains &chains) {
  int row = rowOf(thread);
  chains.add(
      count, [&](int k, float (&x)[each]) { loadVector(&rows[k][row], x); },
      [&](int k, float (&y)[each]) {
        WEFT_UNROLL
        for (int j = 0; j < each; ++j)
          y[j] = operands.columns[k][columnOf(thread, j)];
      });
}

/// sums = products of rows and columns over n elements, by a state's chains.
template <typename State>
void multiply(Block &block, PerThread<State> &states, StepSpace &operands,
              const Source &rows, int64_t numRows, const Source &columns,
              int64_t numColumns, int64_t n) {
  using Chains = decltype(State::chains);
  block.phase([&](int thread) {
    forSums<each, each>([&](int i, int j) { states[thread].sums[i][j] = 0; });
    states[thread].chains.clear();
  });
  for (int64_t begin = 0; begin < n; begin += stepLength) {
    int count = int(n - begin < stepLength ? n - begin : stepLength);
    block.phase([&](int thread) {
      bring<Chains>(thread, rows, begin, count, numRows, operands.rows);
      bring<Chains>(thread, columns, begin, count, numColumns,
                    operands.columns);
    });
    block.phase([&](int thread) {
      State &state = states[thread];
      addStep(thread, operands.rows, operands, count, state.chains);
      int64_t end = begin + count;
      if (end % chainLength != 0 && end != n)
        return;
      forSums<each, each>([&](int i, int j) {
        float chain = state.chains.sums[i][j], &sum = state.sums[i][j];
        sum = end <= chainLength ? chain : sum + chain;
      });
      state.chains.clear();
    });
  }
}

/// Puts a thread's sums where scores are, from a column on.
inline void putSums(int thread, const Sums &sums,
                    float (*to)[attentionRows + 4]) {
  forSums<each, each>([&](int i, int j) {
    to[columnOf(thread, j)][rowOf(thread) + i] = sums[i][j];
  });
}

/// Calls body(row, column) for a thread's share of the scores; threads side by
/// side have keys side by side. Not unrolled: scores are long formulas.
template <typename Body>
void forScores(int thread, bool rowsAreKeys, Body body) {
  WEFT_UNROLL_BY(1)
  for (int i = thread; i < attentionRows * attentionColumns;
       i += blockThreads) {
    if (rowsAreKeys)
      body(i % attentionRows, i / attentionRows);
    else
      body(i / attentionColumns, i % attentionColumns);
  }
}

/// A product of a query and a key on its way to a score.
struct Score {
  float value, gain; // the gain: what dS is multiplied by
};

/// Where the numbers lie that scores of a head need.
struct ScoreSources {
  int64_t bias, mask, querySegments, keySegments, lowSeeds, highSeeds;

  ScoreSources(const Heads &heads, Head head)
      : bias(heads.offset(WEFT_RT_ATTENTION_BIAS, head)),
        mask(heads.offset(WEFT_RT_ATTENTION_MASK, head)),
        querySegments(heads.offset(WEFT_RT_ATTENTION_Q_SEGMENTS, head)),
        keySegments(heads.offset(WEFT_RT_ATTENTION_K_SEGMENTS, head)),
        lowSeeds(heads.offset(WEFT_RT_ATTENTION_LOW_SEEDS, head)),
        highSeeds(heads.offset(WEFT_RT_ATTENTION_HIGH_SEEDS, head)) {}
};

/// Of a key in the range that the query sees; otherwise the value is kNone.
inline Score scoreOf(const AttentionArgs &args, const ScoreSources &at,
                     int64_t query, int64_t key, float product) {
  if (args.isPlain)
    return {product, args.scale};
  Score score = {product * args.scale, args.scale};
  if (args.softcap != 0) {
    float t = tangent<ScalarTraits>(score.value / args.softcap);
    score.value = args.softcap * t;
    score.gain = score.gain * (1 - t * t);
  }
  auto place = [&](int tensor, int64_t offset) {
    const AttentionTensor &t = args.tensors[tensor];
    return offset + query * t.query + key * t.key;
  };
  const AttentionTensor &bias = args.tensors[WEFT_RT_ATTENTION_BIAS],
                        &mask = args.tensors[WEFT_RT_ATTENTION_MASK],
                        &ofQuery = args.tensors[WEFT_RT_ATTENTION_Q_SEGMENTS],
                        &ofKey = args.tensors[WEFT_RT_ATTENTION_K_SEGMENTS];
  if (bias.data)
    score.value = score.value +
                  loadElement<float>(bias.type, bias.data,
                                     place(WEFT_RT_ATTENTION_BIAS, at.bias));
  if (mask.data && !static_cast<const uint8_t *>(
                       mask.data)[place(WEFT_RT_ATTENTION_MASK, at.mask)])
    score = {args.fill, 0};
  if (ofQuery.data &&
      static_cast<const int32_t *>(ofQuery.data)[place(
          WEFT_RT_ATTENTION_Q_SEGMENTS, at.querySegments)] !=
          static_cast<const int32_t *>(
              ofKey.data)[place(WEFT_RT_ATTENTION_K_SEGMENTS, at.keySegments)])
    score.value = kNone;
  return score;
}

/// What the weight of a query and a key that are there is multiplied by.
inline float retainedOf(const AttentionArgs &args, const ScoreSources &at,
                        int64_t query, int64_t key) {
  if (args.dropLimit == 0)
    return 1;
  auto seed = [&](int tensor, int64_t offset) {
    const AttentionTensor &t = args.tensors[tensor];
    return static_cast<const uint32_t *>(t.data)[offset + query * t.query];
  };
  RandomWords<uint32_t> words = {
      uint32_t(key / kKeysAtOnce * (kKeysAtOnce / 2) + key % (kKeysAtOnce / 2)),
      0};
  threefry(seed(WEFT_RT_ATTENTION_LOW_SEEDS, at.lowSeeds),
           seed(WEFT_RT_ATTENTION_HIGH_SEEDS, at.highSeeds), words);
  uint32_t bits =
      key % kKeysAtOnce < kKeysAtOnce / 2 ? words.first : words.second;
  return bits >= args.dropLimit ? args.retainedGain : 0;
}

/// What scores are still to be multiplied by.
inline float pendingScale(const AttentionArgs &args) {
  return args.isPlain ? args.scale : 1;
}

/// P and dS as products read them: where operands are rounded to bf16, these
/// are, too.
template <typename Chains> float asOperand(float value) {
  if (!Chains::isPadded)
    return value;
  return Chains::operand(BFloat16::load(BFloat16::store(value)));
}

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_ATTENTION_BLOCK_H
