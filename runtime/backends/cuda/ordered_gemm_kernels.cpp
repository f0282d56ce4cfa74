// SPDX-License-Identifier: Apache-2.0

// Contractions in a declared order, with the bits of the host. A block computes
// a square of C; its threads have M x M sums each, in registers. Steps of K go
// through shared memory; the next step's elements are on their way to registers
// while this one is multiplied. A block walks the whole of K, so that nothing
// of the order depends on sizes of blocks.
//
// scripts/make-cuda-kernels.py compiles this file as it does kernels.cpp.

#include "backends/cuda/block.h"
#include "backends/cuda/chains.h"
#include "backends/cuda/element.h"
#include "backends/cuda/ordered_gemm_args.h"

using namespace weft::rt;
using namespace weft::rt::cuda;

namespace {

using Strides = int64_t[FlatDims::most];

int64_t offsetOf(const FlatDims &dims, const Strides &strides, int64_t index) {
  int64_t offset = 0;
  for (int dim = dims.num - 1; dim > 0; --dim) {
    offset += index % dims.sizes[dim] * strides[dim];
    index /= dims.sizes[dim];
  }
  return dims.num ? offset + index * strides[0] : 0;
}

/// Where a step of K lies: within one chain of one leaf.
struct Step {
  int64_t leaf, begin; // in the leaf
  int count;

  static Step at(int64_t leaf, int64_t begin, int64_t length) {
    int64_t left = length - begin;
    return {leaf, begin, int(left < stepLength ? left : stepLength)};
  }
  Step next(int64_t length) const {
    bool isLast = begin + count == length;
    return isLast ? at(leaf + 1, 0, length) : at(leaf, begin + count, length);
  }
};

// Up to wideLeaves leaves, and any number of them.
constexpr int wideLevels = 4, anyLevels = 31, wide = wideTile / 16,
              narrow = narrowTile / 16;
static_assert(wideLeaves == 1 << wideLevels);

/// Sixteen threads by sixteen, with M x M sums each.
template <typename Chains, int Levels> class Square {
public:
  Square(const OrderedGemmArgs &args, Block &block)
      : args(args), block(block), length(args.depth.count / args.leaves) {}

  void compute() {
    locate();
    WEFT_SHARED(Space, space);
    PerThread<State> states;
    PerThread<Trees> trees;
    Step step{}, next = Step::at(0, 0, length);
    if (length == 0)
      next.leaf = args.leaves;
    block.phase([&](int thread) { start(thread, space, states[thread]); });
    // Each round brings a step and multiplies the one before.
    for (bool isFirst = true; isFirst || step.leaf < args.leaves;
         isFirst = false) {
      block.phase([&](int thread) {
        if (!isFirst)
          put(thread, space, states[thread]);
        locateStep(thread, space, next);
      });
      block.phase([&](int thread) {
        if (next.leaf < args.leaves)
          fetch(thread, space, next, states[thread]);
        if (!isFirst)
          multiply(thread, space, step, states[thread], trees[thread]);
      });
      step = next;
      next = next.leaf < args.leaves ? next.next(length) : next;
    }
    block.phase([&](int thread) { store(thread, space, states[thread]); });
  }

private:
  using Value = typename Chains::Value;
  static constexpr int each = Chains::rows, side = 16 * each;
  static constexpr int share = side * stepLength / blockThreads;
  static_assert(Chains::columns == each);

  /// Of A and of B: elements [k][row or column], and offsets of rows or columns
  /// there and in C, and of elements of a step. Rows of elements start at
  /// multiples of 16 bytes, and at different banks.
  struct Space {
    alignas(16) Value elements[2][stepLength][side + 16 / sizeof(Value)];
    int64_t offsets[2][side], offsetsC[2][side];
    int64_t stepOffsets[2][stepLength];
  };

  struct State {
    Chains chains;
    Value leaf[each][each]; // of chains that are whole
    Value fetched[2][share];
  };

  /// Apart from what is in registers, as many of them are not.
  struct Trees {
    WaitingSubtrees<Value, Levels> waiting[each][each];
  };

  /// Which square this is.
  void locate() {
    int64_t across = (args.columns.count + side - 1) / side,
            down = (args.rows.count + side - 1) / side;
    int64_t place = block.index();
    first[1] = place % across * side;
    first[0] = place / across % down * side;
    int64_t batch = place / across / down;
    const FlatDims &dims = args.batch;
    base[0] = offsetOf(dims, dims.stridesA, batch);
    base[1] = offsetOf(dims, dims.stridesB, batch);
    baseC = offsetOf(dims, dims.stridesC, batch);
  }

  void start(int thread, Space &space, State &state) {
    if (thread < side)
      startOne<0>(args.rows, args.rows.stridesA, thread, space);
    else if (thread < 2 * side)
      startOne<1>(args.columns, args.columns.stridesB, thread - side, space);
    state.chains.clear();
    forSums<each, each>([&](int i, int j) { state.leaf[i][j] = 0; });
  }

  template <int operand>
  void startOne(const FlatDims &dims, const Strides &strides, int at,
                Space &space) {
    int64_t index = first[operand] + at;
    if (index >= dims.count)
      return;
    space.offsets[operand][at] = base[operand] + offsetOf(dims, strides, index);
    space.offsetsC[operand][at] = offsetOf(dims, dims.stridesC, index);
  }

  /// The i-th element of a step that a thread brings. Eight threads side by
  /// side along K read 32 bytes, and write to different banks.
  static void place(int thread, int i, bool isDepthDense, int &k, int &at) {
    if (isDepthDense) {
      k = thread % 8 + i % 4 * 8;
      at = thread / 8 + i / 4 * 32;
    } else {
      at = thread % side;
      k = thread / side + i * (blockThreads / side);
    }
  }

  void locateStep(int thread, Space &space, const Step &step) {
    int k = thread % stepLength;
    int64_t index = step.leaf * length + step.begin + k;
    if (thread < stepLength)
      space.stepOffsets[0][k] =
          offsetOf(args.depth, args.depth.stridesA, index);
    else if (thread < 2 * stepLength)
      space.stepOffsets[1][k] =
          offsetOf(args.depth, args.depth.stridesB, index);
  }

  void fetch(int thread, const Space &space, const Step &step, State &state) {
    fetchOne<0>(args.a, args.typeA, args.isDepthDenseA, args.rows.count,
                step.count, thread, space, state);
    fetchOne<1>(args.b, args.typeB, args.isDepthDenseB, args.columns.count,
                step.count, thread, space, state);
  }

  template <int operand>
  void fetchOne(const void *data, int32_t type, bool isDepthDense, int64_t end,
                int count, int thread, const Space &space, State &state) {
    WEFT_UNROLL
    for (int i = 0; i < share; ++i) {
      int k, at;
      place(thread, i, isDepthDense, k, at);
      Value value = 0;
      if (k < count && first[operand] + at < end)
        value = loadElement<Value>(type, data,
                                   space.offsets[operand][at] +
                                       space.stepOffsets[operand][k]);
      state.fetched[operand][i] = value;
    }
  }

  void put(int thread, Space &space, const State &state) {
    WEFT_UNROLL
    for (int operand = 0; operand < 2; ++operand) {
      bool isDepthDense = operand ? args.isDepthDenseB : args.isDepthDenseA;
      WEFT_UNROLL
      for (int i = 0; i < share; ++i) {
        int k, at;
        place(thread, i, isDepthDense, k, at);
        space.elements[operand][k][at] =
            Chains::operand(state.fetched[operand][i]);
      }
    }
  }

  void multiply(int thread, const Space &space, const Step &step, State &state,
                Trees &trees) {
    int row = thread / 16 * each, column = thread % 16 * each;
    auto a = [&](int k, Value(&x)[each]) {
      loadVector(&space.elements[0][k][row], x);
    };
    auto b = [&](int k, Value(&y)[each]) {
      loadVector(&space.elements[1][k][column], y);
    };
    // Steps of pairs are whole: what is not there is 0.
    if (Chains::isPadded || step.count == stepLength)
      state.chains.add(stepLength, a, b);
    else
      state.chains.add(step.count, a, b);
    int64_t end = step.begin + step.count;
    if (end % chainLength == 0 || end == length)
      endChain(step, end, state, trees);
  }

  void endChain(const Step &step, int64_t end, State &state, Trees &trees) {
    bool isFirst = end <= chainLength, endsLeaf = end == length;
    auto join = [&](Value x, Value y) { return roundNode(x + y); };
    forSums<each, each>([&](int i, int j) {
      Value chain = state.chains.sums[i][j],
            leaf = isFirst ? chain : state.leaf[i][j] + chain;
      if (endsLeaf) {
        leaf = roundNode(leaf);
        trees.waiting[i][j].join(leaf, step.leaf, step.leaf + 1 == args.leaves,
                                 join);
      }
      state.leaf[i][j] = leaf;
    });
    state.chains.clear();
  }

  /// Where nodes are rounded to f16, the kernels for wide squares are not used.
  Value roundNode(Value value) const {
    if (!args.rounded)
      return value;
    return roundedTo(each == wide ? int32_t(WEFT_RT_BF16) : args.typeC, value);
  }

  void store(int thread, const Space &space, const State &state) {
    int row = thread / 16 * each, column = thread % 16 * each;
    forSums<each, each>([&](int i, int j) {
      if (first[0] + row + i >= args.rows.count ||
          first[1] + column + j >= args.columns.count)
        return;
      int64_t at =
          baseC + space.offsetsC[0][row + i] + space.offsetsC[1][column + j];
      Value sum = state.leaf[i][j];
      if (args.accumulate)
        sum = loadElement<Value>(args.typeC, args.c, at) + sum;
      storeElement(args.typeC, args.c, at, sum);
    });
  }

  const OrderedGemmArgs &args;
  Block &block;
  const int64_t length; // of a leaf
  int64_t first[2] = {}, base[2] = {}, baseC = 0;
};

template <typename Chains, int Levels>
void contract(const OrderedGemmArgs &args, Block &block) {
  Square<Chains, Levels>(args, block).compute();
}

} // namespace

#define WEFT_GEMM_KERNEL(name, ...)                                            \
  WEFT_BLOCK_KERNEL(name, OrderedGemmArgs, (contract<__VA_ARGS__>))

WEFT_GEMM_KERNEL(weft_gemm_f32_wide, WideChains<float, wide, wide>, wideLevels)
WEFT_GEMM_KERNEL(weft_gemm_f32_narrow, WideChains<float, narrow, narrow>,
                 anyLevels)
WEFT_GEMM_KERNEL(weft_gemm_bf16_wide, PairChains<wide, wide>, wideLevels)
WEFT_GEMM_KERNEL(weft_gemm_bf16_narrow, PairChains<narrow, narrow>, anyLevels)
WEFT_GEMM_KERNEL(weft_gemm_f64_narrow, WideChains<double, narrow, narrow>,
                 anyLevels)
