// SPDX-License-Identifier: Apache-2.0

// The backend's own kernels for moves between any strides, and for reductions
// of ranks' buffers. No result depends on timing: each element is one thread's.
//
// scripts/make-cuda-kernels.py compiles this file to PTX (kernels_ptx.inc); the
// emulated device of the tests runs it on the CPU, where a grid is one thread.

#include "backends/cuda/kernel_args.h"
#include "core/float_formats.h"
#include "weft-rt/abi.h"

using namespace weft::rt;
using namespace weft::rt::cuda;

namespace {

/// The elements that a thread of a grid works on: first, first + step, ...
struct Share {
  int64_t first, step;
};

} // namespace

#if defined(__NVPTX__)
static Share shareOfThread() {
  int64_t threads = __nvvm_read_ptx_sreg_ntid_x();
  return {__nvvm_read_ptx_sreg_ctaid_x() * threads +
              __nvvm_read_ptx_sreg_tid_x(),
          __nvvm_read_ptx_sreg_nctaid_x() * threads};
}
#define WEFT_KERNEL(name, Args, body)                                          \
  extern "C" __attribute__((device_kernel)) void name(Args args) {             \
    body(args, shareOfThread());                                               \
  }
#else
#define WEFT_KERNEL(name, Args, body)                                          \
  extern "C" void name(void **params, const uint32_t *, const uint32_t *,      \
                       uint32_t) {                                             \
    body(*static_cast<const Args *>(params[0]), Share{0, 1});                  \
  }
#endif

namespace {

// ---- moves -----------------------------------------------------------------

struct Unit16 {
  uint64_t halves[2];
};

/// Calls `work` with a value of the type that a unit of so many bytes has.
template <typename Work> void withUnit(int32_t bytes, Work work) {
  switch (bytes) {
  case 2:
    return work(uint16_t());
  case 4:
    return work(uint32_t());
  case 8:
    return work(uint64_t());
  case 16:
    return work(Unit16());
  default:
    return work(uint8_t());
  }
}

template <typename T> void copyUnits(const CopyArgs &args, Share share) {
  for (int64_t i = share.first; i < args.count; i += share.step) {
    int64_t rest = i, from = 0, to = 0;
    for (int32_t dim = args.numDims - 1; dim >= 0; --dim) {
      int64_t index = rest % args.sizes[dim];
      rest /= args.sizes[dim];
      from += index * args.sourceStrides[dim];
      to += index * args.targetStrides[dim];
    }
    static_cast<T *>(args.target)[to] =
        static_cast<const T *>(args.source)[from];
  }
}

void copyStrided(const CopyArgs &args, Share share) {
  withUnit(args.unit,
           [&](auto unit) { copyUnits<decltype(unit)>(args, share); });
}

template <typename T> void moveUnits(const MoveArgs &args, Share share) {
  for (int64_t i = share.first; i < args.count; i += share.step) {
    int64_t from = i / args.sourceRun * args.sourceStride + i % args.sourceRun;
    int64_t to = i / args.targetRun * args.targetStride + i % args.targetRun;
    static_cast<T *>(args.target)[to] =
        static_cast<const T *>(args.source)[from];
  }
}

void moveRuns(const MoveArgs &args, Share share) {
  withUnit(args.unit,
           [&](auto unit) { moveUnits<decltype(unit)>(args, share); });
}

// ---- reductions ------------------------------------------------------------

template <typename T> T combineIntegers(int32_t reduction, T a, T b) {
  switch (reduction) {
  case WEFT_RT_SUM:
    return T(uint64_t(a) + uint64_t(b));
  case WEFT_RT_PROD:
    return T(uint64_t(a) * uint64_t(b));
  case WEFT_RT_MAX:
    return a > b ? a : b;
  case WEFT_RT_MIN:
    return a < b ? a : b;
  case WEFT_RT_AND:
    return T(a & b);
  default:
    return T(a | b);
  }
}

template <typename T> T combineFloats(int32_t reduction, T a, T b) {
  if (reduction == WEFT_RT_SUM)
    return a + b;
  if (reduction == WEFT_RT_PROD)
    return a * b;
  if (a != a || b != b)
    return a != a ? a : b;
  bool isMax = reduction == WEFT_RT_MAX;
  if (a == b) // of two zeros, max is the positive one
    return (__builtin_signbit(a) != 0) == isMax ? b : a;
  return (a > b) == isMax ? a : b;
}

/// Truth values: and is min, or is max.
uint8_t combineTruths(int32_t reduction, uint8_t a, uint8_t b) {
  bool isAnd = reduction == WEFT_RT_AND || reduction == WEFT_RT_MIN;
  return isAnd ? a & b : a | b;
}

/// Exponents, whose NaN is the largest number.
uint8_t combineScales(int32_t reduction, uint8_t a, uint8_t b) {
  bool isMax = reduction == WEFT_RT_MAX || a == 0xff || b == 0xff;
  return (a > b) == isMax ? a : b;
}

/// A chain: the values one after the other, rounded at the end.
template <typename Format, typename Combine>
typename Format::Stored chain(const ReduceArgs &args, int64_t at,
                              Combine combine) {
  using Stored = typename Format::Stored;
  auto value = Format::load(static_cast<const Stored *>(args.inputs[0])[at]);
  for (int32_t i = 1; i < args.numInputs; ++i)
    value =
        combine(args.reduction, value,
                Format::load(static_cast<const Stored *>(args.inputs[i])[at]));
  return Format::store(value);
}

/// A tree: what waits for its sibling is kept in a stack of whole trees, each
/// larger than the next one.
template <typename Format, typename Combine>
typename Format::Stored tree(const ReduceArgs &args, int64_t at,
                             Combine combine) {
  using Stored = typename Format::Stored;
  typename Format::Value stack[8]; // maxSharing is below 2^8
  int32_t depth = 0;
  auto join = [&] {
    --depth;
    // Not `round`, which counts on the NaNs that x86 gives.
    stack[depth - 1] = Format::load(
        Format::store(combine(args.reduction, stack[depth - 1], stack[depth])));
  };
  for (int32_t i = 0; i < args.numInputs; ++i) {
    stack[depth++] =
        Format::load(static_cast<const Stored *>(args.inputs[i])[at]);
    for (int32_t whole = i + 1; whole % 2 == 0; whole /= 2)
      join();
  }
  while (depth > 1)
    join();
  return Format::store(stack[0]);
}

template <typename Format, typename Combine>
void reduceElements(const ReduceArgs &args, Share share, Combine combine) {
  using Stored = typename Format::Stored;
  for (int64_t i = share.first; i < args.count; i += share.step) {
    int64_t at = i / args.run * args.stride + i % args.run;
    Stored value = args.tree ? tree<Format>(args, at, combine)
                             : chain<Format>(args, at, combine);
    for (int32_t output = 0; output < args.numOutputs; ++output)
      static_cast<Stored *>(args.outputs[output])[i] = value;
  }
}

template <typename T> void reduceIntegers(const ReduceArgs &args, Share share) {
  reduceElements<Plain<T>>(args, share, [](int32_t reduction, T a, T b) {
    return combineIntegers(reduction, a, b);
  });
}

template <typename Format>
void reduceFloats(const ReduceArgs &args, Share share) {
  using Value = typename Format::Value;
  reduceElements<Format>(args, share, [](int32_t reduction, Value a, Value b) {
    return combineFloats(reduction, a, b);
  });
}

void reduceAny(const ReduceArgs &args, Share share) {
  switch (args.type) {
  case WEFT_RT_I1:
    return reduceElements<Plain<uint8_t>>(args, share, combineTruths);
  case WEFT_RT_I8:
    return reduceIntegers<int8_t>(args, share);
  case WEFT_RT_U8:
    return reduceIntegers<uint8_t>(args, share);
  case WEFT_RT_I16:
    return reduceIntegers<int16_t>(args, share);
  case WEFT_RT_U16:
    return reduceIntegers<uint16_t>(args, share);
  case WEFT_RT_I32:
    return reduceIntegers<int32_t>(args, share);
  case WEFT_RT_U32:
    return reduceIntegers<uint32_t>(args, share);
  case WEFT_RT_I64:
    return reduceIntegers<int64_t>(args, share);
  case WEFT_RT_U64:
    return reduceIntegers<uint64_t>(args, share);
  case WEFT_RT_F16:
    return reduceFloats<Float16>(args, share);
  case WEFT_RT_BF16:
    return reduceFloats<BFloat16>(args, share);
  case WEFT_RT_F32:
    return reduceFloats<Plain<float>>(args, share);
  case WEFT_RT_F64:
    return reduceFloats<Plain<double>>(args, share);
  case WEFT_RT_F8E4M3FN:
    return reduceFloats<F8E4M3>(args, share);
  case WEFT_RT_F8E5M2:
    return reduceFloats<F8E5M2>(args, share);
  case WEFT_RT_F8E8M0FNU:
    return reduceElements<Plain<uint8_t>>(args, share, combineScales);
  default:
    return; // refused before
  }
}

} // namespace

WEFT_KERNEL(weft_copy, CopyArgs, copyStrided)
WEFT_KERNEL(weft_move, MoveArgs, moveRuns)
WEFT_KERNEL(weft_reduce, ReduceArgs, reduceAny)
