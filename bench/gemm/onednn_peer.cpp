// SPDX-License-Identifier: Apache-2.0

// oneDNN's matmul primitive with strided memory descriptors, so that both sides
// read and write the same buffers. Creating the primitive is not measured.

#include "peer.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <cstdio>
#include <unordered_map>
#include <vector>

using dnnl::memory;

static memory::data_type dataType(weft_rt_type type) {
  return type == WEFT_RT_BF16 ? memory::data_type::bf16
                              : memory::data_type::f32;
}

/// Dimensions of the descriptor in the order batch, rows, columns of a tensor.
static memory::desc describe(const weft_rt_gemm &desc, weft_rt_type type,
                             int32_t rows, int32_t columns,
                             int64_t weft_rt_gemm_dim::*stride) {
  memory::dims sizes, strides;
  for (int32_t role : {int32_t(WEFT_RT_GEMM_BATCH), rows, columns})
    for (int i = 0; i < desc.num_dims; ++i)
      if (desc.dims[i].role == role) {
        sizes.push_back(desc.dims[i].size);
        strides.push_back(desc.dims[i].*stride);
      }
  return memory::desc(sizes, dataType(type), strides);
}

/// oneDNN sizes AMX tiles by CPUID leaf 0x1D. Some virtual machines have AMX
/// but hide that leaf: oneDNN then configures empty tiles and dies on the
/// first.
static void avoidHiddenTiles() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __get_cpuid_count(0x1d, 0, &eax, &ebx, &ecx, &edx);
  if (eax != 0)
    return;
  if (dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16) ==
      dnnl::status::success)
    std::fprintf(stderr, "CPUID leaf 0x1D is empty: oneDNN without AMX\n");
#endif
}

std::function<void()> makePeer(const weft_rt_gemm &desc, void *a, void *b,
                               void *c, int threads) try {
  static const bool once = (avoidHiddenTiles(), true);
  (void)once;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  memory::desc descA = describe(desc, desc.type_a, WEFT_RT_GEMM_M,
                                WEFT_RT_GEMM_K, &weft_rt_gemm_dim::stride_a);
  memory::desc descB = describe(desc, desc.type_b, WEFT_RT_GEMM_K,
                                WEFT_RT_GEMM_N, &weft_rt_gemm_dim::stride_b);
  memory::desc descC = describe(desc, desc.type_c, WEFT_RT_GEMM_M,
                                WEFT_RT_GEMM_N, &weft_rt_gemm_dim::stride_c);
#if DNNL_VERSION_MAJOR >= 3
  dnnl::matmul::primitive_desc primitive(engine, descA, descB, descC);
#else
  dnnl::matmul::primitive_desc primitive(
      dnnl::matmul::desc(descA, descB, descC), engine);
#endif
  dnnl::matmul matmul(primitive);
  std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, memory(descA, engine, a)},
      {DNNL_ARG_WEIGHTS, memory(descB, engine, b)},
      {DNNL_ARG_DST, memory(descC, engine, c)}};
  return [=]() mutable {
    omp_set_num_threads(threads); // of the thread that calls
    matmul.execute(stream, arguments);
    stream.wait();
  };
} catch (const dnnl::error &) {
  return {};
}
