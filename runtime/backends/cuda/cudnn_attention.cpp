// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/cudnn_attention.h"

#include "backends/cuda/tensor_attention.h"

#include <algorithm>
#include <cmath>

namespace weft::rt::cuda {
namespace {

/// A dim that is not there, as it has one element.
weft_rt_attention_dim unitDim() {
  weft_rt_attention_dim dim = {};
  dim.size = 1;
  return dim;
}
const weft_rt_attention_dim unit = unitDim();

/// A call's dims by their roles; batches and groups of one element are left
/// out, and of the others there is one each.
struct Roles {
  const weft_rt_attention_dim *inner[WEFT_RT_ATTENTION_VALUE + 1] = {};
  std::vector<const weft_rt_attention_dim *> batches, groups;
};

Roles rolesOf(const weft_rt_attention &desc) {
  Roles roles;
  for (int i = 0; i < desc.num_dims; ++i) {
    const weft_rt_attention_dim &dim = desc.dims[i];
    bool isGroup = dim.role == WEFT_RT_ATTENTION_GROUP;
    if (!isGroup && dim.role != WEFT_RT_ATTENTION_BATCH)
      roles.inner[dim.role] = &dim;
    else if (dim.size > 1)
      (isGroup ? roles.groups : roles.batches).push_back(&dim);
  }
  return roles;
}

/// Whether a group's heads lie side by side in what queries have.
bool areSideBySide(const weft_rt_attention_dim &heads,
                   const weft_rt_attention_dim &group) {
  for (auto stride :
       {&weft_rt_attention_dim::stride_q, &weft_rt_attention_dim::stride_out,
        &weft_rt_attention_dim::stride_lse})
    if (heads.*stride != group.size * group.*stride)
      return false;
  return true;
}

/// Heads of keys, and batches, of at most two dims; false: cuDNN has no place
/// for them.
bool chooseHeads(const Roles &roles, const weft_rt_attention_dim *&batch,
                 const weft_rt_attention_dim *&heads) {
  batch = heads = &unit;
  if (roles.groups.size() > 1)
    return false;
  for (const weft_rt_attention_dim *dim : roles.batches) {
    bool mayBeHeads =
        roles.groups.empty() || areSideBySide(*dim, *roles.groups[0]);
    bool isInner = heads == &unit || dim->stride_lse < heads->stride_lse;
    if (mayBeHeads && isInner)
      std::swap(heads, dim);
    if (dim == &unit)
      continue;
    if (batch != &unit)
      return false;
    batch = dim;
  }
  return true;
}

/// Log-sum-exps lie as cuDNN has them, without gaps.
bool isDense(const DnnDims &sizes, const DnnDims &strides) {
  int64_t expected = 1;
  for (int dim = 3; dim >= 0; --dim) {
    if (sizes[dim] > 1 && strides[dim] != expected)
      return false;
    expected *= sizes[dim];
  }
  return true;
}

/// Gives dims of one element a stride that overlaps nothing. False: several
/// elements are at one address, which is not for cuDNN.
bool completeStrides(const DnnDims &sizes, DnnDims &strides) {
  int64_t extent = 1;
  for (int dim = 0; dim < 4; ++dim)
    if (sizes[dim] > 1)
      extent = std::max(extent, sizes[dim] * strides[dim]);
  for (int dim = 0; dim < 4; ++dim)
    if (sizes[dim] == 1)
      strides[dim] = extent;
    else if (strides[dim] == 0)
      return false;
  return true;
}

int dnnType(weft_rt_type type) {
  return type == WEFT_RT_BF16 ? dnn::bf16 : dnn::f16;
}

std::unique_ptr<DnnPlan> makePlan(const CudnnApi &api, CudnnContext *handle,
                                  weft_rt_type type,
                                  const DnnAttentionShape &shape) {
  DnnGraph graph(api, handle);
  int narrow = dnnType(type);
  auto q = graph.inMemory(narrow, shape.q, shape.qStrides),
       k = graph.inMemory(narrow, shape.k, shape.kStrides),
       v = graph.inMemory(narrow, shape.v, shape.vStrides),
       out = graph.inMemory(narrow, shape.out, shape.outStrides),
       lse = graph.inMemory(dnn::f32, shape.lse, shape.lseStrides),
       scale = graph.byValue();
  DnnDims scores = {shape.q[0], shape.q[1], shape.q[2], shape.k[3]};
  auto s = graph.pointwise(dnn::mul, {graph.matmul(q, k, scores), scale});
  if (shape.isCausal) {
    auto isSeen = graph.pointwise(dnn::greaterOrEqual,
                                  {graph.indexOf(s, 2), graph.indexOf(s, 3)},
                                  dnn::boolean);
    s = graph.pointwise(dnn::select, {s, graph.byValue(), isSeen});
  }
  auto largest = graph.reduce(dnn::reduceMax, s);
  auto weights =
      graph.pointwise(dnn::exp, {graph.pointwise(dnn::sub, {s, largest})});
  auto sum = graph.reduce(dnn::reduceAdd, weights);
  graph.pointwiseTo(dnn::add, {largest, graph.pointwise(dnn::log, {sum})}, lse);
  graph.matmulTo(graph.pointwise(dnn::div, {weights, sum}, narrow), v, out);
  Result<std::unique_ptr<DnnPlan>> made = graph.plan();
  return made.ok() ? std::move(*made) : nullptr;
}

} // namespace

std::optional<DnnAttentionShape> dnnShapeOf(const weft_rt_attention &desc,
                                            int64_t queryStart) {
  bool isCausal = desc.right == 0 && queryStart == 0;
  if (desc.backward || desc.left != -1 || (desc.right != -1 && !isCausal))
    return std::nullopt;
  Roles roles = rolesOf(desc);
  const weft_rt_attention_dim *batch, *heads;
  if (!chooseHeads(roles, batch, heads))
    return std::nullopt;
  const weft_rt_attention_dim *group =
      roles.groups.empty() ? heads : roles.groups[0];
  const weft_rt_attention_dim &query = *roles.inner[WEFT_RT_ATTENTION_QUERY],
                              &key = *roles.inner[WEFT_RT_ATTENTION_KEY];
  int64_t queryHeads = heads->size * (group == heads ? 1 : group->size),
          depth = roles.inner[WEFT_RT_ATTENTION_DEPTH]->size,
          values = roles.inner[WEFT_RT_ATTENTION_VALUE]->size;
  DnnAttentionShape shape;
  shape.isCausal = isCausal;
  shape.q = {batch->size, queryHeads, query.size, depth};
  shape.k = {batch->size, heads->size, depth, key.size};
  shape.v = {batch->size, heads->size, key.size, values};
  shape.out = {batch->size, queryHeads, query.size, values};
  shape.lse = {batch->size, queryHeads, query.size, 1};
  shape.qStrides = {batch->stride_q, group->stride_q, query.stride_q, 1};
  shape.kStrides = {batch->stride_k, heads->stride_k, 1, key.stride_k};
  shape.vStrides = {batch->stride_v, heads->stride_v, key.stride_v, 1};
  shape.outStrides = {batch->stride_out, group->stride_out, query.stride_out,
                      1};
  shape.lseStrides = {batch->stride_lse, group->stride_lse, query.stride_lse,
                      1};
  if (!isDense(shape.lse, shape.lseStrides) ||
      !completeStrides(shape.q, shape.qStrides) ||
      !completeStrides(shape.k, shape.kStrides) ||
      !completeStrides(shape.v, shape.vStrides) ||
      !completeStrides(shape.out, shape.outStrides) ||
      !completeStrides(shape.lse, shape.lseStrides))
    return std::nullopt;
  return shape;
}

DnnAttention::~DnnAttention() {
  plans.clear();
  if (handle)
    api->cudnnDestroy(handle);
}

/// Looks for the library once; false: it is not there, or does not start.
bool DnnAttention::start() {
  if (isStarted)
    return handle;
  isStarted = true;
  Result<const CudnnApi *> loaded = loadCudnn();
  if (!loaded.ok())
    return false;
  api = *loaded;
  if (api->cudnnCreate(&handle) != dnn::success)
    handle = nullptr;
  if (handle && api->cudnnSetStream(handle, stream) != dnn::success) {
    api->cudnnDestroy(handle);
    handle = nullptr;
  }
  return handle;
}

const DnnPlan *DnnAttention::planFor(const weft_rt_attention &desc,
                                     void *const *buffers, int64_t queryStart) {
  if (tensorCoresReason(desc, buffers))
    return nullptr;
  auto [at, isNew] = plans.try_emplace(Key{&desc, queryStart == 0});
  if (!isNew)
    return at->second.get();
  std::optional<DnnAttentionShape> shape = dnnShapeOf(desc, queryStart);
  if (shape && start())
    at->second = makePlan(*api, handle, desc.type, *shape);
  return at->second.get();
}

Status DnnAttention::run(const DnnPlan &plan, const weft_rt_attention &desc,
                         void *const *buffers, void *workspace) {
  // The number of what is not seen is after all others: some plans have none.
  float scale = desc.scale, unseen = -INFINITY;
  return plan.run({buffers[WEFT_RT_ATTENTION_Q], buffers[WEFT_RT_ATTENTION_K],
                   buffers[WEFT_RT_ATTENTION_V], buffers[WEFT_RT_ATTENTION_OUT],
                   buffers[WEFT_RT_ATTENTION_LSE], &scale, &unseen},
                  workspace);
}

} // namespace weft::rt::cuda
