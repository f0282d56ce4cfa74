// SPDX-License-Identifier: Apache-2.0

// Sums of subtrees lie one after the other in the space. Those to which no
// query has added anything are not written, and cost nothing where they join.

#include "key_pass.h"

#include <algorithm>

namespace weft::rt::detail {

// ---- plan ------------------------------------------------------------------

KeyPlan::KeyPlan(const Problem &problem)
    : order(problem.groups, problem.query.size, problem.desc.leaves),
      depth(problem.depth.size), value(problem.value.size) {
  int64_t most =
      kKeySums / std::max<int64_t>(1, order.levels() * (depth + value));
  most = most / kLanes * kLanes;
  // Elements of a key do not fall on one set of the first-level cache.
  stride = std::min(most, kAttentionBackwardKeys + kLanes);
  keys = stride > kLanes ? stride - kLanes : stride;
}

static_assert(kKeySums / (32 * 2 * kMostHead) >= kLanes,
              "a tree over 2^31 leaves has 32 levels");

// ---- dq --------------------------------------------------------------------

QuerySums::QuerySums(const Context &context, BlockSpace &space, int64_t batch)
    : context(context), problem(context.problem), sums(space.querySums),
      batch(batch), width(wholeLanes(problem.depth.size)),
      inPlace(problem.desc.type_dq == WEFT_RT_F32) {}

bool QuerySums::fit(const Problem &problem) {
  double numbers = double(problem.groups) * double(problem.query.size) *
                   double(wholeLanes(problem.depth.size));
  return problem.desc.type_dq == WEFT_RT_F32 || numbers <= double(kQuerySums);
}

Matrix QuerySums::at(int64_t group, int64_t query) const {
  if (!inPlace)
    return {WEFT_RT_F32, sums + (group * problem.query.size + query) * width,
            width, 1};
  return {WEFT_RT_F32,
          problem.element(problem.heads(batch, group), WEFT_RT_ATTENTION_DQ,
                          query * problem.query.stride_dq),
          problem.query.stride_dq, problem.depth.stride_dq};
}

template <class Body> void QuerySums::forRows(Body body) {
  for (int64_t group = 0; group < problem.groups; ++group) {
    Problem::Heads heads = problem.heads(batch, group);
    for (int64_t query = 0; query < problem.query.size; ++query)
      body(group * problem.query.size + query,
           problem.element(heads, WEFT_RT_ATTENTION_DQ,
                           query * problem.query.stride_dq));
  }
}

void QuerySums::clear() {
  if (!inPlace) {
    std::fill_n(sums, problem.groups * problem.query.size * width, 0.0f);
    return;
  }
  forRows([&](int64_t, char *dq) {
    auto *row = reinterpret_cast<float *>(dq);
    for (int64_t i = 0; i < problem.depth.size; ++i)
      row[i * problem.depth.stride_dq] = 0;
  });
}

void QuerySums::finish() {
  if (inPlace)
    return;
  forRows([&](int64_t row, char *dq) {
    context.rows.store(problem.desc.type_dq, sums + row * width,
                       problem.depth.size, dq, problem.depth.stride_dq);
  });
}

// ---- dk and dv -------------------------------------------------------------

KeyPass::KeyPass(const Context &context, const KeyPlan &plan, BlockSpace &space,
                 int64_t batch)
    : context(context), problem(context.problem), plan(plan), space(space),
      block(context, space), batch(batch) {
  for (int64_t i = 0; i < plan.order.levels(); ++i)
    sums[i] = space.keySums + i * size();
}

void KeyPass::compute(KeyRange keys, const QuerySums *querySums) {
  depth = 0;
  block.prepareKeys(problem.heads(batch, 0), keys);
  for (int64_t i = 0; i < plan.order.subtrees(); ++i) {
    addSubtree(i, keys, querySums);
    int joins = plan.order.joins(i, depth);
    for (++depth; joins > 0; --joins, --depth)
      join(depth - 2, depth - 1);
  }
  finish(keys);
}

/// Its sums become level `depth`.
void KeyPass::addSubtree(int64_t subtree, KeyRange keys,
                         const QuerySums *querySums) {
  isEmpty[depth] = true;
  plan.order.walk(subtree, [&](LeafBlock leaf) {
    Problem::Heads heads = problem.heads(batch, leaf.group);
    if (!block.compute(heads, {leaf.firstQuery, leaf.queries}, keys))
      return;
    if (isEmpty[depth])
      std::fill_n(sums[depth], size(), 0.0f);
    isEmpty[depth] = false;
    block.addToKeys(sums[depth], valueSums(depth), plan.stride,
                    context.leaves ? plan.order.leavesAtOnce() : 0);
    if (querySums)
      block.addToQueries(querySums->at(leaf.group, leaf.firstQuery));
  });
}

void KeyPass::join(int into, int other) {
  if (isEmpty[other])
    return;
  if (isEmpty[into])
    std::swap(sums[into], sums[other]);
  else
    context.rows.add(sums[into], sums[other], size());
  isEmpty[into] = false;
}

void KeyPass::finish(KeyRange keys) {
  if (isEmpty[0])
    std::fill_n(sums[0], size(), 0.0f);
  store(WEFT_RT_ATTENTION_DK, keys, sums[0], plan.depth);
  store(WEFT_RT_ATTENTION_DV, keys, valueSums(0), plan.value);
}

void KeyPass::store(int tensor, KeyRange keys, const float *from,
                    int64_t count) {
  const Problem::Heads heads = problem.heads(batch, 0);
  const weft_rt_attention_dim &head =
      tensor == WEFT_RT_ATTENTION_DK ? problem.depth : problem.value;
  float *row = space.rows[0];
  for (int64_t key = keys.first; key < keys.last; ++key) {
    context.rows.load(WEFT_RT_F32, from + (key - keys.first), plan.stride,
                      count, row);
    context.rows.store(
        problem.typeOf(tensor), row, count,
        problem.element(heads, tensor,
                        key * problem.stride(tensor, problem.key)),
        problem.stride(tensor, head));
  }
}

} // namespace weft::rt::detail
