// SPDX-License-Identifier: Apache-2.0

// The gradient in two passes over scores, which are computed again in each: dq,
// whose rows are queries, and dk and dv, whose rows are keys, a block for one
// of the two. Each sum is a thread's, in the declared order: no atomics.

#ifndef WEFT_RT_CUDA_ATTENTION_GRADIENT_H
#define WEFT_RT_CUDA_ATTENTION_GRADIENT_H

#include "backends/cuda/attention_block.h"

namespace weft::rt::cuda {
namespace {

struct GradientSpace {
  StepSpace operands;
  ScoreRows<attentionColumns> scores, products; // of scores: P or dS, then
};

/// P of a score, and dS, which is P's gradient times the gain.
struct Weight {
  float p, ds;
};

inline Weight weightOf(const AttentionArgs &args, const AttentionRow &row,
                       const Score &score, float product) {
  if (row.offset == kNone)
    return {0, 0};
  float p = exponential<ScalarTraits>(
                fused(score.value, pendingScale(args), -row.offset)) *
            row.weight;
  return {p, p * (product - row.delta) * score.gain};
}

/// What both passes do: P or dS of 32 rows of one sequence and up to 128 of the
/// other one.
template <typename State> class GradientBlock {
public:
  using Chains = decltype(State::chains);

  GradientBlock(const AttentionArgs &args, Block &block, GradientSpace &space)
      : args(args), heads(args), block(block), space(space) {}

protected:
  /// Of a head: of values, or of the depth.
  int64_t elements(bool isValues) const {
    return isValues ? args.values : args.depth;
  }

  /// Scores and, for dS, products of two sequences from these places on.
  void multiplyBoth(PerThread<State> &states, Head head, bool rowsAreQueries,
                    int64_t row, int64_t numRows, int64_t column,
                    int64_t numColumns, bool wantsProducts) {
    for (int which = 0; which <= int(wantsProducts); ++which) {
      int queries = which ? WEFT_RT_ATTENTION_DOUT : WEFT_RT_ATTENTION_Q,
          keys = which ? WEFT_RT_ATTENTION_V : WEFT_RT_ATTENTION_K;
      auto of = [&](bool isQueries) {
        return heads.alongHead(isQueries ? queries : keys, head,
                               isQueries == rowsAreQueries ? row : column,
                               isQueries);
      };
      multiply(block, states, space.operands, of(rowsAreQueries), numRows,
               of(!rowsAreQueries), numColumns, elements(which));
      block.phase([&](int thread) {
        putSums(thread, states[thread].sums,
                which ? space.products.at : space.scores.at);
      });
    }
  }

  /// P and dS of a query and a key that are there.
  Weight weight(const ScoreSources &sources, Head head, int64_t query,
                int64_t key, float score, float product) const {
    Range seen = heads.seenBy(query);
    if (key < seen.first || key >= seen.last)
      return {0, 0};
    const AttentionRow &row =
        args.rows[(head.batch * args.groups + head.group) * args.queries +
                  query];
    float retained = retainedOf(args, sources, query, key);
    Weight weight =
        weightOf(args, row, scoreOf(args, sources, query, key, score),
                 product * retained);
    return {weight.p * retained, weight.ds};
  }

  /// Stores sums of rows from `row` on, of elements from `element` on.
  void storeSums(int thread, const Sums &sums, int tensor, Head head,
                 bool isQueries, int64_t row, int64_t numRows, int64_t element,
                 int64_t numElements) {
    const AttentionTensor &to = args.tensors[tensor];
    int64_t begin = heads.offset(tensor, head),
            step = isQueries ? to.query : to.key;
    forSums<each, each>([&](int i, int j) {
      int64_t at = row + rowOf(thread) + i,
              column = element + columnOf(thread, j);
      if (at < row + numRows && column < numElements)
        storeElement(to.type, to.data, begin + at * step + column * to.element,
                     sums[i][j]);
    });
  }

  /// Adds to `added` the products of columns [begin, end) of the scores and
  /// what the source has for them.
  void addColumns(PerThread<State> &states, const Source &source, int64_t begin,
                  int64_t end, int64_t width) {
    for (int64_t at = begin; at < end; at += stepLength) {
      int count = int(end - at < stepLength ? end - at : stepLength);
      block.phase([&](int thread) {
        bring<Chains>(thread, source, at, count, width, space.operands.columns);
      });
      block.phase([&](int thread) {
        addStep(thread, &space.scores.at[at], space.operands, count,
                states[thread].added);
      });
    }
  }

  const AttentionArgs &args;
  const Heads heads;
  Block &block;
  GradientSpace &space;
};

// ---- dq --------------------------------------------------------------------

template <typename ChainsType> struct QueryState {
  ChainsType chains, added;
  Sums sums, dq;
};

template <typename ChainsType>
class QueryGradient : public GradientBlock<QueryState<ChainsType>> {
  using State = QueryState<ChainsType>;
  using Base = GradientBlock<State>;
  using Base::args, Base::heads, Base::block, Base::space;

public:
  using Base::Base;

  /// dq of 32 queries of a head, of elements [element, element + 128).
  void compute(int64_t number, int64_t element) {
    moveTo(number);
    block.phase([&](int thread) {
      State &state = states[thread];
      forSums<each, each>([&](int i, int j) { state.dq[i][j] = 0; });
      state.added.clear();
    });
    Range all = heads.seenBy(first, rows);
    for (int64_t keys = 0; keys < args.keys; keys += attentionKeys) {
      Range seen = all.within({keys, keys + attentionKeys});
      if (!seen.isEmpty())
        addKeys(keys, seen, element);
    }
    block.phase([&](int thread) {
      this->storeSums(thread, states[thread].dq, WEFT_RT_ATTENTION_DQ, head,
                      true, first, rows, element, args.depth);
    });
  }

private:
  void moveTo(int64_t number) {
    int64_t tiles = (args.queries + attentionRows - 1) / attentionRows;
    first = (tiles - 1 - number % tiles) * attentionRows;
    int64_t place = number / tiles, left = args.queries - first;
    head = {place / args.groups, place % args.groups};
    rows = left < attentionRows ? left : attentionRows;
  }

  void addKeys(int64_t keys, Range seen, int64_t element) {
    // Steps of products stay where they are.
    int64_t begin = keys + (seen.first - keys) / stepLength * stepLength;
    for (int64_t key = begin; key < seen.last; key += attentionColumns) {
      int64_t left = seen.last - key,
              columns = left < attentionColumns ? left : attentionColumns;
      this->multiplyBoth(states, head, true, first, rows, key, columns, true);
      block.phase([&](int thread) { putScores(thread, key, columns); });
      this->addColumns(
          states,
          heads.alongSequence(WEFT_RT_ATTENTION_K, head, key, element, false),
          0, columns, args.depth - element);
    }
    block.phase([&](int thread) {
      State &state = states[thread];
      forSums<each, each>([&](int i, int j) {
        state.dq[i][j] = state.dq[i][j] + state.added.sums[i][j];
      });
      state.added.clear();
    });
  }

  void putScores(int thread, int64_t key, int64_t columns) {
    ScoreSources sources(heads, head);
    forScores(thread, false, [&](int row, int column) {
      float &score = space.scores.at[column][row];
      Weight weight = {0, 0};
      if (row < rows && column < columns)
        weight = this->weight(sources, head, first + row, key + column, score,
                              space.products.at[column][row]);
      score = asOperand<ChainsType>(weight.ds);
    });
  }

  PerThread<State> states;
  Head head{};
  int64_t first = 0, rows = 0; // queries
};

// ---- dk and dv -------------------------------------------------------------

template <typename ChainsType> struct KeyState {
  ChainsType chains, added;
  Sums sums, leaf;
};

/// Apart from what is in registers, as it is not.
struct KeyTrees {
  WaitingSubtrees<float, attentionLevels> waiting[each][each];
};

/// A run of queries of one group, of whole blocks of leaves.
struct QueryRun {
  int64_t group, first, count;
};

template <typename ChainsType>
class KeyGradient : public GradientBlock<KeyState<ChainsType>> {
  using State = KeyState<ChainsType>;
  using Base = GradientBlock<State>;
  using Base::args, Base::heads, Base::block, Base::space;

public:
  KeyGradient(const AttentionArgs &args, Block &block, GradientSpace &space,
              PerThread<KeyTrees> &trees)
      : Base(args, block, space), trees(trees) {}

  /// dk or dv of 32 keys of a batch, of elements [element, element + 128).
  void compute(int64_t number, int64_t element, bool isValues) {
    int64_t tiles = (args.keys + attentionRows - 1) / attentionRows;
    first = number % tiles * attentionRows;
    batch = number / tiles;
    int64_t left = args.keys - first, all = args.groups * args.queries;
    rows = left < attentionRows ? left : attentionRows;
    leafLength = args.leaves ? all / args.leaves : all;
    block.phase([&](int thread) {
      State &state = states[thread];
      forSums<each, each>([&](int i, int j) { state.leaf[i][j] = 0; });
      state.added.clear();
    });
    for (int64_t row = 0; row < all;) {
      QueryRun run = runAt(row);
      addRun(run, row, element, isValues);
      row += run.count;
    }
    block.phase([&](int thread) {
      this->storeSums(thread, states[thread].leaf,
                      isValues ? WEFT_RT_ATTENTION_DV : WEFT_RT_ATTENTION_DK,
                      {batch, 0}, false, first, rows, element,
                      this->elements(isValues));
    });
  }

private:
  /// Queries from a row on that have one product: to the end of the leaf or of
  /// the group, or 128.
  int64_t blockAt(int64_t row) const {
    int64_t toLeaf = leafLength - row % leafLength,
            toGroup = args.queries - row % args.queries;
    int64_t length = toLeaf < toGroup ? toLeaf : toGroup;
    return length < attentionQueries ? length : attentionQueries;
  }

  /// As many whole blocks as there are columns.
  QueryRun runAt(int64_t row) const {
    QueryRun run = {row / args.queries, row % args.queries, blockAt(row)};
    while (run.first + run.count < args.queries) {
      int64_t next = blockAt(row + run.count);
      if (run.count + next > attentionColumns)
        break;
      run.count += next;
    }
    return run;
  }

  void addRun(QueryRun run, int64_t row, int64_t element, bool isValues) {
    Head head = {batch, run.group};
    bool isSeen = !heads.seenBy(run.first, run.count)
                       .within({first, first + rows})
                       .isEmpty();
    if (isSeen) {
      this->multiplyBoth(states, head, false, first, rows, run.first, run.count,
                         !isValues);
      block.phase([&](int thread) { putScores(thread, head, run, isValues); });
    }
    Source source = heads.alongSequence(isValues ? WEFT_RT_ATTENTION_DOUT
                                                 : WEFT_RT_ATTENTION_Q,
                                        head, run.first, element, true);
    for (int64_t at = 0; at < run.count;) {
      int64_t length = blockAt(row + at), end = at + length;
      if (isSeen)
        this->addColumns(states, source, at, end,
                         this->elements(isValues) - element);
      block.phase([&](int thread) {
        endBlock(row + end, states[thread], trees[thread]);
      });
      at = end;
    }
  }

  void putScores(int thread, Head head, QueryRun run, bool isValues) {
    ScoreSources sources(heads, head);
    forScores(thread, true, [&](int row, int column) {
      float &score = space.scores.at[column][row];
      Weight weight = {0, 0};
      if (row < rows && column < run.count)
        weight = this->weight(sources, head, run.first + column, first + row,
                              score, space.products.at[column][row]);
      score = asOperand<ChainsType>(isValues ? weight.p : weight.ds);
    });
  }

  /// After the block that ends before a row.
  void endBlock(int64_t row, State &state, KeyTrees &trees) {
    bool endsLeaf = row % leafLength == 0;
    int64_t leaf = row / leafLength - 1;
    bool isLast = row == args.groups * args.queries;
    forSums<each, each>([&](int i, int j) {
      float sum = state.leaf[i][j] + state.added.sums[i][j];
      if (endsLeaf)
        trees.waiting[i][j].join(sum, leaf, isLast,
                                 [](float x, float y) { return x + y; });
      state.leaf[i][j] = endsLeaf && !isLast ? 0 : sum;
    });
    state.added.clear();
  }

  PerThread<KeyTrees> &trees;
  PerThread<State> states;
  int64_t batch = 0, first = 0, rows = 0; // keys
  int64_t leafLength = 0;                 // rows of groups and queries
};

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_ATTENTION_GRADIENT_H
