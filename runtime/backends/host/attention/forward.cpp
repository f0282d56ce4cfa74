// SPDX-License-Identifier: Apache-2.0

// Outputs of a block of queries of one head at a time.

#include "passes.h"
#include "scores.h"

#include "contract/attention_formulas.h"

#include <algorithm>
#include <limits>

namespace weft::rt::detail {
namespace {

/// The outputs of up to kMostQueries queries.
class OutputBlock {
public:
  OutputBlock(const Context &context, BlockSpace &space)
      : context(context), problem(context.problem), space(space),
        block(context, space), width(wholeLanes(problem.value.size)) {}

  void compute(const Problem::Heads &heads, QueryRange queries);

private:
  void addKeys();
  void softmaxRow(int64_t row);
  void finish(const Problem::Heads &heads, QueryRange queries);
  float *output(int64_t row) { return space.sums + row * width; }

  const Context &context;
  const Problem &problem;
  BlockSpace &space;
  ScoreBlock block;
  const int64_t width;
  float max[kMostQueries], sum[kMostQueries];
};

void OutputBlock::compute(const Problem::Heads &heads, QueryRange queries) {
  std::fill_n(space.sums, queries.count * width, 0.0f);
  std::fill_n(max, queries.count, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, queries.count, 0.0f);
  for (int64_t key = 0; key < problem.key.size; key += kAttentionForwardKeys)
    if (block.moveTo(
            heads, queries,
            {key, std::min(problem.key.size, key + kAttentionForwardKeys)}))
      addKeys();
  finish(heads, queries);
}

void OutputBlock::addKeys() {
  const int64_t queries = block.queries().count;
  block.multiplyKeys();
  for (int64_t row = 0; row < queries; ++row)
    softmaxRow(row);
  multiply({queries, problem.value.size, block.columns()}, block.p(),
           block.keys(WEFT_RT_ATTENTION_V), space.sums, width, Into::Sum,
           context.leaves);
}

void OutputBlock::softmaxRow(int64_t row) {
  SoftmaxArgs args;
  args.scores = block.scores(row);
  args.narrow = block.narrowP(row);
  args.range = block.range(row);
  args.scale = block.finishScores(row, args.range, /*wantsGains=*/false);
  args.retained = block.retained(row, args.range);
  args.max = max[row];
  args.sum = sum[row];
  context.rows.softmax(args);
  max[row] = args.max;
  sum[row] = args.sum;
  if (args.correction != 1)
    context.rows.scale(output(row), width, args.correction);
}

void OutputBlock::finish(const Problem::Heads &heads, QueryRange queries) {
  for (int64_t row = 0; row < queries.count; ++row) {
    const int64_t query = queries.first + row;
    const bool seesKeys = sum[row] != 0;
    if (seesKeys)
      context.rows.divide(output(row), width, sum[row]);
    else
      std::fill_n(output(row), width, 0.0f);
    context.rows.store(problem.desc.type, output(row), problem.value.size,
                       problem.element(heads, WEFT_RT_ATTENTION_OUT,
                                       query * problem.query.stride_out),
                       problem.value.stride_out);
    float lse = seesKeys ? max[row] + logarithm(sum[row]) : max[row];
    *reinterpret_cast<float *>(problem.element(
        heads, WEFT_RT_ATTENTION_LSE, query * problem.query.stride_lse)) = lse;
  }
}

/// More queries at once pack keys less often; fewer leave more keys out, of
/// which each sees only some.
int64_t queriesAtOnce(const Problem &problem, const ParallelFor &parallelFor) {
  const bool isBounded = problem.desc.left >= 0 || problem.desc.right >= 0;
  const KeyRange seen = problem.seenBy(problem.query.size / 2);
  const bool seesMany = seen.last - seen.first >= (isBounded ? 2048 : 512);
  const int64_t pieces =
      problem.batches * problem.groups *
      ((problem.query.size + kMostQueries - 1) / kMostQueries);
  const int threads = parallelFor.run ? parallelFor.numThreads : 1;
  const bool hasPlace =
      problem.value.size * kMostQueries <= kAttentionQueries * kMostHead;
  return seesMany && hasPlace && (threads == 1 || pieces >= 8 * threads)
             ? kMostQueries
             : kAttentionQueries;
}

} // namespace

void computeForward(const Problem &problem, const ParallelFor &parallelFor) {
  const Context context(problem);
  const int64_t atOnce = queriesAtOnce(problem, parallelFor);
  const int64_t blocks = (problem.query.size + atOnce - 1) / atOnce;
  forPieces(
      problem, parallelFor, problem.batches * problem.groups * blocks,
      [&](int64_t piece) {
        // Later queries may see more keys: they come first.
        int64_t first = (blocks - 1 - piece % blocks) * atOnce;
        int64_t head = piece / blocks;
        OutputBlock(context, threadBlockSpace())
            .compute(
                problem.heads(head / problem.groups, head % problem.groups),
                {first, std::min(atOnce, problem.query.size - first)});
      });
}

} // namespace weft::rt::detail
