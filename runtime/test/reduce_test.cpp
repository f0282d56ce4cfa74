// SPDX-License-Identifier: Apache-2.0

// The reduction kernels of all instruction sets against each other, bit for
// bit: every type and reduction, both orders, any number of inputs, and any cut
// of the elements. Whether they are right is the conformance suite's to say.

#include "backends/host/reduce_kernels.h"
#include "core/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

using namespace weft::rt;

namespace {

using Bytes = std::vector<uint8_t>;
using FindKernel = ReduceKernel (*)(weft_rt_type, weft_rt_reduction,
                                    ReduceOrder);

constexpr int64_t elements = 200; // three blocks and a part of one
constexpr int64_t most = 17;      // inputs

/// The sets that this processor has beside the baseline.
std::vector<FindKernel> otherSets() {
  std::vector<FindKernel> sets;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    sets.push_back(reduceKernelAvx2);
  if (__builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    sets.push_back(reduceKernelAvx512);
#endif
  return sets;
}

/// Says whether the bits of an element are a NaN's, of those types whose sums
/// and products may give any. Of f8 there is one.
bool mayBeAnyNaN(weft_rt_type type, const uint8_t *at) {
  switch (type) {
  case WEFT_RT_F64: {
    double value;
    std::memcpy(&value, at, 8);
    return value != value;
  }
  case WEFT_RT_F32: {
    float value;
    std::memcpy(&value, at, 4);
    return value != value;
  }
  case WEFT_RT_F16:
    return (at[1] & 0x7c) == 0x7c && ((at[1] & 3) || at[0]);
  case WEFT_RT_BF16:
    return (at[1] & 0x7f) == 0x7f && (at[0] & 0x80) && (at[0] & 0x7f);
  default:
    return false;
  }
}

/// Buffers of random bits: of every float, also of all kinds of NaNs.
struct Inputs {
  weft_rt_type type;
  std::vector<Bytes> buffers;
  std::vector<const void *> pointers;

  explicit Inputs(weft_rt_type type) : type(type) {
    std::mt19937_64 random(type);
    for (int64_t i = 0; i < most; ++i) {
      buffers.emplace_back(byteSize(type, elements));
      for (uint8_t &byte : buffers.back())
        byte = random() & (type == WEFT_RT_I1 ? 1 : 0xff);
    }
    for (const Bytes &buffer : buffers)
      pointers.push_back(buffer.data());
  }

  Bytes reduce(ReduceKernel kernel, int64_t members) const {
    Bytes out(byteSize(type, elements));
    kernel(pointers.data(), members, 0, elements, 0, out.data());
    return out;
  }

  /// Reduces the elements in pieces of `step`.
  Bytes reduceInSteps(ReduceKernel kernel, int64_t members,
                      int64_t step) const {
    Bytes out(byteSize(type, elements));
    for (int64_t at = 0; at < elements; at += step)
      kernel(pointers.data(), members, at, std::min(step, elements - at), 0,
             out.data() + byteSize(type, at));
    return out;
  }

  /// Equal, where a NaN that comes of an operation may have any payload.
  bool agree(const Bytes &a, const Bytes &b) const {
    int64_t width = byteSize(type, 1);
    for (size_t i = 0; i < a.size(); i += width)
      if (std::memcmp(&a[i], &b[i], width) != 0 &&
          !(mayBeAnyNaN(type, &a[i]) && mayBeAnyNaN(type, &b[i])))
        return false;
    return true;
  }
};

/// Calls `body(type, reduction, order)` for all that there is.
template <typename Body> void forAllKernels(Body body) {
  for (int type = 0; type < WEFT_RT_NUM_TYPES; ++type)
    for (int reduction = 0; reduction <= WEFT_RT_OR; ++reduction)
      for (ReduceOrder order : {ReduceOrder::Chain, ReduceOrder::Tree})
        if (canReduce(weft_rt_type(type), weft_rt_reduction(reduction)))
          body(weft_rt_type(type), weft_rt_reduction(reduction), order);
}

std::string caseName(weft_rt_type type, weft_rt_reduction reduction,
                     ReduceOrder order) {
  return std::string(reductionName(reduction)) + " of " + typeName(type) +
         (order == ReduceOrder::Tree ? ", tree" : ", chain");
}

TEST(Reduce, InstructionSetsAgree) {
  std::vector<FindKernel> sets = otherSets();
  forAllKernels([&](auto type, auto reduction, auto order) {
    Inputs inputs(type);
    for (int64_t members = 1; members <= most; ++members) {
      Bytes expected =
          inputs.reduce(reduceKernelBaseline(type, reduction, order), members);
      for (FindKernel find : sets)
        EXPECT_TRUE(inputs.agree(
            expected, inputs.reduce(find(type, reduction, order), members)))
            << caseName(type, reduction, order) << " of " << members;
    }
  });
}

TEST(Reduce, CutsDoNotMatter) {
  std::vector<FindKernel> sets = otherSets();
  sets.push_back(reduceKernelBaseline);
  forAllKernels([&](auto type, auto reduction, auto order) {
    Inputs inputs(type);
    for (FindKernel find : sets) {
      ReduceKernel kernel = find(type, reduction, order);
      for (int64_t members : {1, 2, 3, 5, 8})
        for (int64_t step : {1, 3, 64, 100})
          EXPECT_TRUE(inputs.agree(inputs.reduce(kernel, members),
                                   inputs.reduceInSteps(kernel, members, step)))
              << caseName(type, reduction, order) << " of " << members
              << " in steps of " << step;
    }
  });
}

/// In place: what is written has been read.
TEST(Reduce, OutputMayBeAnInput) {
  forAllKernels([&](auto type, auto reduction, auto order) {
    for (int64_t members : {1, 2, 3, 4, 7, 8}) {
      for (int64_t place = 0; place < members; ++place) {
        Inputs inputs(type);
        ReduceKernel kernel = reduceKernelBaseline(type, reduction, order);
        Bytes expected = inputs.reduce(kernel, members);
        reduce(type, reduction, order, inputs.pointers.data(), members, 0,
               elements, 0, inputs.buffers[place].data());
        EXPECT_TRUE(inputs.agree(expected, inputs.buffers[place]))
            << caseName(type, reduction, order) << " of " << members << " into "
            << place;
      }
    }
  });
}

/// Maxima and minima have the same bits in any order of members, those of NaNs
/// included.
TEST(Reduce, ExtremesDoNotDependOnTheOrder) {
  std::vector<FindKernel> sets = otherSets();
  sets.push_back(reduceKernelBaseline);
  forAllKernels([&](auto type, auto reduction, auto order) {
    if (reduction != WEFT_RT_MAX && reduction != WEFT_RT_MIN)
      return;
    Inputs inputs(type);
    Bytes expected =
        inputs.reduce(reduceKernelBaseline(type, reduction, order), 8);
    std::mt19937_64 random(1);
    for (int repeat = 0; repeat < 10; ++repeat) {
      std::shuffle(inputs.pointers.begin(), inputs.pointers.begin() + 8,
                   random);
      for (FindKernel find : sets)
        EXPECT_EQ(expected, inputs.reduce(find(type, reduction, order), 8))
            << caseName(type, reduction, order);
    }
  });
}

/// Each NaN of f8 becomes the one that compiled code gives, with whatever it is
/// combined.
TEST(Reduce, NaNsOfFloat8BecomeOne) {
  auto check = [](weft_rt_type type, uint8_t first, uint8_t wanted) {
    forAllKernels([&](auto kernelType, auto reduction, auto order) {
      if (kernelType != type)
        return;
      for (int bits = first; bits <= 0x7f; ++bits)
        for (int sign : {0, 0x80})
          for (int other = 0; other < 256; ++other) {
            auto nan = uint8_t(bits | sign), number = uint8_t(other);
            const void *inputs[] = {&number, &nan};
            uint8_t out = 0;
            reduce(type, reduction, order, inputs, 2, 0, 1, 0, &out);
            ASSERT_EQ(out, wanted) << caseName(type, reduction, order) << " of "
                                   << int(nan) << " and " << other;
          }
    });
  };
  check(WEFT_RT_F8E4M3FN, 0x7f, 0x7f);
  check(WEFT_RT_F8E5M2, 0x7d, 0x7e);
}

template <typename T> T combineTwo(weft_rt_reduction reduction, T a, T b) {
  const void *inputs[] = {&a, &b};
  T out;
  reduce(sizeof(T) == 4 ? WEFT_RT_F32 : WEFT_RT_F64, reduction,
         ReduceOrder::Tree, inputs, 2, 0, 1, 0, &out);
  return out;
}

/// As arith.maximumf and arith.minimumf.
TEST(Reduce, ExtremesOfZerosAndNaNs) {
  EXPECT_FALSE(std::signbit(combineTwo(WEFT_RT_MAX, -0.0f, 0.0f)));
  EXPECT_FALSE(std::signbit(combineTwo(WEFT_RT_MAX, 0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(combineTwo(WEFT_RT_MIN, -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(combineTwo(WEFT_RT_MIN, 0.0, -0.0)));
  for (weft_rt_reduction reduction : {WEFT_RT_MAX, WEFT_RT_MIN}) {
    EXPECT_TRUE(std::isnan(combineTwo(reduction, 1.0f, NAN)));
    EXPECT_TRUE(std::isnan(combineTwo(reduction, NAN, 1.0f)));
    EXPECT_TRUE(std::isnan(combineTwo(reduction, INFINITY, -NAN)));
  }
}

} // namespace
