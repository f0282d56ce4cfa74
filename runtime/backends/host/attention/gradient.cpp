// SPDX-License-Identifier: Apache-2.0

// One pass over blocks of keys gives dk, dv and dq with five products per
// block, for one batch at a time; where there are too few batches for the
// threads, or no place for sums of dq, dq is a pass of its own, and a block
// costs seven.

#include "key_pass.h"
#include "passes.h"

#include <algorithm>

namespace weft::rt::detail {
namespace {

/// dq of up to kAttentionQueries queries of one head.
void computeQueries(const Context &context, BlockSpace &space,
                    const Problem::Heads &heads, QueryRange queries) {
  const Problem &problem = context.problem;
  const int64_t width = wholeLanes(problem.depth.size);
  std::fill_n(space.sums, queries.count * width, 0.0f);
  GradientBlock block(context, space);
  for (int64_t key = 0; key < problem.key.size; key += kAttentionBackwardKeys)
    if (block.compute(
            heads, queries,
            {key, std::min(problem.key.size, key + kAttentionBackwardKeys)}))
      block.addToQueries({WEFT_RT_F32, space.sums, width, 1});
  for (int64_t row = 0; row < queries.count; ++row)
    context.rows.store(
        problem.desc.type_dq, space.sums + row * width, problem.depth.size,
        problem.element(heads, WEFT_RT_ATTENTION_DQ,
                        (queries.first + row) * problem.query.stride_dq),
        problem.depth.stride_dq);
}

class Gradient {
public:
  Gradient(const Problem &problem, const ParallelFor &parallelFor)
      : context(problem), problem(problem), plan(problem),
        parallelFor(parallelFor) {}

  void compute() {
    if (takesOnePass()) {
      forPieces(problem, parallelFor, problem.batches,
                [&](int64_t batch) { computeBatch(batch); });
      return;
    }
    computeKeyPass();
    computeQueryPass();
  }

private:
  bool takesOnePass() const;
  void computeBatch(int64_t batch) const;
  void computeKeyPass() const;
  void computeQueryPass() const;

  KeyRange keysFrom(int64_t first) const {
    return {first, std::min(problem.key.size, first + plan.keys)};
  }

  const Context context;
  const Problem &problem;
  const KeyPlan plan;
  const ParallelFor &parallelFor;
};

/// Threads that wait for others cost more than two products if more than two
/// sevenths of the time is spent so.
bool Gradient::takesOnePass() const {
  if (plan.keys < kAttentionBackwardKeys || !QuerySums::fit(problem))
    return false;
  const int64_t threads = parallelFor.run ? parallelFor.numThreads : 1;
  const int64_t rounds = (problem.batches + threads - 1) / threads;
  return 5 * double(rounds) * double(threads) <= 7 * double(problem.batches);
}

void Gradient::computeBatch(int64_t batch) const {
  BlockSpace &space = threadBlockSpace();
  QuerySums querySums(context, space, batch);
  querySums.clear();
  KeyPass pass(context, plan, space, batch);
  for (int64_t key = 0; key < problem.key.size; key += plan.keys)
    pass.compute(keysFrom(key), &querySums);
  querySums.finish();
}

void Gradient::computeKeyPass() const {
  const int64_t blocks = (problem.key.size + plan.keys - 1) / plan.keys;
  forPieces(problem, parallelFor, problem.batches * blocks, [&](int64_t piece) {
    KeyPass(context, plan, threadBlockSpace(), piece / blocks)
        .compute(keysFrom(piece % blocks * plan.keys), nullptr);
  });
}

void Gradient::computeQueryPass() const {
  const int64_t blocks =
      (problem.query.size + kAttentionQueries - 1) / kAttentionQueries;
  forPieces(
      problem, parallelFor, problem.batches * problem.groups * blocks,
      [&](int64_t piece) {
        // Later queries may see more keys: they come first.
        int64_t first = (blocks - 1 - piece % blocks) * kAttentionQueries;
        int64_t head = piece / blocks;
        computeQueries(
            context, threadBlockSpace(),
            problem.heads(head / problem.groups, head % problem.groups),
            {first, std::min(kAttentionQueries, problem.query.size - first)});
      });
}

} // namespace

void computeGradient(const Problem &problem, const ParallelFor &parallelFor) {
  Gradient(problem, parallelFor).compute();
}

} // namespace weft::rt::detail
