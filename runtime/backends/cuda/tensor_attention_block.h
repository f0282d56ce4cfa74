// SPDX-License-Identifier: Apache-2.0

// What the kernels of attention on tensor cores have in common: tiles of rows
// of a sequence in shared memory, products of them by warps, and which keys a
// query sees.
//
// A tile has rows of 64 elements of two bytes, one after the other, and then,
// of heads of 128, the rows' other halves; zeros are after what a head has.
// Chunk c of row r lies at chunk c ^ (r % 8), so that eight rows' chunks, which
// are read at once, are in different banks, and as wgmma wants it.

#ifndef WEFT_RT_CUDA_TENSOR_ATTENTION_BLOCK_H
#define WEFT_RT_CUDA_TENSOR_ATTENTION_BLOCK_H

#include "backends/cuda/attention_block.h"
#include "backends/cuda/tensor_attention_args.h"
#include "backends/cuda/warp_group.h"

namespace weft::rt::cuda {
namespace {

constexpr float log2OfE = 0x1.715476p+0f, logOf2 = 0x1.62e43p-1f;

/// 16 x 8 sums of a warp: lane l has those of row l / 4 and columns 2 (l % 4)
/// and the next, and then those of row l / 4 + 8.
using TileSums = Lanes<float>[4];
/// 16 x 16 numbers of two bytes, which are multiplied.
using TileParts = Lanes<uint32_t>[4];

inline int rowInTile(int lane, int i) { return lane / 4 + i / 2 * 8; }
inline int columnInTile(int lane, int i) { return 2 * (lane % 4) + i % 2; }

// ---- tiles in shared memory ------------------------------------------------

/// Whether products are those of groups of four warps, which then have to do
/// the same.
#if defined(WEFT_WARP_GROUPS)
constexpr bool hasGroups = true;
#else
constexpr bool hasGroups = false;
#endif

template <int Head> using TilesOf = TensorTiles<Head, hasGroups>;

constexpr int rowBytes = 128, rowChunks = rowBytes / chunkBytes,
              twoChunks = 2 * chunkBytes, eightRows = 8 * rowBytes;
/// From a tile's half to the other one.
template <int Rows> constexpr int halfBytes = Rows * rowBytes;

template <int Rows> inline uint32_t placeOf(int row, int chunk) {
  return uint32_t(chunk / rowChunks * halfBytes<Rows> + row * rowBytes +
                  ((chunk % rowChunks ^ (row & 7)) * chunkBytes));
}

/// Rows of a tensor for a head.
struct RowSource {
  const char *data;  // of the first row
  int64_t stride;    // bytes
  int count, chunks; // rows that are there, and chunks of each

  RowSource from(int row) const {
    return {data + row * stride, stride, count - row, chunks};
  }
};

/// Begins to bring a warp's part of `Rows` rows.
template <int Head, int Rows, int Warps>
void bringRows(WarpBlock<Warps> &block, int warp, const Shared &shared,
               uint32_t tile, const RowSource &from) {
  constexpr int across = Head / 8, step = Warps * warpLanes / across;
  static_assert(Rows % step == 0);
  forLanes([&](int lane) {
    int thread = warp * warpLanes + lane;
    int chunk = thread % across, first = thread / across;
    const char *source =
        madeHere(from.data + first * from.stride + chunk * chunkBytes);
    int count = chunk < from.chunks ? from.count - first : 0;
    WEFT_UNROLL
    for (int i = 0; i < Rows; i += step) {
      bool isThere = i < count;
      block.copyAsync(warp, shared, tile + placeOf<Rows>(first + i, chunk),
                      isThere ? source : from.data, isThere);
      source += step * from.stride;
    }
  });
}

/// Begins to bring floats that are padded to whole chunks.
template <int Count, int Warps>
void bringFloats(WarpBlock<Warps> &block, int warp, const Shared &shared,
                 uint32_t to, const float *from) {
  constexpr int each = chunkBytes / int(sizeof(float));
  forLanes([&](int lane) {
    int thread = warp * warpLanes + lane;
    if (thread < Count / each)
      block.copyAsync(warp, shared, to + thread * chunkBytes,
                      from + thread * each, true);
  });
}

/// Where a lane reads 16 rows, from their first chunks on, as rows of the
/// product's left side, or, transposed, as what it sums over.
inline Lanes<uint32_t> placesOfRows(const Shared &shared, uint32_t first) {
  Lanes<uint32_t> places;
  forLanes([&](int lane) {
    places[lane] =
        placeInMemory(shared, first) + placeOf<groupRows>(lane % 16, lane / 16);
  });
  return places;
}
/// The same as columns of the product.
inline Lanes<uint32_t> placesOfColumns(const Shared &shared, uint32_t first) {
  Lanes<uint32_t> places;
  forLanes([&](int lane) {
    places[lane] = placeInMemory(shared, first) +
                   placeOf<groupRows>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
  });
  return places;
}

// ---- products --------------------------------------------------------------

template <int M, int N> void clear(TileSums (&sums)[M][N]) {
  forLanes([&](int lane) {
    WEFT_UNROLL
    for (int m = 0; m < M; ++m) {
      WEFT_UNROLL
      for (int n = 0; n < N; ++n) {
        WEFT_UNROLL
        for (int i = 0; i < 4; ++i)
          sums[m][n][i][lane] = 0;
      }
    }
  });
}

template <int M, int N>
void copy(TileSums (&to)[M][N], const TileSums (&from)[M][N]) {
  forLanes([&](int lane) {
    WEFT_UNROLL
    for (int m = 0; m < M; ++m) {
      WEFT_UNROLL
      for (int n = 0; n < N; ++n) {
        WEFT_UNROLL
        for (int i = 0; i < 4; ++i)
          to[m][n][i][lane] = from[m][n][i][lane];
      }
    }
  });
}

/// Begins sums += products along the head of a warp's rows of a tile, 16 M from
/// `row` on, and all rows of another one, 8 N.
template <typename Format, int Head, int Rows, int M, int N>
void beginHeads(const Shared &shared, TileSums (&sums)[M][N], uint32_t tile,
                int row, uint32_t other) {
  constexpr int columns = 8 * N, steps = rowBytes / twoChunks;
  if constexpr (hasGroups) {
    static_assert(M == 1);
    int inGroup = row % groupRows;
    tile += (row - inGroup) * rowBytes;
    auto descriptor = [&](uint32_t place) {
      return matrixDescriptor(groupAddress(shared, place), chunkBytes,
                              eightRows);
    };
    beginProducts(sums[0]);
    WEFT_UNROLL
    for (int k = 0; k < Head / 16; ++k) {
      int at = k % steps * twoChunks, half = k / steps;
      addProduct<Format>(
          shared, sums[0], descriptor(tile + at + half * halfBytes<Rows>),
          inGroup, descriptor(other + at + half * halfBytes<columns>));
    }
    commitProducts();
    return;
  }
  Lanes<uint32_t> left = placesOfRows(shared, tile + row * rowBytes),
                  right = placesOfColumns(shared, other);
  WEFT_UNROLL
  for (int k = 0; k < Head / 16; ++k) {
    TileParts a[M];
    uint32_t toggled = k % steps * twoChunks, half = k / steps;
    WEFT_UNROLL
    for (int m = 0; m < M; ++m)
      loadMatrices<false>(shared, a[m], left, toggled,
                          half * halfBytes<Rows> + m * 16 * rowBytes);
    WEFT_UNROLL
    for (int n = 0; n < N; n += 2) {
      TileParts b;
      loadMatrices<false>(shared, b, right, toggled,
                          half * halfBytes<columns> + n * 8 * rowBytes);
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        multiplyMatrices<Format>(sums[m][n], a[m], b[0], b[1]);
        multiplyMatrices<Format>(sums[m][n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// Begins sums += parts times all rows of a tile, 16 K.
template <typename Format, int Head, int M, int K>
void beginRows(const Shared &shared, TileSums (&sums)[M][Head / 8],
               const TileParts (&parts)[M][K], uint32_t tile) {
  constexpr int rows = 16 * K;
  if constexpr (hasGroups) {
    static_assert(M == 1);
    beginProducts(sums[0]);
    WEFT_UNROLL
    for (int k = 0; k < K; ++k)
      addProduct<Format>(
          shared, sums[0], parts[0][k],
          matrixDescriptor(groupAddress(shared, tile + k * 16 * rowBytes),
                           halfBytes<rows>, eightRows));
    commitProducts();
    return;
  }
  Lanes<uint32_t> right = placesOfRows(shared, tile);
  WEFT_UNROLL
  for (int k = 0; k < K; ++k) {
    WEFT_UNROLL
    for (int n = 0; n < Head / 8; n += 2) {
      TileParts b;
      loadMatrices<true>(shared, b, right, n * chunkBytes % rowBytes,
                         n / rowChunks * halfBytes<rows> + k * 16 * rowBytes);
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        multiplyMatrices<Format>(sums[m][n], parts[m][k], b[0], b[1]);
        multiplyMatrices<Format>(sums[m][n + 1], parts[m][k], b[2], b[3]);
      }
    }
  }
}

/// Waits until what was begun for sums is over, where so many others were begun
/// after it. Parts are kept until then.
template <int Others = 0, int M, int N> void end(TileSums (&sums)[M][N]) {
  if constexpr (hasGroups)
    endProducts<Others>(sums[0]);
}
template <int M, int K> void hold(const TileParts (&parts)[M][K]) {
  if constexpr (hasGroups)
    holdParts(parts[0]);
}

/// Rounds sums, which are then the left side of a product.
template <typename Format, int M, int N>
void pack(TileParts (&parts)[M][N / 2], const TileSums (&sums)[M][N]) {
  forLanes([&](int lane) {
    WEFT_UNROLL
    for (int m = 0; m < M; ++m) {
      WEFT_UNROLL
      for (int n = 0; n < N; ++n) {
        WEFT_UNROLL
        for (int half = 0; half < 2; ++half)
          parts[m][n / 2][n % 2 * 2 + half][lane] = packed<Format>(
              sums[m][n][2 * half][lane], sums[m][n][2 * half + 1][lane]);
      }
    }
  });
}

// ---- heads -----------------------------------------------------------------

/// Which keys queries see, as far as positions say.
class Window {
public:
  explicit Window(const AttentionArgs &args)
      : queries(int(args.queries)), keys(int(args.keys)),
        lowest(args.left < 0 ? -far : near(args.queryStart - args.left)),
        highest(args.right < 0 ? far : near(args.queryStart + args.right)) {}

  struct Span {
    int first, last;
    bool has(int at) const { return at >= first && at < last; }
  };
  /// Keys that a query sees, and queries that see a key or are not there, less
  /// an origin.
  Span seenBy(int query, int origin) const {
    int last = query + highest + 1;
    return {query + lowest - origin, (last < keys ? last : keys) - origin};
  }
  Span seeing(int key, int origin) const {
    return {key - highest - origin, key - lowest + 1 - origin};
  }
  /// Whether some of these queries see some of these keys, and all see all.
  bool isSeen(int query, int numQueries, int key, int numKeys) const {
    return key + numKeys > query + lowest &&
           key <= query + numQueries - 1 + highest;
  }
  bool isWhole(int query, int numQueries, int key, int numKeys) const {
    return key >= query + numQueries - 1 + lowest &&
           key + numKeys - 1 <= query + highest && key + numKeys <= keys;
  }
  /// Keys that some of the queries see, and the other way round. The first is
  /// not after the last; both are 0 where there are none.
  Span keysOf(int query, int numQueries) const {
    return spanOf(query + lowest, query + numQueries + highest, keys);
  }
  Span queriesOf(int key, int numKeys) const {
    return spanOf(key - highest, key + numKeys - lowest, queries);
  }

private:
  static constexpr int far = int(tensorPositions);
  static int near(int64_t position) {
    return int(position < -far ? -far : position > far ? far : position);
  }
  static Span spanOf(int first, int last, int count) {
    first = first > 0 ? first : 0;
    last = last < count ? last : count;
    return first < last ? Span{first, last} : Span{0, 0};
  }

  int queries, keys, lowest, highest;
};

/// What tensors of a head hold.
class TensorHeads {
public:
  explicit TensorHeads(const AttentionArgs &args) : args(args), heads(args) {}

  /// Rows of a tensor of two bytes an element.
  RowSource rows(int tensor, Head head, bool isQueries, bool isValues) const {
    const AttentionTensor &t = args.tensors[tensor];
    return {static_cast<const char *>(t.data) + 2 * heads.offset(tensor, head),
            2 * (isQueries ? t.query : t.key),
            int(isQueries ? args.queries : args.keys),
            int((isValues ? args.values : args.depth) / 8)};
  }

  int64_t numberOf(Head head) const {
    return head.batch * args.groups + head.group;
  }
  /// log2 of the sums of a head's exponentials; deltas are as far after it as
  /// all of them are long.
  float *sumsOf(Head head) const {
    return reinterpret_cast<float *>(args.rows) +
           numberOf(head) * paddedQueries(args.queries);
  }
  int64_t toDeltas() const {
    return args.batches * args.groups * paddedQueries(args.queries);
  }

  /// Stores a warp's sums times a factor; each lane's begin at `row`.
  template <int M, int N>
  void storeSums(const TileSums (&sums)[M][N], int tensor, Head head, int row,
                 bool isQueries, bool isValues, float factor) const {
    const AttentionTensor &t = args.tensors[tensor];
    int64_t begin = heads.offset(tensor, head),
            stride = isQueries ? t.query : t.key;
    int count = int(isQueries ? args.queries : args.keys),
        width = int(isValues ? args.values : args.depth);
    forLanes([&](int lane) {
      WEFT_UNROLL
      for (int m = 0; m < M; ++m) {
        WEFT_UNROLL
        for (int half = 0; half < 2; ++half) {
          int at = row + m * 16 + rowInTile(lane, 2 * half);
          if (at >= count)
            continue;
          int64_t place = begin + at * stride + columnInTile(lane, 0);
          WEFT_UNROLL
          for (int n = 0; n < N; ++n)
            if (n * 8 < width)
              storePair(t.type, t.data, place + n * 8,
                        sums[m][n][2 * half][lane] * factor,
                        sums[m][n][2 * half + 1][lane] * factor);
        }
      }
    });
  }

  static void storePair(int32_t type, void *data, int64_t at, float x,
                        float y) {
    if (type == WEFT_RT_F32) {
      float pair[2] = {x, y};
      __builtin_memcpy(__builtin_assume_aligned(static_cast<float *>(data) + at,
                                                sizeof(pair)),
                       pair, sizeof(pair));
      return;
    }
    uint32_t pair =
        type == WEFT_RT_BF16 ? packed<BFloat16>(x, y) : packed<Float16>(x, y);
    *reinterpret_cast<uint32_t *>(static_cast<uint16_t *>(data) + at) = pair;
  }

  const AttentionArgs &args;
  const Heads heads;
};

} // namespace
} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_TENSOR_ATTENTION_BLOCK_H
