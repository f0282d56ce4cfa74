// SPDX-License-Identifier: Apache-2.0

// What the backend knows of four libraries that it finds when it runs: the CUDA
// driver, NCCL, cuBLASLt and cuDNN. These are declarations of our own, of the
// few functions, structs and values that are used, so that weft is built
// without their headers; runtime/test/cuda/headers_test.cpp compares them with
// the real ones where those are at hand.

#ifndef WEFT_RT_CUDA_FOREIGN_API_H
#define WEFT_RT_CUDA_FOREIGN_API_H

#include <cstddef>
#include <cstdint>

// Handles, by the names that cuda.h and nccl.h give to what they point to.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct ncclComm;

namespace weft::rt::cuda {

// ---- the driver: cuda.h ----------------------------------------------------

using DevicePointer = unsigned long long;

namespace driver {
// CUresult
constexpr int success = 0, outOfMemory = 2, stubLibrary = 34, noDevice = 100,
              invalidImage = 200, noBinaryForGpu = 209, invalidPtx = 218,
              unsupportedPtxVersion = 222, notFound = 500, notReady = 600;
// CUdevice_attribute
constexpr int capabilityMajor = 75, capabilityMinor = 76;
// CUfunction_attribute
constexpr int maxDynamicSharedBytes = 8;
// Flags
constexpr unsigned streamNonBlocking = 1, eventDisableTiming = 2;
// CUstreamCaptureMode: calls of other threads are no matter
constexpr int captureThreadLocal = 1;
} // namespace driver

/// CUuuid.
struct DeviceUuid {
  char bytes[16];
};

struct DriverApi {
#define WEFT_CUDA_FUNCTION(name, ...) int (*name)(__VA_ARGS__);
#include "backends/cuda/driver_functions.def"
};

// ---- NCCL: nccl.h ----------------------------------------------------------

struct UniqueId {
  char internal[128];
};

/// ncclConfig_t of NCCL 2.28; an older library reads as much as it knows.
struct NcclConfig {
  size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char *netName;
  int splitShare, trafficClass;
  const char *commName;
  int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs, nChannelsPerNetPeer,
      nvlinkCentricSched;
};

namespace nccl {
// ncclResult_t
constexpr int success = 0, inProgress = 7;
// ncclConfig_t
constexpr unsigned configMagic = 0xcafebeef, configVersion = 22800;
constexpr int undefined = INT32_MIN;
// ncclDataType_t
constexpr int int8 = 0, uint8 = 1, int32 = 2, uint32 = 3, int64 = 4, uint64 = 5,
              float16 = 6, float32 = 7, float64 = 8, bfloat16 = 9;
// ncclRedOp_t
constexpr int sum = 0;
} // namespace nccl

struct NcclApi {
#define WEFT_NCCL_FUNCTION(name, ...) int (*name)(__VA_ARGS__);
#define WEFT_NCCL_OPTIONAL(name, ...) int (*name)(__VA_ARGS__);
#define WEFT_NCCL_TEXT(name, ...) const char *(*name)(__VA_ARGS__);
#include "backends/cuda/nccl_functions.def"
};

// ---- cuBLASLt: cublasLt.h --------------------------------------------------

struct LtContext;
struct LtOpaque; // a descriptor of any kind

struct LtAlgo {
  uint64_t data[8];
};

struct LtHeuristicResult {
  LtAlgo algo;
  size_t workspaceSize;
  int state;
  float wavesCount;
  int reserved[4];
};

namespace lt {
// cublasStatus_t
constexpr int success = 0, notSupported = 15;
// cublasComputeType_t; 32F is without TF32
constexpr int compute32F = 68, compute64F = 70, compute32FFastTF32 = 77;
// cudaDataType_t
constexpr int r32F = 0, r64F = 1, r16F = 2, r16BF = 14;
// cublasLtMatmulDescAttributes_t, cublasOperation_t
constexpr int descTransA = 3, descTransB = 4;
constexpr int32_t noTranspose = 0, transpose = 1;
// cublasLtMatrixLayoutAttribute_t
constexpr int layoutBatchCount = 5, layoutBatchStride = 6;
// cublasLtMatmulPreferenceAttributes_t
constexpr int maxWorkspaceBytes = 1, reductionSchemeMask = 3, alignmentA = 5,
              alignmentB = 6, alignmentC = 7, alignmentD = 8;
// cublasLtReductionScheme_t: no split of K
constexpr uint32_t reductionNone = 0;
} // namespace lt

struct CublasLtApi {
#define WEFT_CUBLASLT_FUNCTION(name, ...) int (*name)(__VA_ARGS__);
#include "backends/cuda/cublaslt_functions.def"
};

// ---- cuDNN: cudnn_graph.h --------------------------------------------------

struct CudnnContext;
struct CudnnOpaque; // a descriptor of any kind

namespace dnn {
// cudnnStatus_t
constexpr int success = 0;
// cudnnDataType_t
constexpr int f32 = 0, f16 = 2, i32 = 4, bf16 = 9, boolean = 11;
// cudnnPointwiseMode_t
constexpr int add = 0, mul = 1, div = 6, sub = 9, exp = 13, log = 15,
              greaterOrEqual = 303, index = 501, select = 601;
// cudnnReduceTensorOp_t
constexpr int reduceAdd = 0, reduceMax = 3;
// cudnnBackendHeurMode_t
constexpr int heuristicsA = 3;
// cudnnBackendAttributeType_t
constexpr int typeHandle = 0, typeData = 1, typeBoolean = 2, typeInt64 = 3,
              typePointer = 6, typeHeuristics = 8, typePointwise = 14,
              typeDescriptor = 15, typeReduction = 18;
// cudnnBackendDescriptorType_t
constexpr int pointwiseMode = 0, engineConfig = 3, engineHeuristics = 4,
              executionPlan = 5, pointwise = 13, operationGraph = 15,
              variantPack = 16, tensor = 17, matmulMode = 18, matmul = 19,
              reductionMode = 21, reduction = 22;
// cudnnBackendAttributeName_t
constexpr int pointwiseModeMode = 0, pointwiseModeType = 1,
              pointwiseModeAxis = 9, heuristicsMode = 200,
              heuristicsGraph = 201, heuristicsResults = 202, planHandle = 400,
              planConfig = 401, planWorkspaceBytes = 402, pointwiseOf = 750,
              pointwiseX = 751, pointwiseB = 752, pointwiseY = 753,
              pointwiseT = 758, graphHandle = 800, graphOperations = 801,
              tensorAlignment = 900, tensorType = 901, tensorSizes = 902,
              tensorStrides = 903, tensorId = 906, tensorIsVirtual = 907,
              tensorIsByValue = 908, packIds = 1000, packPointers = 1001,
              packWorkspace = 1003, matmulModeType = 1500, matmulA = 1520,
              matmulB = 1521, matmulC = 1522, matmulOf = 1523,
              reductionModeOperator = 1600, reductionModeType = 1601,
              reductionX = 1610, reductionY = 1611, reductionOf = 1612;
} // namespace dnn

struct CudnnApi {
#define WEFT_CUDNN_FUNCTION(name, ...) int (*name)(__VA_ARGS__);
#define WEFT_CUDNN_NUMBER(name) size_t (*name)();
#include "backends/cuda/cudnn_functions.def"
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_FOREIGN_API_H
