// SPDX-License-Identifier: Apache-2.0

// Attention by cuDNN, where that is found when the backend runs and takes the
// call. Not its gradient: cuDNN sums queries' gradients in the order in which
// blocks come, so that the same call has other bits each time, or keeps the
// matrix of scores.

#ifndef WEFT_RT_CUDA_CUDNN_ATTENTION_H
#define WEFT_RT_CUDA_CUDNN_ATTENTION_H

#include "backends/cuda/cudnn_graph.h"
#include "weft-rt/abi.h"

#include <map>
#include <optional>

namespace weft::rt::cuda {

/// A call as cuDNN says it: dims are batch, heads, positions and a head's
/// elements, heads that share keys side by side; strides in elements.
struct DnnAttentionShape {
  DnnDims q, k, v, out, lse; // sizes
  DnnDims qStrides, kStrides, vStrides, outStrides, lseStrides;
  bool isCausal; // query i sees the keys 0 to i; else all
};

/// The shape, or nothing where cuDNN cannot say it. There is no reason against
/// the call on tensor cores (tensorCoresReason).
std::optional<DnnAttentionShape> dnnShapeOf(const weft_rt_attention &desc,
                                            int64_t queryStart);

/// The attention of one stream. Of one thread at a time; the device's context
/// is its current one. It has a handle of its own: to tell a handle of another
/// stream, while the first one is captured, breaks the capture or the process.
class DnnAttention {
public:
  explicit DnnAttention(CUstream_st *stream) : stream(stream) {}
  ~DnnAttention();

  /// The plan for a call, made the first time; null: cuDNN is not there, or has
  /// none.
  const DnnPlan *planFor(const weft_rt_attention &desc, void *const *buffers,
                         int64_t queryStart);

  /// Enqueues it. The workspace has the plan's bytes.
  Status run(const DnnPlan &plan, const weft_rt_attention &desc,
             void *const *buffers, void *workspace);

private:
  struct Key {
    const weft_rt_attention *desc;
    bool isAtStart; // of the keys
    bool operator<(const Key &other) const {
      return desc != other.desc ? desc < other.desc
                                : isAtStart < other.isAtStart;
    }
  };
  bool start();

  CUstream_st *stream;
  const CudnnApi *api = nullptr;
  CudnnContext *handle = nullptr;
  bool isStarted = false;
  std::map<Key, std::unique_ptr<DnnPlan>> plans; // may be null
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_CUDNN_ATTENTION_H
