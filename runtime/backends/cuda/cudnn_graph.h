// SPDX-License-Identifier: Apache-2.0

// Graphs of cuDNN's operations on tensors of four dims: built op by op, made a
// plan once, and run on buffers. Between ops, tensors are f32 unless said, and
// never in memory; ops compute in f32.

#ifndef WEFT_RT_CUDA_CUDNN_GRAPH_H
#define WEFT_RT_CUDA_CUDNN_GRAPH_H

#include "backends/cuda/libraries.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace weft::rt::cuda {

using DnnDims = std::array<int64_t, 4>;

/// A descriptor of any kind, of which this is the owner.
class DnnDescriptor {
public:
  DnnDescriptor() = default;
  DnnDescriptor(DnnDescriptor &&other) noexcept { *this = std::move(other); }
  DnnDescriptor &operator=(DnnDescriptor &&other) noexcept {
    std::swap(api, other.api);
    std::swap(opaque, other.opaque);
    return *this;
  }
  ~DnnDescriptor() {
    if (opaque)
      api->cudnnBackendDestroyDescriptor(opaque);
  }

  static Result<DnnDescriptor> make(const CudnnApi &api, int kind);

  Status set(int name, int type, int64_t count, const void *values);
  Status set(int name, int type, int value) {
    return set(name, type, 1, &value);
  }
  Status set(int name, const DnnDescriptor &value) {
    return set(name, dnn::typeDescriptor, 1, &value.opaque);
  }
  Status set(int name, CudnnContext *handle) {
    return set(name, dnn::typeHandle, 1, &handle);
  }
  Status finalize();

  CudnnOpaque *get() const { return opaque; }

private:
  const CudnnApi *api = nullptr;
  CudnnOpaque *opaque = nullptr;
};

/// What runs a graph. It keeps all that the graph is described by, as the
/// library's plan may still read it.
class DnnPlan {
public:
  DnnPlan(const CudnnApi &api, CudnnContext *handle,
          std::vector<DnnDescriptor> parts, DnnDescriptor plan,
          std::vector<int64_t> ids, int64_t workspaceBytes)
      : workspaceBytes(workspaceBytes), api(api), handle(handle),
        parts(std::move(parts)), plan(std::move(plan)), ids(std::move(ids)) {}

  /// Enqueues it on the handle's stream. Buffers are those of the graph's
  /// tensors in memory and by value, in the order in which it got them.
  Status run(const std::vector<void *> &buffers, void *workspace) const;

  const int64_t workspaceBytes;

private:
  const CudnnApi &api;
  CudnnContext *handle;
  std::vector<DnnDescriptor> parts;
  DnnDescriptor plan;
  std::vector<int64_t> ids;
};

/// Builds a graph. The first failure is kept, and the plan's.
class DnnGraph {
public:
  using Value = int;

  DnnGraph(const CudnnApi &api, CudnnContext *handle)
      : api(api), handle(handle) {}

  /// A tensor in the device's memory, strides in elements; and a number of f32
  /// in the host's.
  Value inMemory(int type, const DnnDims &sizes, const DnnDims &strides);
  Value byValue();

  /// Of the last two dims; where B has fewer matrices along a dim, each is that
  /// of several of A, side by side.
  Value matmul(Value a, Value b, const DnnDims &sizes);
  void matmulTo(Value a, Value b, Value result);
  /// The result has the first operand's sizes.
  Value pointwise(int mode, const std::vector<Value> &operands,
                  int type = dnn::f32);
  void pointwiseTo(int mode, const std::vector<Value> &operands, Value result);
  /// Each element's index along a dim.
  Value indexOf(Value like, int64_t dim);
  /// Over the last dim.
  Value reduce(int operation, Value a);

  /// By the library's first engine that takes the graph, which is the plan's
  /// then. The handle has to live as long.
  Result<std::unique_ptr<DnnPlan>> plan();

private:
  enum class TensorKind { InMemory, ByValue, Between };
  struct Tensor {
    size_t part; // its descriptor
    DnnDims sizes;
    int type;
  };
  /// An attribute that is not a descriptor.
  struct Number {
    int name, type;
    int64_t value;
  };

  Value add(int type, const DnnDims &sizes, const DnnDims &strides,
            TensorKind kind);
  Value between(int type, const DnnDims &sizes);
  Status describe(const Tensor &tensor, const DnnDims &strides,
                  TensorKind kind);
  void addPointwise(const std::vector<Number> &mode,
                    const std::vector<Value> &operands, Value result);
  void addOperation(int kind, int modeName, int modeKind,
                    const std::vector<Number> &mode,
                    const std::vector<std::pair<int, Value>> &values);
  Status makeOperation(int kind, int modeName, int modeKind,
                       const std::vector<Number> &mode,
                       const std::vector<std::pair<int, Value>> &values);
  Result<DnnDescriptor> finish();
  Result<std::vector<DnnDescriptor>> engines(const DnnDescriptor &graph);
  Result<DnnDescriptor> planOf(const DnnDescriptor &config);
  Result<std::unique_ptr<DnnPlan>> planWith(DnnDescriptor plan);

  const CudnnApi &api;
  CudnnContext *handle;
  std::vector<Tensor> tensors; // [value]
  std::vector<int64_t> ids;    // of tensors that have buffers
  std::vector<CudnnOpaque *> operations;
  std::vector<DnnDescriptor> parts;
  Status failure;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_CUDNN_GRAPH_H
