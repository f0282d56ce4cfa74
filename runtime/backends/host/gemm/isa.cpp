// SPDX-License-Identifier: Apache-2.0

// Which instruction set gemm uses: detection, and the two ways to overrule it.

#include "isa.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef WEFT_GEMM_X86
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace weft::rt {

static constexpr Isa kAllIsas[] = {Isa::Scalar, Isa::Avx2, Isa::Avx512,
                                   Isa::Avx512Bf16, Isa::AmxBf16};

const char *isaName(Isa isa) {
  switch (isa) {
  case Isa::Scalar:
    return "scalar";
  case Isa::Avx2:
    return "avx2";
  case Isa::Avx512:
    return "avx512";
  case Isa::Avx512Bf16:
    return "avx512_bf16";
  case Isa::AmxBf16:
    return "amx_bf16";
  }
  return "unknown";
}

#ifdef WEFT_GEMM_X86

/// The kernel hands out the tile registers per process, on request.
static bool requestAmxTiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int requestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
  constexpr int tileData = 18;              // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

static bool hasAmxBf16() {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
    return false;
  constexpr unsigned amxBf16 = 1u << 22, amxTile = 1u << 24;
  return (edx & amxBf16) && (edx & amxTile) && requestAmxTiles();
}

static Isa detect() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("f16c"))
    return Isa::Scalar;
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl"))
    return Isa::Avx2;
  if (!__builtin_cpu_supports("avx512bf16"))
    return Isa::Avx512;
  return hasAmxBf16() ? Isa::AmxBf16 : Isa::Avx512Bf16;
}

#else

static Isa detect() { return Isa::Scalar; }

#endif

Isa detectIsa() {
  static const Isa isa = detect();
  return isa;
}

static bool isAvailable(Isa isa) { return int(isa) <= int(detectIsa()); }

[[noreturn]] static void rejectEnvironment(const char *value,
                                           const char *problem) {
  std::fprintf(stderr, "weft: WEFT_GEMM_ISA=%s %s; this machine has: ", value,
               problem);
  for (Isa isa : kAllIsas)
    if (isAvailable(isa))
      std::fprintf(stderr, "%s%s", isa == Isa::Scalar ? "" : ", ",
                   isaName(isa));
  std::fprintf(stderr, "\n");
  std::exit(1);
}

static Isa initialIsa() {
  const char *value = std::getenv("WEFT_GEMM_ISA");
  if (!value || !*value)
    return detectIsa();
  for (Isa isa : kAllIsas)
    if (std::strcmp(value, isaName(isa)) == 0) {
      if (!isAvailable(isa))
        rejectEnvironment(value, "is not available");
      return isa;
    }
  rejectEnvironment(value, "names no instruction set");
}

static std::atomic<int> forcedIsa{-1};

Isa activeIsa() {
  int forced = forcedIsa.load(std::memory_order_relaxed);
  if (forced >= 0)
    return Isa(forced);
  static const Isa initial = initialIsa();
  return initial;
}

bool forceIsa(Isa isa) {
  if (!isAvailable(isa))
    return false;
  forcedIsa.store(int(isa), std::memory_order_relaxed);
  return true;
}

namespace detail {

const KernelSet &selectKernels(const Plan &plan, Isa isa) {
  bool f64 = plan.typeC == WEFT_RT_F64;
  bool bf16 = plan.typeA == WEFT_RT_BF16 && plan.typeB == WEFT_RT_BF16;
  bool likeAmx = bf16 && plan.leaves > 0;
#ifdef WEFT_GEMM_X86
  if (bf16 && isa == Isa::AmxBf16)
    return kAmxBf16;
  if (bf16 && !likeAmx && isa == Isa::Avx512Bf16)
    return kAvx512Bf16;
  if (isa >= Isa::Avx512)
    return likeAmx ? kAvx512AmxChain : f64 ? kAvx512F64 : kAvx512F32;
  if (isa == Isa::Avx2)
    return likeAmx ? kAvx2AmxChain : f64 ? kAvx2F64 : kAvx2F32;
#endif
  (void)isa;
  return likeAmx ? kScalarAmxChain : f64 ? kScalarF64 : kScalarF32;
}

} // namespace detail
} // namespace weft::rt
