// SPDX-License-Identifier: Apache-2.0

// Contractions: by cuBLASLt, where it can say them and their order is open, and
// else by kernels of our own. A plan is made once for each descriptor; K is
// never split over blocks, so that bits do not depend on timing, and f32
// becomes TF32 only where the descriptor lets it.

#ifndef WEFT_RT_CUDA_GEMM_H
#define WEFT_RT_CUDA_GEMM_H

#include "backends/cuda/ordered_gemm.h"
#include "contract/gemm_reason.h"

#include <mutex>
#include <optional>

namespace weft::rt::cuda {

/// Memory in which cuBLASLt may keep what a contraction needs for a while; one
/// for each stream.
struct Workspace {
  void *data = nullptr;
  int64_t bytes = 0;
};
constexpr int64_t workspaceBytes = int64_t(32) << 20;

/// A contraction as cuBLASLt says it: C, in columns, is X times Y, where X is B
/// if C's rows are dense, and A if its columns are. What is not in it are
/// `loops` around it.
struct LtShape {
  struct Matrix {
    bool isTransposed = false;
    int64_t rows = 1, columns = 1, ld = 1, batchStride = 0;
  };
  struct Loop {
    int64_t size, strideA, strideB, strideC;
  };
  bool swapsOperands = false; // X is B
  Matrix x, y, c;
  int64_t batch = 1;
  std::vector<Loop> loops;
};

/// The shape, or nothing where cuBLASLt cannot say it.
std::optional<LtShape> ltShapeOf(const weft_rt_gemm &gemm);

/// The contractions of one device.
class Contractions {
public:
  explicit Contractions(Device &device);
  ~Contractions();

  /// Makes the plan for a descriptor and operands aligned like these.
  Status prepare(const weft_rt_gemm &gemm, const Operands &operands,
                 int64_t workspace);

  /// Enqueues it.
  Status run(const weft_rt_gemm &gemm, const Operands &operands,
             const Workspace &workspace, CUstream_st *stream);

private:
  struct Plan;
  struct Key {
    const weft_rt_gemm *gemm;
    uint64_t alignment; // the largest powers of two that divide addresses
    bool operator<(const Key &other) const {
      return gemm != other.gemm ? gemm < other.gemm
                                : alignment < other.alignment;
    }
  };

  Status startLibrary();
  Result<const Plan *> planFor(const weft_rt_gemm &gemm,
                               const Operands &operands, int64_t workspace);
  Status makePlan(const weft_rt_gemm &gemm, const Key &key, int64_t workspace,
                  Plan &plan);
  Status runByLibrary(const Plan &plan, const Operands &operands,
                      const Workspace &workspace, CUstream_st *stream);

  const Device &device;
  OrderedGemm ordered;
  const CublasLtApi *api = nullptr;
  LtContext *library = nullptr;
  std::mutex lock;
  std::map<Key, std::unique_ptr<Plan>> plans;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_GEMM_H
