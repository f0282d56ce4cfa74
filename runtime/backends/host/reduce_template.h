// SPDX-License-Identifier: Apache-2.0

// The reduction kernels, written once and compiled for several instruction
// sets. Everything is in an anonymous namespace and no library template is
// used, so that no function compiled for AVX-512 can be picked by the linker
// for another file.
//
// A kernel works in small blocks, so that it reads all inputs side by side,
// once: the values of a block stay in local arrays, which no input can alias,
// so that each loop is vectorized without checks, also when the output is one
// of the inputs. It asks for what it reads next ahead of time: with a row of
// each input in turn, the processor would see no pattern.
//
// Include only from reduce_<set>.cpp.

#ifndef WEFT_RT_HOST_REDUCE_TEMPLATE_H
#define WEFT_RT_HOST_REDUCE_TEMPLATE_H

#include "backends/host/reduce_kernels.h"
#include "core/float_formats.h"

#include <stdint.h>
#include <string.h>

namespace weft::rt {
namespace {

// ---- words: what is read and written at once -------------------------------

/// Words of one element.
template <typename Format> struct WordsOf : Format {
  using Word = typename Format::Stored;
  using Value = typename Format::Value;
  static constexpr int64_t perWord = 1;
  static Value get(Word x, int64_t) { return Format::load(x); }
  static Word put(const Value *x) { return Format::narrow(*x); }
};

/// Words of two elements, so that nothing changes its width on the way to f32
/// and back.
template <> struct WordsOf<BFloat16> : BFloat16 {
  using Word = uint32_t;
  static constexpr int64_t perWord = 2;
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                "the first element is the lower half");
  static Value get(Word x, int64_t element) {
    return bitsAs<float>(element == 0 ? x << 16 : x & 0xffff0000);
  }
  static Word put(const Value *x) {
    return bitsAs<uint32_t>(x[0]) >> 16 | bitsAs<uint32_t>(x[1]);
  }
};

// ---- operations ------------------------------------------------------------

template <typename T> constexpr bool isFloat = false;
template <> constexpr bool isFloat<float> = true;
template <> constexpr bool isFloat<double> = true;

template <typename T> struct UnsignedOf {
  using Type = T;
};
template <> struct UnsignedOf<int8_t> {
  using Type = uint8_t;
};
template <> struct UnsignedOf<int16_t> {
  using Type = uint16_t;
};
template <> struct UnsignedOf<int32_t> {
  using Type = uint32_t;
};
template <> struct UnsignedOf<int64_t> {
  using Type = uint64_t;
};
template <> struct UnsignedOf<float> {
  using Type = uint32_t;
};
template <> struct UnsignedOf<double> {
  using Type = uint64_t;
};

struct Sum {
  template <typename T> static T apply(T a, T b) {
    if constexpr (isFloat<T>)
      return a + b;
    else // wraps; the cast keeps narrow types from promoting to signed int
      return T(uint64_t(a) + uint64_t(b));
  }
};

struct Prod {
  template <typename T> static T apply(T a, T b) {
    if constexpr (isFloat<T>)
      return a * b;
    else
      return T(uint64_t(a) * uint64_t(b));
  }
};

/// Of two NaNs, one with the bits of both, so that their order does not matter.
template <typename T> T eitherNaN(T a, T b) {
  using Bits = typename UnsignedOf<T>::Type;
  T both = bitsAs<T>(Bits(bitsAs<Bits>(a) | bitsAs<Bits>(b)));
  T one = a != a ? a : b;
  return a != a && b != b ? both : one;
}

/// NaN wins; of two zeros, the positive one.
struct Max {
  template <typename T> static T apply(T a, T b) {
    if constexpr (isFloat<T>) {
      using Bits = typename UnsignedOf<T>::Type;
      T equal = bitsAs<T>(Bits(bitsAs<Bits>(a) & bitsAs<Bits>(b)));
      T larger = a == b ? equal : a > b ? a : b;
      return a != a || b != b ? eitherNaN(a, b) : larger;
    } else {
      return a > b ? a : b;
    }
  }
};

/// NaN wins; of two zeros, the negative one.
struct Min {
  template <typename T> static T apply(T a, T b) {
    if constexpr (isFloat<T>) {
      using Bits = typename UnsignedOf<T>::Type;
      T equal = bitsAs<T>(Bits(bitsAs<Bits>(a) | bitsAs<Bits>(b)));
      T smaller = a == b ? equal : a < b ? a : b;
      return a != a || b != b ? eitherNaN(a, b) : smaller;
    } else {
      return a < b ? a : b;
    }
  }
};

struct And {
  template <typename T> static T apply(T a, T b) { return T(a & b); }
};

struct Or {
  template <typename T> static T apply(T a, T b) { return T(a | b); }
};

/// Minimum of f8E8M0FNU, which is a bare exponent: 0xff is its NaN and wins.
/// Its maximum is the maximum of bytes.
struct ScaleMin {
  static uint8_t apply(uint8_t a, uint8_t b) {
    uint8_t less = a < b ? a : b;
    return a == 0xff || b == 0xff ? 0xff : less;
  }
};

// ---- the kernel ------------------------------------------------------------

constexpr int64_t blockElements = 64;

/// Asks for the block at `from`, which will be read soon; any address will do.
template <typename Stored> void fetchBlock(const Stored *from) {
  constexpr int64_t perLine = 64 / sizeof(Stored);
  for (int64_t i = 0; i < blockElements; i += perLine)
    __builtin_prefetch(from + i);
}

/// Combines a block, one input after the other. Inlined, so that a full block's
/// running values stay in registers.
template <typename Format, typename Op> struct Chain {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  [[gnu::always_inline]] static void combine(const void *const *inputs,
                                             int64_t members, int64_t at,
                                             int64_t count, int64_t ahead,
                                             Stored *out) {
    Value running[blockElements];
    const Stored *first = static_cast<const Stored *>(inputs[0]) + at;
    fetchBlock(first + ahead);
    for (int64_t i = 0; i < count; ++i)
      running[i] = Format::load(first[i]);
    for (int64_t member = 1; member < members; ++member) {
      const Stored *next = static_cast<const Stored *>(inputs[member]) + at;
      fetchBlock(next + ahead);
      for (int64_t i = 0; i < count; ++i)
        running[i] = Op::apply(running[i], Format::load(next[i]));
    }
    for (int64_t i = 0; i < count; ++i)
      out[i] = Format::store(running[i]);
  }
};

/// Combines a block as a tree of inputs.
template <typename Format, typename Op> struct Tree {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  static Value join(Value a, Value b) { return Format::round(Op::apply(a, b)); }

  /// Joins 1, 2 or 4 inputs where they are read.
  [[gnu::always_inline]] static void joinFew(const void *const *inputs,
                                             int64_t members, int64_t at,
                                             int64_t count, int64_t ahead,
                                             Value *values) {
    const Stored *x[4] = {};
    for (int64_t j = 0; j < members; ++j) {
      x[j] = static_cast<const Stored *>(inputs[j]) + at;
      fetchBlock(x[j] + ahead);
    }
    if (members == 4)
      for (int64_t i = 0; i < count; ++i)
        values[i] = join(join(Format::load(x[0][i]), Format::load(x[1][i])),
                         join(Format::load(x[2][i]), Format::load(x[3][i])));
    else if (members == 2)
      for (int64_t i = 0; i < count; ++i)
        values[i] = join(Format::load(x[0][i]), Format::load(x[1][i]));
    else
      for (int64_t i = 0; i < count; ++i)
        values[i] = Format::load(x[0][i]);
  }

  /// `isFull`: the block has its full size, which the compiler then knows.
  template <bool isFull>
  static void joinAll(const void *const *inputs, int64_t members, int64_t at,
                      int64_t count, int64_t ahead, Value *values) {
    const int64_t size = isFull ? blockElements : count;
    if (members <= 4 && members != 3)
      return joinFew(inputs, members, at, size, ahead, values);
    int64_t half = 2;
    while (2 * half < members)
      half *= 2;
    Value rest[blockElements];
    joinAll<isFull>(inputs, half, at, size, ahead, values);
    joinAll<isFull>(inputs + half, members - half, at, size, ahead, rest);
    for (int64_t i = 0; i < size; ++i)
      values[i] = join(values[i], rest[i]);
  }

  [[gnu::always_inline]] static void combine(const void *const *inputs,
                                             int64_t members, int64_t at,
                                             int64_t count, int64_t ahead,
                                             Stored *out) {
    Value values[blockElements];
    if (count == blockElements)
      joinAll<true>(inputs, members, at, count, ahead, values);
    else
      joinAll<false>(inputs, members, at, count, ahead, values);
    for (int64_t i = 0; i < count; ++i)
      out[i] = Format::narrow(values[i]);
  }
};

/// Combines a full block as a tree of `members` inputs, a power of two: reads a
/// word of each and joins them with nothing in between.
template <typename Format, typename Op, int64_t members> struct SmallTree {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;
  using Words = WordsOf<Format>;
  using Word = typename Words::Word;

  /// The tree of `count` inputs from x[0] on: an element of their words `i`.
  template <int64_t count>
  [[gnu::always_inline]] static Value joinElement(const Stored *const *x,
                                                  int64_t i, int64_t element) {
    if constexpr (count == 1) {
      Word word;
      memcpy(&word, x[0] + i * Words::perWord, sizeof(word));
      return Words::get(word, element);
    } else {
      return Tree<Format, Op>::join(
          joinElement<count / 2>(x, i, element),
          joinElement<count / 2>(x + count / 2, i, element));
    }
  }

  [[gnu::always_inline]] static void combine(const void *const *inputs, int64_t,
                                             int64_t at, int64_t, int64_t ahead,
                                             Stored *out) {
    constexpr int64_t words = blockElements / Words::perWord;
    const Stored *x[members];
    for (int64_t j = 0; j < members; ++j) {
      x[j] = static_cast<const Stored *>(inputs[j]) + at;
      fetchBlock(x[j] + ahead);
    }
    Word block[words];
    for (int64_t i = 0; i < words; ++i) {
      Value values[Words::perWord];
      for (int64_t element = 0; element < Words::perWord; ++element)
        values[element] = joinElement<members>(x, i, element);
      block[i] = Words::put(values);
    }
    memcpy(out, block, sizeof(block));
  }
};

/// Combines full blocks in one way, and what is left in another.
template <typename Block, typename Rest = Block>
void reduceAll(const void *const *inputs, int64_t members, int64_t offset,
               int64_t count, int64_t ahead, void *out) {
  auto *to = static_cast<typename Block::Stored *>(out);
  int64_t done = 0;
  for (; done + blockElements <= count; done += blockElements)
    Block::combine(inputs, members, offset + done, blockElements, ahead,
                   to + done);
  if (done < count)
    Rest::combine(inputs, members, offset + done, count - done, ahead,
                  to + done);
}

template <typename Format, typename Op, int64_t members>
constexpr auto reduceSmallTree =
    reduceAll<SmallTree<Format, Op, members>, Tree<Format, Op>>;

/// Formats whose values are widened and rounded in a moment. Others gain
/// nothing from having all inputs' values in registers.
template <typename Format>
constexpr bool isCheap =
    sizeof(typename Format::Stored) == sizeof(typename Format::Value);
template <> constexpr bool isCheap<BFloat16> = true;

template <typename Format, typename Op>
void reduceTree(const void *const *inputs, int64_t members, int64_t offset,
                int64_t count, int64_t ahead, void *out) {
  ReduceKernel kernel = reduceAll<Tree<Format, Op>>;
  if constexpr (isCheap<Format>) {
    if (members == 2)
      kernel = reduceSmallTree<Format, Op, 2>;
    else if (members == 4)
      kernel = reduceSmallTree<Format, Op, 4>;
    else if (members == 8)
      kernel = reduceSmallTree<Format, Op, 8>;
  }
  kernel(inputs, members, offset, count, ahead, out);
}

/// A chain of two is a tree.
template <typename Format, typename Op>
void reduceChain(const void *const *inputs, int64_t members, int64_t offset,
                 int64_t count, int64_t ahead, void *out) {
  ReduceKernel kernel = reduceAll<Chain<Format, Op>>;
  if constexpr (isCheap<Format>)
    if (members == 2)
      kernel = reduceSmallTree<Format, Op, 2>;
  kernel(inputs, members, offset, count, ahead, out);
}

/// Where values are rounded, their order matters.
template <typename Format, typename Op>
ReduceKernel orderedKernel(ReduceOrder order) {
  if constexpr (isFloat<typename Format::Value>)
    return order == ReduceOrder::Tree ? reduceTree<Format, Op>
                                      : reduceChain<Format, Op>;
  return reduceAll<Chain<Format, Op>>;
}

template <typename Format>
ReduceKernel numberKernel(weft_rt_reduction reduction, ReduceOrder order) {
  switch (reduction) {
  case WEFT_RT_SUM:
    return orderedKernel<Format, Sum>(order);
  case WEFT_RT_PROD:
    return orderedKernel<Format, Prod>(order);
  case WEFT_RT_MAX:
    return reduceAll<Chain<Format, Max>>;
  case WEFT_RT_MIN:
    return reduceAll<Chain<Format, Min>>;
  default:
    return nullptr;
  }
}

template <typename T> ReduceKernel integerKernel(weft_rt_reduction reduction) {
  using Bits = Plain<typename UnsignedOf<T>::Type>;
  if (reduction == WEFT_RT_AND)
    return reduceAll<Chain<Bits, And>>;
  if (reduction == WEFT_RT_OR)
    return reduceAll<Chain<Bits, Or>>;
  return numberKernel<Plain<T>>(reduction, ReduceOrder::Chain);
}

ReduceKernel truthKernel(weft_rt_reduction reduction) {
  if (reduction == WEFT_RT_AND || reduction == WEFT_RT_MIN)
    return reduceAll<Chain<Plain<uint8_t>, And>>;
  if (reduction == WEFT_RT_OR || reduction == WEFT_RT_MAX)
    return reduceAll<Chain<Plain<uint8_t>, Or>>;
  return nullptr;
}

ReduceKernel scaleKernel(weft_rt_reduction reduction) {
  if (reduction == WEFT_RT_MAX)
    return reduceAll<Chain<Plain<uint8_t>, Max>>;
  if (reduction == WEFT_RT_MIN)
    return reduceAll<Chain<Plain<uint8_t>, ScaleMin>>;
  return nullptr;
}

ReduceKernel findKernel(weft_rt_type type, weft_rt_reduction reduction,
                        ReduceOrder order) {
  switch (type) {
  case WEFT_RT_I1:
    return truthKernel(reduction);
  case WEFT_RT_I8:
    return integerKernel<int8_t>(reduction);
  case WEFT_RT_U8:
    return integerKernel<uint8_t>(reduction);
  case WEFT_RT_I16:
    return integerKernel<int16_t>(reduction);
  case WEFT_RT_U16:
    return integerKernel<uint16_t>(reduction);
  case WEFT_RT_I32:
    return integerKernel<int32_t>(reduction);
  case WEFT_RT_U32:
    return integerKernel<uint32_t>(reduction);
  case WEFT_RT_I64:
    return integerKernel<int64_t>(reduction);
  case WEFT_RT_U64:
    return integerKernel<uint64_t>(reduction);
  case WEFT_RT_F16:
    return numberKernel<Float16>(reduction, order);
  case WEFT_RT_BF16:
    return numberKernel<BFloat16>(reduction, order);
  case WEFT_RT_F32:
    return numberKernel<Plain<float>>(reduction, order);
  case WEFT_RT_F64:
    return numberKernel<Plain<double>>(reduction, order);
  case WEFT_RT_F8E4M3FN:
    return numberKernel<F8E4M3>(reduction, order);
  case WEFT_RT_F8E5M2:
    return numberKernel<F8E5M2>(reduction, order);
  case WEFT_RT_F8E8M0FNU:
    return scaleKernel(reduction);
  default:
    return nullptr;
  }
}

} // namespace
} // namespace weft::rt

#endif // WEFT_RT_HOST_REDUCE_TEMPLATE_H
