// SPDX-License-Identifier: Apache-2.0

// Plans are kept by the address of the descriptor, which is constant data of
// the program, and by what the operands' addresses are multiples of.

#include "backends/cuda/gemm.h"

#include "core/types.h"

#include <algorithm>

namespace weft::rt::cuda {
namespace {

/// cudaDataType_t, or -1.
int dataTypeOf(weft_rt_type type) {
  switch (type) {
  case WEFT_RT_F16:
    return lt::r16F;
  case WEFT_RT_BF16:
    return lt::r16BF;
  case WEFT_RT_F32:
    return lt::r32F;
  case WEFT_RT_F64:
    return lt::r64F;
  default:
    return -1;
  }
}

/// cuBLASLt has one type for both operands, and of f32 no narrower result.
bool libraryHasTypes(const weft_rt_gemm &gemm) {
  bool narrows = gemm.type_a == WEFT_RT_F32 && gemm.type_c != WEFT_RT_F32;
  return gemm.type_a == gemm.type_b && !narrows;
}

/// Says whether C has no element.
bool isEmpty(const weft_rt_gemm &gemm) {
  return std::any_of(gemm.dims, gemm.dims + gemm.num_dims,
                     [](const weft_rt_gemm_dim &dim) {
                       return dim.size == 0 && dim.role != WEFT_RT_GEMM_K;
                     });
}

uint32_t alignmentOf(const void *address) {
  uintptr_t bits = reinterpret_cast<uintptr_t>(address) | 256;
  return uint32_t(bits & -bits);
}

} // namespace

// ---- cuBLASLt --------------------------------------------------------------

#define WEFT_LT_CALL(function, ...)                                            \
  do {                                                                         \
    if (int result_ = api->function(__VA_ARGS__))                              \
      return statusError(#function, result_);                                  \
  } while (false)

/// How one contraction is done.
struct Contractions::Plan {
  const CublasLtApi *api = nullptr;
  weft_rt_gemm gemm;
  LtShape shape;
  LtOpaque *operation = nullptr, *x = nullptr, *y = nullptr, *c = nullptr;
  LtAlgo algo = {};
  bool isByLibrary = false; // else by our own kernels

  Plan() = default;
  Plan(const Plan &) = delete;
  Plan &operator=(const Plan &) = delete;
  ~Plan() {
    for (LtOpaque *layout : {x, y, c})
      if (layout)
        api->cublasLtMatrixLayoutDestroy(layout);
    if (operation)
      api->cublasLtMatmulDescDestroy(operation);
  }

  Status describe();
  Status describeMatrix(LtOpaque *&layout, weft_rt_type type,
                        const LtShape::Matrix &matrix);
  Result<bool> choose(LtContext *library, uint64_t alignment, int64_t bytes);
};

Status Contractions::Plan::describeMatrix(LtOpaque *&layout, weft_rt_type type,
                                          const LtShape::Matrix &matrix) {
  WEFT_LT_CALL(cublasLtMatrixLayoutCreate, &layout, dataTypeOf(type),
               uint64_t(matrix.rows), uint64_t(matrix.columns), matrix.ld);
  auto count = int32_t(shape.batch);
  if (count == 1)
    return Status();
  WEFT_LT_CALL(cublasLtMatrixLayoutSetAttribute, layout, lt::layoutBatchCount,
               &count, sizeof(count));
  WEFT_LT_CALL(cublasLtMatrixLayoutSetAttribute, layout, lt::layoutBatchStride,
               &matrix.batchStride, sizeof(matrix.batchStride));
  return Status();
}

Status Contractions::Plan::describe() {
  bool isDouble = gemm.type_c == WEFT_RT_F64;
  bool isTF32 = gemm.tf32 && gemm.type_a == WEFT_RT_F32;
  WEFT_LT_CALL(cublasLtMatmulDescCreate, &operation,
               isDouble ? lt::compute64F
               : isTF32 ? lt::compute32FFastTF32
                        : lt::compute32F,
               isDouble ? lt::r64F : lt::r32F);
  int32_t ofX = shape.x.isTransposed ? lt::transpose : lt::noTranspose,
          ofY = shape.y.isTransposed ? lt::transpose : lt::noTranspose;
  WEFT_LT_CALL(cublasLtMatmulDescSetAttribute, operation, lt::descTransA, &ofX,
               sizeof(ofX));
  WEFT_LT_CALL(cublasLtMatmulDescSetAttribute, operation, lt::descTransB, &ofY,
               sizeof(ofY));
  bool swaps = shape.swapsOperands;
  WEFT_RT_RETURN_IF_ERROR(
      describeMatrix(x, swaps ? gemm.type_b : gemm.type_a, shape.x));
  WEFT_RT_RETURN_IF_ERROR(
      describeMatrix(y, swaps ? gemm.type_a : gemm.type_b, shape.y));
  return describeMatrix(c, gemm.type_c, shape.c);
}

/// The library's first choice, or false: it has none.
Result<bool> Contractions::Plan::choose(LtContext *library, uint64_t alignment,
                                        int64_t bytes) {
  LtOpaque *preference = nullptr;
  WEFT_LT_CALL(cublasLtMatmulPreferenceCreate, &preference);
  struct Destroy {
    const CublasLtApi *api;
    LtOpaque *preference;
    ~Destroy() { api->cublasLtMatmulPreferenceDestroy(preference); }
  } destroy{api, preference};
  auto set = [&](int attribute, const auto &value) {
    return api->cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                     &value, sizeof(value));
  };
  uint64_t most = uint64_t(bytes);
  auto ofA = uint32_t(alignment & 0x3ff),
       ofB = uint32_t(alignment >> 10 & 0x3ff),
       ofC = uint32_t(alignment >> 20 & 0x3ff);
  bool swaps = shape.swapsOperands;
  int result = set(lt::maxWorkspaceBytes, most);
  result = result ? result : set(lt::reductionSchemeMask, lt::reductionNone);
  result = result ? result : set(lt::alignmentA, swaps ? ofB : ofA);
  result = result ? result : set(lt::alignmentB, swaps ? ofA : ofB);
  result = result ? result : set(lt::alignmentC, ofC);
  result = result ? result : set(lt::alignmentD, ofC);
  if (result)
    return statusError("cublasLtMatmulPreferenceSetAttribute", result);
  LtHeuristicResult found = {};
  int count = 0;
  result = api->cublasLtMatmulAlgoGetHeuristic(library, operation, x, y, c, c,
                                               preference, 1, &found, &count);
  if (result && result != lt::notSupported)
    return statusError("cublasLtMatmulAlgoGetHeuristic", result);
  if (result || count == 0 || found.state != lt::success)
    return false;
  algo = found.algo;
  return true;
}

Contractions::Contractions(Device &device) : device(device), ordered(device) {}

Contractions::~Contractions() {
  CurrentContext current(device);
  plans.clear();
  if (library)
    api->cublasLtDestroy(library);
}

Status Contractions::startLibrary() {
  if (library)
    return Status();
  Result<const CublasLtApi *> loaded = loadCublasLt();
  if (!loaded.ok())
    return loaded.status();
  api = *loaded;
  WEFT_LT_CALL(cublasLtCreate, &library);
  return Status();
}

Status Contractions::makePlan(const weft_rt_gemm &gemm, const Key &key,
                              int64_t workspace, Plan &plan) {
  plan.gemm = gemm;
  // What the library may not be able to do, our own kernels have to.
  WEFT_RT_RETURN_IF_ERROR(ordered.start());
  std::optional<LtShape> shape = ltShapeOf(gemm);
  if (!shape || !libraryHasTypes(gemm) || gemm.leaves > 0)
    return Status();
  WEFT_RT_RETURN_IF_ERROR(startLibrary());
  plan.api = api;
  plan.shape = *shape;
  WEFT_RT_RETURN_IF_ERROR(plan.describe());
  Result<bool> isChosen = plan.choose(library, key.alignment, workspace);
  if (isChosen.ok())
    plan.isByLibrary = *isChosen;
  return isChosen.status();
}

Result<const Contractions::Plan *>
Contractions::planFor(const weft_rt_gemm &gemm, const Operands &operands,
                      int64_t workspace) {
  Key key = {&gemm, uint64_t(alignmentOf(operands.a)) |
                        uint64_t(alignmentOf(operands.b)) << 10 |
                        uint64_t(alignmentOf(operands.c)) << 20};
  std::lock_guard<std::mutex> guard(lock);
  std::unique_ptr<Plan> &plan = plans[key];
  if (!plan) {
    auto made = std::make_unique<Plan>();
    WEFT_RT_RETURN_IF_ERROR(makePlan(gemm, key, workspace, *made));
    plan = std::move(made);
  }
  return plan.get();
}

Status Contractions::prepare(const weft_rt_gemm &gemm, const Operands &operands,
                             int64_t workspace) {
  CurrentContext current(device);
  return planFor(gemm, operands, workspace).status();
}

Status Contractions::runByLibrary(const Plan &plan, const Operands &operands,
                                  const Workspace &workspace,
                                  CUstream_st *stream) {
  const LtShape &shape = plan.shape;
  const weft_rt_gemm &gemm = plan.gemm;
  float one = 1, beta = gemm.accumulate ? 1 : 0;
  double one64 = 1, beta64 = beta;
  bool isDouble = gemm.type_c == WEFT_RT_F64;
  int64_t calls = 1;
  for (const LtShape::Loop &loop : shape.loops)
    calls *= loop.size;
  for (int64_t call = 0; call < calls; ++call) {
    int64_t rest = call, atA = 0, atB = 0, atC = 0;
    for (const LtShape::Loop &loop : shape.loops) {
      int64_t index = rest % loop.size;
      rest /= loop.size;
      atA += index * loop.strideA;
      atB += index * loop.strideB;
      atC += index * loop.strideC;
    }
    auto *a =
        static_cast<const char *>(operands.a) + byteSize(gemm.type_a, atA);
    auto *b =
        static_cast<const char *>(operands.b) + byteSize(gemm.type_b, atB);
    auto *c = static_cast<char *>(operands.c) + byteSize(gemm.type_c, atC);
    if (shape.swapsOperands)
      std::swap(a, b);
    const void *alpha = &one, *scale = &beta;
    if (isDouble) {
      alpha = &one64;
      scale = &beta64;
    }
    WEFT_LT_CALL(cublasLtMatmul, library, plan.operation, alpha, a, plan.x, b,
                 plan.y, scale, c, plan.c, c, plan.c, &plan.algo,
                 workspace.data, size_t(workspace.bytes), stream);
  }
  return Status();
}

Status Contractions::run(const weft_rt_gemm &gemm, const Operands &operands,
                         const Workspace &workspace, CUstream_st *stream) {
  Result<const Plan *> plan = planFor(gemm, operands, workspace.bytes);
  if (!plan.ok())
    return plan.status();
  if (isEmpty(gemm))
    return Status();
  if ((*plan)->isByLibrary)
    return runByLibrary(**plan, operands, workspace, stream);
  return ordered.run(gemm, operands, stream);
}

} // namespace weft::rt::cuda
