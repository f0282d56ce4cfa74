// SPDX-License-Identifier: Apache-2.0

// Products by groups of four warps (wgmma, sm_90a): each warp has 16 of 64 rows
// of sums, as mma.sync has them, and matrices in shared memory are read there
// by all four. On the CPU a warp computes its own rows, by what the descriptors
// say.

#ifndef WEFT_RT_CUDA_WARP_GROUP_H
#define WEFT_RT_CUDA_WARP_GROUP_H

#include "backends/cuda/warp.h"

namespace weft::rt::cuda {
namespace {

constexpr int groupRows = 64;

/// Rows of 128 bytes with 64 numbers each, whose chunks are at their number
/// xor the row's in its eight. Eight rows lie `stride` bytes after the eight
/// before; of a transposed matrix 64 columns `leading` after those before.
inline uint64_t matrixDescriptor(uint32_t address, uint32_t leading,
                                 uint32_t stride) {
  constexpr uint64_t swizzled = uint64_t(1) << 62;
  return swizzled | uint64_t((address & 0x3ffff) >> 4) |
         uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32;
}

#if defined(__NVPTX__)

inline uint32_t groupAddress(const Shared &shared, uint32_t place) {
  return shared.address(place);
}

#define WEFT_SUM(n)                                                            \
  "+f"(sums[n][0][0]), "+f"(sums[n][1][0]), "+f"(sums[n][2][0]),               \
      "+f"(sums[n][3][0])
#define WEFT_SUMS_4(n)                                                         \
  WEFT_SUM(n), WEFT_SUM(n + 1), WEFT_SUM(n + 2), WEFT_SUM(n + 3)
#define WEFT_SUMS_8(n) WEFT_SUMS_4(n), WEFT_SUMS_4(n + 4)
#define WEFT_SUMS_16(n) WEFT_SUMS_8(n), WEFT_SUMS_8(n + 8)

#define WEFT_TEXT_4 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define WEFT_TEXT_8                                                            \
  WEFT_TEXT_4 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,"  \
              "%31"
#define WEFT_TEXT_16                                                           \
  WEFT_TEXT_8 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,"  \
              "%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,"   \
              "%62,%63"

/// Keeps what is done to the sums before, or after, all that is here.
template <int N> inline void holdSums(Lanes<float> (&sums)[N][4]) {
  WEFT_UNROLL
  for (int n = 0; n < N; ++n)
    asm volatile("" : WEFT_SUM(n)::"memory");
}
/// Keeps what is multiplied in its registers up to here.
template <int K> inline void holdParts(const Lanes<uint32_t> (&parts)[K][4]) {
  WEFT_UNROLL
  for (int k = 0; k < K; ++k)
    asm volatile("" ::"r"(parts[k][0][0]), "r"(parts[k][1][0]),
                 "r"(parts[k][2][0]), "r"(parts[k][3][0])
                 : "memory");
}

/// Products are begun between the first two. They are over after endProducts
/// of as many others as were begun after them.
template <int N> inline void beginProducts(Lanes<float> (&sums)[N][4]) {
  holdSums(sums);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
inline void commitProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int Others, int N>
inline void endProducts(Lanes<float> (&sums)[N][4]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Others) : "memory");
  holdSums(sums);
}

template <typename Format, int N> struct GroupProduct;
#define WEFT_GROUP_PRODUCT(Format, type, N, columns, a, a0, a1, a2, a3, b)     \
  template <> struct GroupProduct<Format, N> {                                 \
    static void add(Lanes<float> (&sums)[N][4], uint64_t left,                 \
                    uint64_t right) {                                          \
      asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n"                  \
                   "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type \
                   "." type " {" WEFT_TEXT_##N "}, " a ", " a1                 \
                                               ", p, 1, 1, 0, 0;\n}"           \
                   : WEFT_SUMS_##N(0)                                          \
                   : "l"(left), "l"(right));                                   \
    }                                                                          \
    static void add(Lanes<float> (&sums)[N][4],                                \
                    const Lanes<uint32_t> (&left)[4], uint64_t right) {        \
      asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n"                  \
                   "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type \
                   "." type " {" WEFT_TEXT_##N "}, {" a0 "," a1 "," a2 "," a3  \
                                               "}, " b ", p, 1, 1, 1;\n}"      \
                   : WEFT_SUMS_##N(0)                                          \
                   : "r"(left[0][0]), "r"(left[1][0]), "r"(left[2][0]),        \
                     "r"(left[3][0]), "l"(right));                             \
    }                                                                          \
  };
#define WEFT_GROUP_PRODUCTS(Format, type)                                      \
  WEFT_GROUP_PRODUCT(Format, type, 4, "32", "%16", "%16", "%17", "%18", "%19", \
                     "%20")                                                    \
  WEFT_GROUP_PRODUCT(Format, type, 8, "64", "%32", "%32", "%33", "%34", "%35", \
                     "%36")                                                    \
  WEFT_GROUP_PRODUCT(Format, type, 16, "128", "%64", "%64", "%65", "%66",      \
                     "%67", "%68")
WEFT_GROUP_PRODUCTS(BFloat16, "bf16")
WEFT_GROUP_PRODUCTS(Float16, "f16")

/// sums (64 x 8 N) += left (64 x 16) times right (16 x 8 N), which lies as its
/// columns; of the left side the warp's rows begin at `row`.
template <typename Format, int N>
inline void addProduct(const Shared &, Lanes<float> (&sums)[N][4],
                       uint64_t left, int, uint64_t right) {
  GroupProduct<Format, N>::add(sums, left, right);
}
/// The same of a left side in registers, and of a right side that lies as rows.
template <typename Format, int N>
inline void addProduct(const Shared &, Lanes<float> (&sums)[N][4],
                       const Lanes<uint32_t> (&left)[4], uint64_t right) {
  GroupProduct<Format, N>::add(sums, left, right);
}

#else

inline uint32_t groupAddress(const Shared &, uint32_t place) { return place; }

template <int N> inline void beginProducts(Lanes<float> (&)[N][4]) {}
inline void commitProducts() {}
template <int Others, int N> inline void endProducts(Lanes<float> (&)[N][4]) {}
template <int K> inline void holdParts(const Lanes<uint32_t> (&)[K][4]) {}

/// Two bytes of a matrix by its descriptor.
inline uint16_t elementOf(const Shared &shared, uint64_t matrix, int row,
                          int column) {
  auto field = [&](int from) { return uint32_t(matrix >> from & 0x3fff) << 4; };
  uint32_t place = field(0) + row / 8 * field(32) + row % 8 * 128 +
                   column / 64 * field(16) + column % 64 * 2;
  place ^= (place >> 7 & 7) << 4;
  uint16_t element;
  __builtin_memcpy(&element, shared.address(place), sizeof(element));
  return element;
}

/// Columns 8 n of the right side, as mma.sync takes them.
template <typename Format, int N>
inline void addProduct(const Shared &shared, Lanes<float> (&sums)[N][4],
                       const Lanes<uint32_t> (&left)[4], uint64_t right,
                       bool areRows = true) {
  for (int n = 0; n < N; ++n) {
    Lanes<uint32_t> b[2];
    for (int lane = 0; lane < warpLanes; ++lane)
      for (int half = 0; half < 2; ++half) {
        int k = 2 * (lane % 4) + 8 * half, column = 8 * n + lane / 4;
        auto at = [&](int i) -> uint32_t {
          return areRows ? elementOf(shared, right, k + i, column)
                         : elementOf(shared, right, column, k + i);
        };
        b[half][lane] = at(0) | at(1) << 16;
      }
    multiplyMatrices<Format>(sums[n], left, b[0], b[1]);
  }
}
template <typename Format, int N>
inline void addProduct(const Shared &shared, Lanes<float> (&sums)[N][4],
                       uint64_t left, int row, uint64_t right) {
  Lanes<uint32_t> a[4];
  for (int lane = 0; lane < warpLanes; ++lane)
    for (int i = 0; i < 4; ++i) {
      int at = row + lane / 4 + i % 2 * 8, k = 2 * (lane % 4) + i / 2 * 8;
      a[i][lane] = elementOf(shared, left, at, k) |
                   uint32_t(elementOf(shared, left, at, k + 1)) << 16;
    }
  addProduct<Format>(shared, sums, a, right, false);
}

#endif

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_WARP_GROUP_H
