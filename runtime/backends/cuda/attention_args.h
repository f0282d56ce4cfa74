// SPDX-License-Identifier: Apache-2.0

// What the kernels of attention_kernels.cpp take, and how they cut the work.

#ifndef WEFT_RT_CUDA_ATTENTION_ARGS_H
#define WEFT_RT_CUDA_ATTENTION_ARGS_H

#include "weft-rt/abi.h"

namespace weft::rt::cuda {

/// A tensor's address, null if there is none, and its strides.
struct AttentionTensor {
  void *data;
  int64_t query, key, element; // of depth or values
  int32_t type;
};

/// A batch or group dim.
struct AttentionDim {
  int64_t size, strides[WEFT_RT_ATTENTION_NUM_BUFFERS];
  int32_t isGroup;
};

/// Dims beside those of queries, keys, depth and values.
constexpr int maxHeadDims = WEFT_RT_ATTENTION_MAX_DIMS - 4;

/// What the gradient needs of a query besides tensors: p = exp(s - offset) *
/// weight.
struct AttentionRow {
  float offset, weight, delta;
};

struct AttentionArgs {
  AttentionTensor tensors[WEFT_RT_ATTENTION_NUM_BUFFERS];
  AttentionDim dims[maxHeadDims]; // major first
  int32_t numDims, isBackward;
  int64_t batches, groups, queries, keys, depth, values;
  int64_t queryStart, left, right;
  int64_t leaves;
  float scale, softcap, fill;
  int32_t isPlain; // scores are products times a positive scale
  /// Keys with lower random bits are dropped, of those that are not the weights
  /// are multiplied by the gain. 0: none is.
  uint32_t dropLimit;
  float retainedGain;
  AttentionRow *rows; // [batches][groups][queries]: of the gradient
};

/// Rows of a block, which are queries or keys; columns that it has of the other
/// sequence at once; elements of a head that it computes.
constexpr int attentionRows = 32, attentionColumns = 128,
              attentionElements = 128;
/// Keys after which sums of the forward pass and of dq begin anew, and queries
/// after which those of dk and dv do; as in attention.h of the host.
constexpr int attentionKeys = 512, attentionQueries = 128;
/// Subtrees of leaves that a thread has room for, and how many leaves that is.
constexpr int attentionLevels = 8;
constexpr int64_t attentionLeaves = int64_t(1) << attentionLevels;

/// Dynamic shared memory of a block. Every GPU that weft knows has 99 KiB, of
/// which parameters have their part.
constexpr int attentionSharedBytes = 97 * 1024;

/// The kernels, in the order of their names in attention.cpp; the same again
/// for products of bf16 in a declared order.
enum class AttentionKernel { Forward, Queries, Keys };
constexpr int numAttentionKernels = 6;

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_ATTENTION_ARGS_H
