// SPDX-License-Identifier: Apache-2.0

// Kernels whose warps multiply matrices: what a warp's 32 lanes do together, on
// the device by its instructions, on the CPU, where tests run the same source,
// by plain code on the registers of all lanes. As in block.h a phase ends with
// a barrier, and its warps are taken in both directions by turns.

#ifndef WEFT_RT_CUDA_WARP_H
#define WEFT_RT_CUDA_WARP_H

#include "backends/cuda/chains.h"
#include "core/float_formats.h"

#if !defined(__NVPTX__)
#include <cmath>
#include <vector>
#endif

namespace weft::rt::cuda {
namespace {

constexpr int warpLanes = 32;

/// A chunk of memory that is copied at once.
constexpr int chunkBytes = 16;

#if defined(__NVPTX__)

/// A value for each lane of a warp, in its registers.
template <typename T> class Lanes {
public:
  T &operator[](int) { return value; }
  const T &operator[](int) const { return value; }

private:
  T value;
};

/// The same for whole states: each thread has its part.
template <typename T, int> class PerWarp {
public:
  T &operator[](int) { return value; }

private:
  T value;
};

/// Calls body(lane) for each lane.
template <typename Body> inline void forLanes(Body body) {
  body(int(__nvvm_read_ptx_sreg_tid_x()) % warpLanes);
}

/// The value as one that the compiler cannot compute ahead: what is made of it
/// in a loop is made there, not before it, and takes no registers.
inline const char *madeHere(const char *value) {
  asm volatile("" : "+l"(value));
  return value;
}

/// Dynamic shared memory. Places are bytes from its begin on.
class Shared {
public:
  explicit Shared(uint32_t begin) : begin(begin) {}
  uint32_t address(uint32_t place) const { return begin + place; }

  /// Two floats side by side.
  void loadPair(uint32_t place, float &x, float &y) const {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(x), "=f"(y)
                 : "r"(address(place)));
  }

private:
  uint32_t begin;
};

/// A block of so many warps.
template <int Warps> class WarpBlock {
public:
  int64_t index() const { return __nvvm_read_ptx_sreg_ctaid_x(); }

  /// Calls body(warp).
  template <typename Body> void phase(Body body) {
    body(int(__nvvm_read_ptx_sreg_tid_x()) / warpLanes);
    __syncthreads();
  }

  /// Begins to copy a chunk to shared memory, or zeros.
  void copyAsync(int, const Shared &shared, uint32_t to, const void *from,
                 bool isThere) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     shared.address(to)),
                 "l"((const __attribute__((address_space(1))) void *)from),
                 "r"(isThere ? chunkBytes : 0));
  }
  /// Waits for all that this warp has begun to copy.
  void waitForCopies(int) {
    asm volatile("cp.async.wait_all;" ::: "memory");
#if defined(WEFT_WARP_GROUPS)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }
};

/// A lane's place as loadMatrices takes it.
inline uint32_t placeInMemory(const Shared &shared, uint32_t place) {
  return shared.address(place);
}

/// Four matrices of 8 x 8 numbers of two bytes, whose rows are chunks: lane
/// 8 m + r says where row r of matrix m lies, and to[m] has of each lane two
/// elements of row lane / 4, or of column lane / 4 if they are transposed.
template <bool IsTransposed>
inline void loadMatrices(const Shared &shared, Lanes<uint32_t> (&to)[4],
                         const Lanes<uint32_t> &places, uint32_t toggled,
                         uint32_t added) {
  uint32_t address = places[0] ^ toggled;
  if constexpr (IsTransposed)
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4+%5];"
        : "=r"(to[0][0]), "=r"(to[1][0]), "=r"(to[2][0]), "=r"(to[3][0])
        : "r"(address), "i"(added));
  else
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4+%5];"
        : "=r"(to[0][0]), "=r"(to[1][0]), "=r"(to[2][0]), "=r"(to[3][0])
        : "r"(address), "i"(added));
}

/// sums (16 x 8) += a (16 x 16) times b (16 x 8), as mma.m16n8k16 has them.
template <typename Format>
inline void
    multiplyMatrices(Lanes<float> (&sums)[4], const Lanes<uint32_t> (&a)[4],
                     const Lanes<uint32_t> &b0, const Lanes<uint32_t> &b1);
#define WEFT_MMA(Format, type)                                                 \
  template <>                                                                  \
  inline void multiplyMatrices<Format>(                                        \
      Lanes<float>(&sums)[4], const Lanes<uint32_t>(&a)[4],                    \
      const Lanes<uint32_t> &b0, const Lanes<uint32_t> &b1) {                  \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "         \
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                \
        : "+f"(sums[0][0]), "+f"(sums[1][0]), "+f"(sums[2][0]),                \
          "+f"(sums[3][0])                                                     \
        : "r"(a[0][0]), "r"(a[1][0]), "r"(a[2][0]), "r"(a[3][0]), "r"(b0[0]),  \
          "r"(b1[0]));                                                         \
  }
WEFT_MMA(BFloat16, "bf16")
WEFT_MMA(Float16, "f16")

/// Rounds two numbers; the first one is in the low bits.
template <typename Format> inline uint32_t packed(float low, float high);
template <> inline uint32_t packed<BFloat16>(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <> inline uint32_t packed<Float16>(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// Each lane's value becomes that of the lane whose number differs in `bits`.
inline Lanes<float> exchanged(const Lanes<float> &value, int bits) {
  Lanes<float> other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
               : "=f"(other[0])
               : "f"(value[0]), "r"(bits));
  return other;
}

inline float powerOfTwo(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
inline float logarithmOfTwo(float x) {
  float result;
  asm("lg2.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
inline float larger(float x, float y) { return __builtin_fmaxf(x, y); }

/// The dynamic shared memory of a file's kernels.
#define WEFT_WARP_SHARED_PLACE(bytes)                                          \
  extern __attribute__((address_space(3))) char weftWarpShared[]               \
      __attribute__((aligned(1024)))
#define WEFT_WARP_SHARED                                                       \
  Shared(uint32_t((__UINTPTR_TYPE__)(__attribute__((                           \
      address_space(3))) char *)weftWarpShared))

#define WEFT_WARP_KERNEL(name, Args, Warps, body)                              \
  extern "C" __attribute__((device_kernel)) void name(Args args) {             \
    WarpBlock<Warps> block;                                                    \
    body(args, block);                                                         \
  }

#else

template <typename T> class Lanes {
public:
  T &operator[](int lane) { return values[lane]; }
  const T &operator[](int lane) const { return values[lane]; }

private:
  T values[warpLanes];
};

template <typename T, int Warps> class PerWarp {
public:
  T &operator[](int warp) { return values[warp]; }

private:
  T values[Warps];
};

template <typename Body> inline void forLanes(Body body) {
  for (int lane = 0; lane < warpLanes; ++lane)
    body(lane);
}

inline const char *madeHere(const char *value) { return value; }

class Shared {
public:
  explicit Shared(char *begin) : begin(begin) {}
  char *address(uint32_t place) const { return begin + place; }

  void loadPair(uint32_t place, float &x, float &y) const {
    __builtin_memcpy(&x, address(place), sizeof(x));
    __builtin_memcpy(&y, address(place) + sizeof(x), sizeof(y));
  }

private:
  char *begin;
};

template <int Warps> class WarpBlock {
public:
  explicit WarpBlock(int64_t place) : place(place) {}
  int64_t index() const { return place; }

  template <typename Body> void phase(Body body) {
    isReversed = !isReversed;
    for (int i = 0; i < Warps; ++i)
      body(isReversed ? Warps - 1 - i : i);
  }

  /// What nobody waits for does not come.
  void copyAsync(int warp, const Shared &shared, uint32_t to, const void *from,
                 bool isThere) {
    pending[warp].push_back({shared.address(to), isThere ? from : nullptr});
  }
  void waitForCopies(int warp) {
    for (const Copy &copy : pending[warp])
      if (copy.from)
        __builtin_memcpy(copy.to, copy.from, chunkBytes);
      else
        __builtin_memset(copy.to, 0, chunkBytes);
    pending[warp].clear();
  }

private:
  struct Copy {
    char *to;
    const void *from;
  };
  int64_t place;
  bool isReversed = false;
  std::vector<Copy> pending[Warps];
};

inline uint32_t placeInMemory(const Shared &, uint32_t place) { return place; }

template <bool IsTransposed>
inline void loadMatrices(const Shared &shared, Lanes<uint32_t> (&to)[4],
                         const Lanes<uint32_t> &places, uint32_t toggled,
                         uint32_t added) {
  for (int matrix = 0; matrix < 4; ++matrix) {
    uint16_t elements[8][8];
    for (int row = 0; row < 8; ++row)
      __builtin_memcpy(
          elements[row],
          shared.address((places[8 * matrix + row] ^ toggled) + added),
          chunkBytes);
    for (int lane = 0; lane < warpLanes; ++lane) {
      int across = lane / 4, along = 2 * (lane % 4);
      uint32_t low = IsTransposed ? elements[along][across]
                                  : elements[across][along],
               high = IsTransposed ? elements[along + 1][across]
                                   : elements[across][along + 1];
      to[matrix][lane] = low | high << 16;
    }
  }
}

template <typename Format>
inline void
multiplyMatrices(Lanes<float> (&sums)[4], const Lanes<uint32_t> (&a)[4],
                 const Lanes<uint32_t> &b0, const Lanes<uint32_t> &b1) {
  float left[16][16], right[16][8];
  auto unpack = [](uint32_t pair, float &low, float &high) {
    low = Format::load(uint16_t(pair));
    high = Format::load(uint16_t(pair >> 16));
  };
  for (int lane = 0; lane < warpLanes; ++lane) {
    int group = lane / 4, at = 2 * (lane % 4);
    for (int i = 0; i < 4; ++i) {
      float *to = &left[group + i % 2 * 8][at + i / 2 * 8];
      unpack(a[i][lane], to[0], to[1]);
    }
    unpack(b0[lane], right[at][group], right[at + 1][group]);
    unpack(b1[lane], right[at + 8][group], right[at + 9][group]);
  }
  for (int row = 0; row < 16; ++row) {
    float products[8] = {};
    for (int k = 0; k < 16; ++k)
      for (int column = 0; column < 8; ++column)
        products[column] += left[row][k] * right[k][column];
    for (int column = 0; column < 8; ++column)
      sums[row / 8 * 2 + column % 2][row % 8 * 4 + column / 2] +=
          products[column];
  }
}

template <typename Format> inline uint32_t packed(float low, float high) {
  return Format::store(low) | uint32_t(Format::store(high)) << 16;
}

inline Lanes<float> exchanged(const Lanes<float> &value, int bits) {
  Lanes<float> other;
  for (int lane = 0; lane < warpLanes; ++lane)
    other[lane] = value[lane ^ bits];
  return other;
}

inline float powerOfTwo(float x) { return std::exp2(x); }
inline float logarithmOfTwo(float x) { return std::log2(x); }
inline float larger(float x, float y) { return x > y ? x : y; }

/// NaN bits, as the device's may hold anything.
#define WEFT_WARP_SHARED_PLACE(bytes) static char weftWarpShared[bytes]
#define WEFT_WARP_SHARED                                                       \
  Shared(static_cast<char *>(                                                  \
      __builtin_memset(weftWarpShared, 0xff, sizeof(weftWarpShared))))

#define WEFT_WARP_KERNEL(name, Args, Warps, body)                              \
  extern "C" void name(void **params, const uint32_t *grid, const uint32_t *,  \
                       uint32_t) {                                             \
    for (int64_t i = 0; i < grid[0]; ++i) {                                    \
      WarpBlock<Warps> block(i);                                               \
      body(*static_cast<const Args *>(params[0]), block);                      \
    }                                                                          \
  }

#endif

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_WARP_H
