// SPDX-License-Identifier: Apache-2.0

// Loop order: column blocks of B that fit the second-level cache when packed;
// inside, blocks of K in order; inside, a few tiles' rows of A, packed just
// before use, against all column panels. Where the sum over K must be complete
// before it may touch C (C is narrower than the sums, or C += with several
// blocks of K), the sums wait in the workspace.

#include "blocked.h"

#include "workspace.h"

#include <algorithm>

namespace weft::rt::detail {

int64_t typeBytes(weft_rt_type type) {
  switch (type) {
  case WEFT_RT_F64:
    return 8;
  case WEFT_RT_F32:
    return 4;
  default:
    return 2;
  }
}

namespace {

/// Rows of a matrix that are read together when columns are packed; a multiple
/// of every KernelSet::kMultiple.
constexpr int64_t kFewRows = 32;

/// Tiles of rows of A that are packed together.
constexpr int64_t kTilesPerBlock = 4;

int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// A column panel of the current block: how the microkernel addresses it.
struct Panel {
  const char *data;
  int64_t step; // bytes
  int columns;
  bool unitB, unitC;
  bool inPlace;
};

class RectangleRun {
public:
  RectangleRun(const Plan &plan, const KernelSet &kernels, const char *a,
               const char *b, char *c)
      : plan(plan), kernels(kernels), ws(threadWorkspace()), a(a), b(b), c(c),
        bytesA(typeBytes(plan.typeA)), bytesB(typeBytes(plan.typeB)),
        kBlocks(std::max<int64_t>(1, ceilDiv(plan.k.size, kGemmKBlock))) {
    bool sumsLikeC = typeBytes(plan.typeC) == kernels.accBytes;
    inPlace = sumsLikeC && (kBlocks == 1 || !plan.accumulate);
    inWorkspace = !inPlace && kBlocks > 1;
  }

  void run(const Rectangle &rectangle);

private:
  void beginColumns(int64_t begin, int64_t count);
  void beginK(int64_t block, int64_t rows);
  void makePanel(int index, bool mayUseInPlace);
  void packB();
  void packPanel(int index, int64_t k, int64_t count);
  void runRows(int64_t begin, int64_t count);
  void runBlockOfRows(int64_t begin, int64_t count, int64_t indexInSums);
  void chooseA(int64_t rows);
  void packA(int64_t tiles);
  void packTileA(int64_t tile, int64_t k, int64_t count);
  void runTileRow(const char *tileA, int64_t first, int rows, char *sums);
  void flush(const void *sums, int64_t ld, int64_t row, int64_t rows,
             int64_t column, int64_t count, bool unit, bool add);
  void flushSums(int64_t begin, int64_t count);

  const Plan &plan;
  const KernelSet &kernels;
  Workspace &ws;
  const char *const a, *const b;
  char *const c;
  const int64_t bytesA, bytesB, kBlocks;
  bool inPlace;     // tiles are written to C or added to it
  bool inWorkspace; // tiles are added up in ws.sums

  // The current column block.
  int64_t columns = 0;
  int panels = 0;
  Panel panel[kMaxBlockColumns / 2];

  // The current block of K.
  int64_t kCount = 0, kPadded = 0;
  bool firstK = true;
  bool unitKA = false, unitKB = false;
  int64_t strideKB = 0;

  // The current rows of A, as the microkernel addresses them, in bytes.
  bool directA = false, lanesA = false;
  int64_t rowA = 0, stepA = 0, tileA = 0;
  int64_t tileBegin[kTilesPerBlock + 1];
};

void RectangleRun::run(const Rectangle &rectangle) {
  int64_t block = std::min(
      kMaxBlockColumns, kPackedBBytes / (kGemmKBlock * kernels.operandBytes));
  for (int64_t n = rectangle.nBegin; n < rectangle.nEnd; n += block) {
    beginColumns(n, std::min(block, rectangle.nEnd - n));
    int64_t rows = rectangle.mEnd - rectangle.mBegin;
    if (inWorkspace)
      rows = kSumBytes / (kernels.accBytes * columns);
    for (int64_t m = rectangle.mBegin; m < rectangle.mEnd; m += rows)
      runRows(m, std::min(rows, rectangle.mEnd - m));
  }
}

void RectangleRun::beginColumns(int64_t begin, int64_t count) {
  columns = count;
  panels = int(ceilDiv(count, kernels.cols));
  fillOffsets(plan.n, &Dim::b, begin, count, ws.nB);
  fillOffsets(plan.n, &Dim::c, begin, count, ws.nC);
  for (int i = 0; i < panels; ++i) {
    int64_t first = int64_t(i) * kernels.cols;
    panel[i].columns = int(std::min<int64_t>(kernels.cols, count - first));
    panel[i].unitC = isUniform(ws.nC + first, panel[i].columns, 1);
  }
}

/// Decides how the microkernel addresses a panel.
void RectangleRun::makePanel(int index, bool mayUseInPlace) {
  Panel &p = panel[index];
  int64_t first = int64_t(index) * kernels.cols;
  const int64_t *offset = ws.nB + first;
  p.unitB = isUniform(offset, p.columns, 1);
  p.inPlace = mayUseInPlace && p.unitB && p.columns == kernels.cols;
  if (p.inPlace) {
    p.data = b + (offset[0] + ws.kB[0]) * bytesB;
    p.step = strideKB * bytesB;
  } else {
    p.data = ws.packedB + first * kGemmKBlock * kernels.operandBytes;
    p.step = int64_t(kernels.cols) * kernels.stepBytes();
  }
}

void RectangleRun::packPanel(int index, int64_t k, int64_t count) {
  const Panel &p = panel[index];
  int64_t first = int64_t(index) * kernels.cols;
  int padded = int(ceilDiv(p.columns, kernels.lanes)) * kernels.lanes;
  char *packed = ws.packedB + first * kGemmKBlock * kernels.operandBytes;
  kernels.packLanes({packed + k / kernels.kPerStep * p.step, p.step, b,
                     plan.typeB, ws.nB + first, p.columns, padded, ws.kB + k,
                     count, p.unitB, unitKB});
}

/// Memory is read row by row where rows lie along N: a few rows of all panels
/// at a time, as each row is likely on a page of its own.
void RectangleRun::packB() {
  int64_t step = unitKB ? kCount : kFewRows;
  for (int64_t k = 0; k < kCount; k += step)
    for (int i = 0; i < panels; ++i)
      if (!panel[i].inPlace)
        packPanel(i, k, std::min(step, kCount - k));
}

void RectangleRun::beginK(int64_t block, int64_t rows) {
  int64_t begin = block * kGemmKBlock;
  firstK = block == 0;
  kCount = std::min(kGemmKBlock, plan.k.size - begin);
  kPadded = ceilDiv(kCount, kernels.kMultiple) * kernels.kMultiple;
  fillOffsets(plan.k, &Dim::a, begin, kCount, ws.kA);
  fillOffsets(plan.k, &Dim::b, begin, kCount, ws.kB);
  unitKA = isUniform(ws.kA, kCount, 1);
  unitKB = isUniform(ws.kB, kCount, 1);
  strideKB = kCount > 1 ? ws.kB[1] - ws.kB[0] : 0;
  // Packing pays off when rows of B lie on pages of their own and several
  // tiles of rows read them.
  constexpr int64_t pageBytes = 4096;
  bool closeRows = strideKB * bytesB < pageBytes;
  bool inPlaceB = kernels.directB && plan.typeB == kernels.operandType &&
                  (closeRows || rows <= 2 * kernels.rows) && kCount > 0 &&
                  isUniform(ws.kB, kCount, strideKB);
  for (int i = 0; i < panels; ++i)
    makePanel(i, inPlaceB);
  packB();
}

void RectangleRun::runRows(int64_t begin, int64_t count) {
  const int64_t step = kTilesPerBlock * kernels.rows;
  for (int64_t block = 0; block < kBlocks; ++block) {
    beginK(block, count);
    for (int64_t row = 0; row < count; row += step)
      runBlockOfRows(begin + row, std::min(step, count - row), row);
  }
  if (inWorkspace)
    flushSums(begin, count);
}

/// Rows are dealt evenly over the tiles: two tiles of 9 and 8 rows keep the
/// arithmetic units busier than 14 and 3.
void RectangleRun::runBlockOfRows(int64_t begin, int64_t count,
                                  int64_t indexInSums) {
  fillOffsets(plan.m, &Dim::a, begin, count, ws.mA);
  fillOffsets(plan.m, &Dim::c, begin, count, ws.mC);
  const int64_t tiles = ceilDiv(count, kernels.rows);
  const int64_t units = ceilDiv(count, kernels.directRows);
  for (int64_t tile = 0; tile <= tiles; ++tile)
    tileBegin[tile] =
        std::min(count, units * tile / tiles * kernels.directRows);
  chooseA(count);
  if (!directA)
    packA(tiles);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    int64_t first = tileBegin[tile];
    const char *data = directA ? a + (ws.mA[first] + ws.kA[0]) * bytesA
                               : ws.packedA + tile * tileA;
    char *sums = ws.sums + (indexInSums + first) * columns * kernels.accBytes;
    runTileRow(data, first, int(tileBegin[tile + 1] - first), sums);
  }
}

void RectangleRun::chooseA(int64_t rows) {
  // Reading A in place beats packing it, unless many panels read rows that
  // fall on the same sets of the first-level cache.
  constexpr int fewPanels = 4;
  constexpr int64_t setStride = 4096;
  const int64_t rowStride = rows > 1 ? ws.mA[1] - ws.mA[0] : 0;
  const int64_t kStride = kCount > 1 ? ws.kA[1] - ws.kA[0] : 1;
  const bool steps =
      kernels.kPerStep == 1 ? isUniform(ws.kA, kCount, kStride) : unitKA;
  directA = steps && plan.typeA == kernels.operandType && kCount > 0 &&
            kCount == kPadded &&
            (panels <= fewPanels ||
             (unitKA && rowStride * bytesA % setStride != 0)) &&
            rows % kernels.directRows == 0 && isUniform(ws.mA, rows, rowStride);
  lanesA = !directA && kernels.lanesA && !unitKA;
  rowA = rowStride * bytesA;
  stepA = kernels.stepBytes();
  if (directA) {
    stepA *= kStride;
    return;
  }
  if (lanesA) {
    rowA = stepA;
    stepA *= ceilDiv(kernels.rows, kernels.lanes) * kernels.lanes;
    tileA = stepA * kGemmKBlock / kernels.kPerStep;
    return;
  }
  // A cache line more per row spreads the rows over the cache's sets.
  rowA = kGemmKBlock * kernels.operandBytes + 64;
  tileA = rowA * kernels.rows;
}

void RectangleRun::packTileA(int64_t tile, int64_t k, int64_t count) {
  const int64_t first = tileBegin[tile], rows = tileBegin[tile + 1] - first;
  const int64_t *offset = ws.mA + first;
  int padded = int(ceilDiv(rows, kernels.lanes)) * kernels.lanes;
  PackArgs args{ws.packedA + tile * tileA + k / kernels.kPerStep * stepA,
                lanesA ? stepA : rowA,
                a,
                plan.typeA,
                offset,
                int(rows),
                padded,
                ws.kA + k,
                count,
                isUniform(offset, rows, 1),
                unitKA};
  (lanesA ? kernels.packLanes : kernels.packRows)(args);
}

/// As packB.
void RectangleRun::packA(int64_t tiles) {
  int64_t step = unitKA ? kCount : kFewRows;
  for (int64_t k = 0; k < kCount; k += step)
    for (int64_t tile = 0; tile < tiles; ++tile)
      packTileA(tile, k, std::min(step, kCount - k));
}

/// Finishes rows x count sums; `row` and `column` index the offset tables.
void RectangleRun::flush(const void *sums, int64_t ld, int64_t row,
                         int64_t rows, int64_t column, int64_t count, bool unit,
                         bool add) {
  kernels.flush({sums, ld, rows, count, c, plan.typeC, ws.mC + row,
                 ws.nC + column, unit, add});
}

/// One tile's rows against all panels. `first` indexes the block's rows.
void RectangleRun::runTileRow(const char *tileA, int64_t first, int rows,
                              char *sums) {
  const int64_t *rowC = ws.mC + first;
  const int64_t strideC = rows > 1 ? rowC[1] - rowC[0] : 0;
  const bool uniformC = isUniform(rowC, rows, strideC);
  const bool addToC = plan.accumulate || !firstK;
  const int64_t steps = kPadded / kernels.kPerStep;
  int64_t column = 0;
  for (int i = 0; i < panels; ++i, column += kernels.cols) {
    const Panel &p = panel[i];
    TileArgs tile{steps,   tileA,        rowA, stepA,     p.data, p.step,
                  ws.tile, kernels.cols, rows, p.columns, false};
    if (inWorkspace) {
      tile.c = sums + column * kernels.accBytes;
      tile.ldc = columns;
      tile.add = !firstK;
      kernels.tile(tile);
    } else if (inPlace && uniformC && p.unitC) {
      tile.c = c + (rowC[0] + ws.nC[column]) * kernels.accBytes;
      tile.ldc = strideC;
      tile.add = addToC;
      kernels.tile(tile);
    } else {
      kernels.tile(tile);
      flush(ws.tile, tile.ldc, first, rows, column, p.columns, p.unitC, addToC);
    }
  }
}

void RectangleRun::flushSums(int64_t begin, int64_t count) {
  const bool unit = isUniform(ws.nC, columns, 1);
  for (int64_t row = 0; row < count; row += kMaxBlockRows) {
    int64_t rows = std::min(kMaxBlockRows, count - row);
    fillOffsets(plan.m, &Dim::c, begin + row, rows, ws.mC);
    flush(ws.sums + row * columns * kernels.accBytes, columns, 0, rows, 0,
          columns, unit, plan.accumulate);
  }
}

} // namespace

void computeRectangle(const Plan &plan, const KernelSet &kernels,
                      const Rectangle &rectangle, const void *a, const void *b,
                      void *c) {
  if (kernels.begin)
    kernels.begin();
  RectangleRun run(plan, kernels, static_cast<const char *>(a),
                   static_cast<const char *>(b), static_cast<char *>(c));
  run.run(rectangle);
  if (kernels.end)
    kernels.end();
}

} // namespace weft::rt::detail
