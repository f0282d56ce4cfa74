// SPDX-License-Identifier: Apache-2.0

// Holds backends/cuda/foreign_api.h to the headers of CUDA, NCCL and cuDNN:
// each value, each struct's size, and each function's parameters, as far as a
// call can tell them apart. Most of it is checked by compiling this file.

#include "backends/cuda/foreign_api.h"

#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>
#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>
#define HAS_CUDNN 1
#endif

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

namespace ours = weft::rt::cuda;

namespace {

/// Says whether a value of one type is passed as one of the other.
template <typename A, typename B>
constexpr bool isPassedAlike =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
    std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
    std::is_class_v<A> == std::is_class_v<B>;

template <typename... Types> struct List {};

template <typename A, typename B> struct AreAlike : std::false_type {};
template <> struct AreAlike<List<>, List<>> : std::true_type {};
template <typename A, typename... As, typename B, typename... Bs>
struct AreAlike<List<A, As...>, List<B, Bs...>>
    : std::bool_constant<isPassedAlike<A, B> &&
                         AreAlike<List<As...>, List<Bs...>>::value> {};

template <typename Function> struct Signature;
template <typename Result, typename... Parameters>
struct Signature<Result (*)(Parameters...)> {
  using Types = List<Result, Parameters...>;
};

template <typename A, typename B>
constexpr bool haveSameSignature =
    AreAlike<typename Signature<A>::Types, typename Signature<B>::Types>::value;

#define WEFT_CUDA_FUNCTION(name, ...)                                          \
  static_assert(                                                               \
      haveSameSignature<decltype(&::name), decltype(ours::DriverApi::name)>,   \
      #name);
#include "backends/cuda/driver_functions.def"
#define WEFT_NCCL_FUNCTION(name, ...)                                          \
  static_assert(                                                               \
      haveSameSignature<decltype(&::name), decltype(ours::NcclApi::name)>,     \
      #name);
#define WEFT_NCCL_TEXT WEFT_NCCL_FUNCTION
#define WEFT_NCCL_OPTIONAL WEFT_NCCL_FUNCTION
#include "backends/cuda/nccl_functions.def"
#define WEFT_CUBLASLT_FUNCTION(name, ...)                                      \
  static_assert(                                                               \
      haveSameSignature<decltype(&::name), decltype(ours::CublasLtApi::name)>, \
      #name);
#include "backends/cuda/cublaslt_functions.def"

#define SAME(own, real)                                                        \
  static_assert((long long)(own) == (long long)(real), #real)

SAME(ours::driver::success, CUDA_SUCCESS);
SAME(ours::driver::outOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(ours::driver::stubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(ours::driver::noDevice, CUDA_ERROR_NO_DEVICE);
SAME(ours::driver::invalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(ours::driver::noBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(ours::driver::invalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(ours::driver::unsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(ours::driver::notFound, CUDA_ERROR_NOT_FOUND);
SAME(ours::driver::notReady, CUDA_ERROR_NOT_READY);
SAME(ours::driver::capabilityMajor,
     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(ours::driver::capabilityMinor,
     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(ours::driver::maxDynamicSharedBytes,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(ours::driver::streamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(ours::driver::eventDisableTiming, CU_EVENT_DISABLE_TIMING);

SAME(sizeof(ours::DeviceUuid), sizeof(CUuuid));
SAME(ours::driver::captureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

SAME(sizeof(ours::UniqueId), sizeof(ncclUniqueId));
SAME(ours::nccl::success, ncclSuccess);
SAME(ours::nccl::inProgress, ncclInProgress);
SAME(ours::nccl::undefined, NCCL_CONFIG_UNDEF_INT);
SAME(ours::nccl::int8, ncclInt8);
SAME(ours::nccl::uint8, ncclUint8);
SAME(ours::nccl::int32, ncclInt32);
SAME(ours::nccl::uint32, ncclUint32);
SAME(ours::nccl::int64, ncclInt64);
SAME(ours::nccl::uint64, ncclUint64);
SAME(ours::nccl::float16, ncclFloat16);
SAME(ours::nccl::float32, ncclFloat32);
SAME(ours::nccl::float64, ncclFloat64);
SAME(ours::nccl::bfloat16, ncclBfloat16);
SAME(ours::nccl::sum, ncclSum);
SAME(offsetof(ours::NcclConfig, blocking), offsetof(ncclConfig_t, blocking));
SAME(offsetof(ours::NcclConfig, netName), offsetof(ncclConfig_t, netName));

SAME(sizeof(ours::LtAlgo), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(ours::LtHeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(ours::LtHeuristicResult, state),
     offsetof(cublasLtMatmulHeuristicResult_t, state));
SAME(ours::lt::success, CUBLAS_STATUS_SUCCESS);
SAME(ours::lt::notSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(ours::lt::compute32F, CUBLAS_COMPUTE_32F);
SAME(ours::lt::compute64F, CUBLAS_COMPUTE_64F);
SAME(ours::lt::compute32FFastTF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(ours::lt::r32F, CUDA_R_32F);
SAME(ours::lt::r64F, CUDA_R_64F);
SAME(ours::lt::r16F, CUDA_R_16F);
SAME(ours::lt::r16BF, CUDA_R_16BF);
SAME(ours::lt::descTransA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(ours::lt::descTransB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(ours::lt::noTranspose, CUBLAS_OP_N);
SAME(ours::lt::transpose, CUBLAS_OP_T);
SAME(ours::lt::layoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(ours::lt::layoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(ours::lt::maxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(ours::lt::reductionSchemeMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(ours::lt::alignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(ours::lt::alignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(ours::lt::alignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(ours::lt::alignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(ours::lt::reductionNone, CUBLASLT_REDUCTION_SCHEME_NONE);

/// The config of a newer NCCL may have more fields, but not other ones.
#ifdef HAS_CUDNN
#define WEFT_CUDNN_FUNCTION(name, ...)                                         \
  static_assert(                                                               \
      haveSameSignature<decltype(&::name), decltype(ours::CudnnApi::name)>,    \
      #name);
#define WEFT_CUDNN_NUMBER(name) WEFT_CUDNN_FUNCTION(name)
#include "backends/cuda/cudnn_functions.def"
SAME(ours::dnn::success, CUDNN_STATUS_SUCCESS);
SAME(ours::dnn::f32, CUDNN_DATA_FLOAT);
SAME(ours::dnn::f16, CUDNN_DATA_HALF);
SAME(ours::dnn::i32, CUDNN_DATA_INT32);
SAME(ours::dnn::bf16, CUDNN_DATA_BFLOAT16);
SAME(ours::dnn::boolean, CUDNN_DATA_BOOLEAN);
SAME(ours::dnn::add, CUDNN_POINTWISE_ADD);
SAME(ours::dnn::mul, CUDNN_POINTWISE_MUL);
SAME(ours::dnn::div, CUDNN_POINTWISE_DIV);
SAME(ours::dnn::sub, CUDNN_POINTWISE_SUB);
SAME(ours::dnn::exp, CUDNN_POINTWISE_EXP);
SAME(ours::dnn::log, CUDNN_POINTWISE_LOG);
SAME(ours::dnn::greaterOrEqual, CUDNN_POINTWISE_CMP_GE);
SAME(ours::dnn::index, CUDNN_POINTWISE_GEN_INDEX);
SAME(ours::dnn::select, CUDNN_POINTWISE_BINARY_SELECT);
SAME(ours::dnn::reduceAdd, CUDNN_REDUCE_TENSOR_ADD);
SAME(ours::dnn::reduceMax, CUDNN_REDUCE_TENSOR_MAX);
SAME(ours::dnn::heuristicsA, CUDNN_HEUR_MODE_A);
SAME(ours::dnn::typeHandle, CUDNN_TYPE_HANDLE);
SAME(ours::dnn::typeData, CUDNN_TYPE_DATA_TYPE);
SAME(ours::dnn::typeBoolean, CUDNN_TYPE_BOOLEAN);
SAME(ours::dnn::typeInt64, CUDNN_TYPE_INT64);
SAME(ours::dnn::typePointer, CUDNN_TYPE_VOID_PTR);
SAME(ours::dnn::typeHeuristics, CUDNN_TYPE_HEUR_MODE);
SAME(ours::dnn::typePointwise, CUDNN_TYPE_POINTWISE_MODE);
SAME(ours::dnn::typeDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
SAME(ours::dnn::typeReduction, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
SAME(ours::dnn::pointwiseMode, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
SAME(ours::dnn::engineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
SAME(ours::dnn::engineHeuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
SAME(ours::dnn::executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
SAME(ours::dnn::pointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
SAME(ours::dnn::operationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
SAME(ours::dnn::variantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
SAME(ours::dnn::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
SAME(ours::dnn::matmulMode, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
SAME(ours::dnn::matmul, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
SAME(ours::dnn::reductionMode, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
SAME(ours::dnn::reduction, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
SAME(ours::dnn::pointwiseModeMode, CUDNN_ATTR_POINTWISE_MODE);
SAME(ours::dnn::pointwiseModeType, CUDNN_ATTR_POINTWISE_MATH_PREC);
SAME(ours::dnn::pointwiseModeAxis, CUDNN_ATTR_POINTWISE_AXIS);
SAME(ours::dnn::heuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE);
SAME(ours::dnn::heuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
SAME(ours::dnn::heuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
SAME(ours::dnn::planConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
SAME(ours::dnn::planWorkspaceBytes, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
SAME(ours::dnn::pointwiseOf, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
SAME(ours::dnn::pointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
SAME(ours::dnn::pointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
SAME(ours::dnn::pointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
SAME(ours::dnn::pointwiseT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
SAME(ours::dnn::graphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
SAME(ours::dnn::tensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
SAME(ours::dnn::tensorType, CUDNN_ATTR_TENSOR_DATA_TYPE);
SAME(ours::dnn::tensorSizes, CUDNN_ATTR_TENSOR_DIMENSIONS);
SAME(ours::dnn::tensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
SAME(ours::dnn::tensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
SAME(ours::dnn::tensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
SAME(ours::dnn::tensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
SAME(ours::dnn::packIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
SAME(ours::dnn::packPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
SAME(ours::dnn::packWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
SAME(ours::dnn::matmulModeType, CUDNN_ATTR_MATMUL_COMP_TYPE);
SAME(ours::dnn::matmulA, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
SAME(ours::dnn::matmulB, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
SAME(ours::dnn::matmulC, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
SAME(ours::dnn::matmulOf, CUDNN_ATTR_OPERATION_MATMUL_DESC);
SAME(ours::dnn::reductionModeOperator, CUDNN_ATTR_REDUCTION_OPERATOR);
SAME(ours::dnn::reductionModeType, CUDNN_ATTR_REDUCTION_COMP_TYPE);
SAME(ours::dnn::reductionX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
SAME(ours::dnn::reductionY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
SAME(ours::dnn::reductionOf, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
#endif

TEST(CudaHeaders, NcclConfigBeginsAlike) {
  ncclConfig_t real = NCCL_CONFIG_INITIALIZER;
  if (real.version < ours::nccl::configVersion)
    GTEST_SKIP() << "an older NCCL, which reads as much as it knows";
  EXPECT_LE(sizeof(ours::NcclConfig), sizeof(real));
  EXPECT_EQ(real.magic, ours::nccl::configMagic);
}

} // namespace
