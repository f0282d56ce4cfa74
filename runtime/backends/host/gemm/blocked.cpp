// SPDX-License-Identifier: Apache-2.0

// Loop order: column blocks of B that fit the second-level cache when packed;
// inside, passes over K in order; inside, a few tiles' rows of A, packed just
// before use, against all column panels. Sums that wait for others over K form
// a stack: within a pass, of tiles; between passes, of blocks of rows in the
// workspace, or in C, if it is as wide as the sums and its old value is not
// needed.

#include "blocked.h"

#include "order.h"
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

/// The most KernelSet::tilesPerBlock.
constexpr int64_t kMostTiles = 16;

int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// A column panel of the current block: how the microkernel addresses it.
struct Panel {
  const char *data;
  int64_t step; // bytes
  int columns;
  int64_t segment; // bytes
  bool unitB, unitC;
  bool inPlace;
};

/// A row of tiles of the current block of rows.
struct TileRow {
  const char *a;
  int64_t first; // of the block's rows
  int rows;
  int64_t index; // among those whose sums wait
  bool uniformC;
  int64_t strideC;
};

class RectangleRun {
public:
  RectangleRun(const Plan &plan, const KernelSet &kernels, const char *a,
               const char *b, char *c)
      : plan(plan), kernels(kernels), ws(threadWorkspace()), a(a), b(b), c(c),
        bytesA(typeBytes(plan.typeA)), bytesB(typeBytes(plan.typeB)),
        tileBytes(kernels.rows * kernels.cols * kernels.accBytes),
        order(plan.k.size, std::max<int64_t>(1, plan.leaves),
              kernels.kMultiple),
        panelK(std::max(kGemmKBlock, order.longestPass())),
        sumsLikeC(typeBytes(plan.typeC) == kernels.accBytes),
        bottomInC(sumsLikeC && !plan.accumulate),
        rounds(plan.rounded && !sumsLikeC),
        waiting(std::max(0, order.places() - bottomInC)) {
    inFlight.sums = ws.inFlight;
    inFlight.exact = plan.accumulate;
  }

  void run(const Rectangle &rectangle);

private:
  void beginColumns(int64_t begin, int64_t count);
  void beginK(int64_t index, int64_t rows);
  void makePanel(int index, bool mayUseInPlace);
  void packB();
  void packPanel(int index, int64_t k, int64_t packedK, int64_t count);
  template <class Body> void cutForPacking(bool unitK, Body body) const;
  void runRows(int64_t begin, int64_t count);
  void runBlockOfRows(int64_t begin, int64_t count, int64_t firstTileRow);
  void chooseA(int64_t rows);
  void packA(int64_t tiles);
  void packTileA(int64_t tile, int64_t k, int64_t packedK, int64_t count);
  void runTileRow(const TileRow &row);
  void runTile(const TileRow &row, int panel);
  void finishInC(TileArgs &tile, const TileRow &row, int panel);
  bool tilesWriteC(const TileRow &row, const Panel &p) const;
  void sumTile(TileArgs &tile);
  void sumFoldedTile(const TileArgs &tile);
  Sums place(int index, const TileRow &row, int panel) const;
  Sums placeInTiles(int index) const;

  const Plan &plan;
  const KernelSet &kernels;
  Workspace &ws;
  const char *const a, *const b;
  char *const c;
  const int64_t bytesA, bytesB, tileBytes;
  const SummationOrder order;
  const int64_t panelK; // of a row or panel in the workspace
  const bool sumsLikeC;
  const bool bottomInC; // the lowest place of the stack is C
  const bool rounds;
  const int64_t waiting; // places of the stack in the workspace

  // The current column block.
  int panels = 0;
  Panel panel[kMaxBlockColumns / 2];

  // The current pass over K.
  Pass pass{};
  int64_t kCount = 0, segmentPadded = 0;
  bool unitKA = false, unitKB = false;
  int64_t strideKB = 0;

  // The current rows of A, as the microkernel addresses them, in bytes.
  bool directA = false, lanesA = false;
  int64_t rowA = 0, stepA = 0, tileA = 0;
  int64_t tileBegin[kMostTiles + 1];

  Sums joins[kMaxJoins]; // of the current tile
  TileInFlight inFlight;
};

void RectangleRun::run(const Rectangle &rectangle) {
  int64_t block = std::min(kMaxBlockColumns,
                           kPackedBBytes / (panelK * kernels.operandBytes));
  // How many blocks of tiles the workspace holds, with all that wait.
  int64_t blocksThatWait = kSumBytes / (tileBytes * kernels.tilesPerBlock *
                                        std::max<int64_t>(1, waiting));
  block = std::min(block / kernels.cols, blocksThatWait) * kernels.cols;
  for (int64_t n = rectangle.nBegin; n < rectangle.nEnd; n += block) {
    beginColumns(n, std::min(block, rectangle.nEnd - n));
    int64_t rows = rectangle.mEnd - rectangle.mBegin;
    if (waiting) {
      int64_t most =
          blocksThatWait / panels * kernels.tilesPerBlock * kernels.rows;
      rows = ceilDiv(rows, std::max<int64_t>(1, ceilDiv(rows, most)));
    }
    for (int64_t m = rectangle.mBegin; m < rectangle.mEnd; m += rows)
      runRows(m, std::min(rows, rectangle.mEnd - m));
  }
}

void RectangleRun::beginColumns(int64_t begin, int64_t count) {
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
    p.segment = p.step * pass.segment;
  } else {
    p.data = ws.packedB + first * panelK * kernels.operandBytes;
    p.step = int64_t(kernels.cols) * kernels.stepBytes();
    p.segment = p.step * segmentPadded / kernels.kPerStep;
  }
}

void RectangleRun::packPanel(int index, int64_t k, int64_t packedK,
                             int64_t count) {
  const Panel &p = panel[index];
  int64_t first = int64_t(index) * kernels.cols;
  int padded = int(ceilDiv(p.columns, kernels.lanes)) * kernels.lanes;
  char *packed = ws.packedB + first * panelK * kernels.operandBytes;
  kernels.packLanes({packed + packedK / kernels.kPerStep * p.step, p.step, b,
                     plan.typeB, ws.nB + first, p.columns, padded, ws.kB + k,
                     count, p.unitB, unitKB});
}

/// Calls body(k, packed k, count) for pieces of the pass. Memory is read row by
/// row where rows do not lie along K: a few rows of all panels at a time, as
/// each row is likely on a page of its own.
template <class Body>
void RectangleRun::cutForPacking(bool unitK, Body body) const {
  bool padded = segmentPadded != pass.segment;
  int64_t run = padded ? pass.segment : kCount;
  int64_t step = unitK ? run : kFewRows;
  for (int64_t begin = 0, packed = 0; begin < kCount;
       begin += run, packed += segmentPadded)
    for (int64_t k = 0; k < run; k += step)
      body(begin + k, packed + k, std::min(step, run - k));
}

void RectangleRun::packB() {
  cutForPacking(unitKB, [&](int64_t k, int64_t packedK, int64_t count) {
    for (int i = 0; i < panels; ++i)
      if (!panel[i].inPlace)
        packPanel(i, k, packedK, count);
  });
}

void RectangleRun::beginK(int64_t index, int64_t rows) {
  pass = order.pass(index);
  kCount = pass.count();
  segmentPadded = ceilDiv(pass.segment, kernels.kMultiple) * kernels.kMultiple;
  fillOffsets(plan.k, &Dim::a, pass.begin, kCount, ws.kA);
  fillOffsets(plan.k, &Dim::b, pass.begin, kCount, ws.kB);
  unitKA = isUniform(ws.kA, kCount, 1);
  unitKB = isUniform(ws.kB, kCount, 1);
  strideKB = kCount > 1 ? ws.kB[1] - ws.kB[0] : 0;
  // Packing pays off when rows of B lie on pages of their own, or so that they
  // push each other out of the cache, and several tiles of rows read them.
  constexpr int64_t pageBytes = 4096, fewSets = 512;
  const int64_t stepB = strideKB * bytesB;
  bool closeRows =
      stepB < pageBytes &&
      !(kernels.spreadsB && stepB >= fewSets && stepB % fewSets == 0);
  bool inPlaceB = kernels.directB && plan.typeB == kernels.operandType &&
                  (closeRows || rows <= 2 * kernels.rows) && kCount > 0 &&
                  isUniform(ws.kB, kCount, strideKB);
  for (int i = 0; i < panels; ++i)
    makePanel(i, inPlaceB);
  packB();
}

void RectangleRun::runRows(int64_t begin, int64_t count) {
  const int64_t step = kernels.tilesPerBlock * kernels.rows;
  for (int64_t i = 0; i < order.passes(); ++i) {
    beginK(i, count);
    for (int64_t row = 0; row < count; row += step)
      runBlockOfRows(begin + row, std::min(step, count - row),
                     row / kernels.rows);
  }
}

/// Rows are dealt evenly over the tiles: two tiles of 9 and 8 rows keep the
/// arithmetic units busier than 14 and 3.
void RectangleRun::runBlockOfRows(int64_t begin, int64_t count,
                                  int64_t firstTileRow) {
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
    int rows = int(tileBegin[tile + 1] - first);
    const int64_t *rowC = ws.mC + first;
    int64_t strideC = rows > 1 ? rowC[1] - rowC[0] : 0;
    runTileRow({data, first, rows, firstTileRow + tile,
                isUniform(rowC, rows, strideC), strideC});
  }
  if (kernels.drain)
    kernels.drain(inFlight);
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
            pass.segment == segmentPadded &&
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
    tileA = stepA * panelK / kernels.kPerStep;
    return;
  }
  // A cache line more per row spreads the rows over the cache's sets.
  rowA = panelK * kernels.operandBytes + 64;
  tileA = rowA * kernels.rows;
}

void RectangleRun::packTileA(int64_t tile, int64_t k, int64_t packedK,
                             int64_t count) {
  const int64_t first = tileBegin[tile], rows = tileBegin[tile + 1] - first;
  const int64_t *offset = ws.mA + first;
  int padded = int(ceilDiv(rows, kernels.lanes)) * kernels.lanes;
  PackArgs args{ws.packedA + tile * tileA + packedK / kernels.kPerStep * stepA,
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

void RectangleRun::packA(int64_t tiles) {
  cutForPacking(unitKA, [&](int64_t k, int64_t packedK, int64_t count) {
    for (int64_t tile = 0; tile < tiles; ++tile)
      packTileA(tile, k, packedK, count);
  });
}

/// A place of the stack between passes.
Sums RectangleRun::place(int index, const TileRow &row, int panel) const {
  const int64_t column = int64_t(panel) * kernels.cols;
  if (bottomInC && index == 0)
    return {c + (ws.mC[row.first] + ws.nC[column]) * kernels.accBytes,
            row.strideC};
  // Whole tiles, one after the other, are kinder to caches than rows.
  int64_t tile = (row.index * panels + panel) * waiting + index - bottomInC;
  return {ws.sums + tile * tileBytes, kernels.cols};
}

/// A place of the stack within a pass.
Sums RectangleRun::placeInTiles(int index) const {
  return {ws.tileStack + index * tileBytes, kernels.cols};
}

void RectangleRun::runTileRow(const TileRow &row) {
  for (int i = 0; i < panels; ++i)
    runTile(row, i);
}

/// The pass's sums of one tile.
void RectangleRun::runTile(const TileRow &row, int index) {
  const Panel &p = panel[index];
  const int64_t segmentA = segmentPadded / kernels.kPerStep * stepA;
  TileArgs tile{segmentPadded / kernels.kPerStep,
                row.a,
                rowA,
                stepA,
                p.data,
                p.step,
                row.rows,
                p.columns,
                {ws.tile, kernels.cols},
                joins,
                0,
                false,
                0};
  int depth = pass.depth;
  for (int64_t i = 0; i < pass.segments; ++i) {
    tile.a = row.a + i * segmentA;
    tile.b = p.data + i * p.segment;
    tile.numJoins = 0;
    if (pass.continues)
      joins[tile.numJoins++] = place(pass.depth, row, index);
    for (int n = pass.endsLeaf ? order.joins(pass.firstLeaf + i, depth) : 0;
         n > 0; --n) {
      --depth;
      joins[tile.numJoins++] = depth >= pass.depth
                                   ? placeInTiles(depth - pass.depth)
                                   : place(depth, row, index);
    }
    if (i + 1 < pass.segments) {
      tile.to = placeInTiles(depth++ - pass.depth);
      sumTile(tile);
    } else if (pass.last || (bottomInC && depth == 0)) {
      finishInC(tile, row, index);
    } else {
      tile.to = place(depth, row, index);
      sumTile(tile);
    }
  }
}

/// Whether the microkernel itself may store to C.
bool RectangleRun::tilesWriteC(const TileRow &row, const Panel &p) const {
  bool narrows = kernels.narrows && plan.typeC == WEFT_RT_BF16 &&
                 (rounds || !plan.accumulate);
  return (sumsLikeC || narrows) && row.uniformC && p.unitC;
}

/// The last segment of a pass whose sums go to C. If they are added to C, that
/// is the last join.
void RectangleRun::finishInC(TileArgs &tile, const TileRow &row, int index) {
  const int64_t column = int64_t(index) * kernels.cols;
  const Panel &p = panel[index];
  const bool joinsC = bottomInC && (pass.depth > 0 || pass.continues);
  if (tilesWriteC(row, p)) {
    tile.to = {c + (ws.mC[row.first] + ws.nC[column]) * typeBytes(plan.typeC),
               row.strideC};
    tile.narrow = !sumsLikeC;
    if (plan.accumulate)
      joins[tile.numJoins++] = tile.to;
    return sumTile(tile);
  }
  if (joinsC)
    --tile.numJoins;
  tile.to = {ws.tile, kernels.cols};
  sumTile(tile);
  if (kernels.drain)
    kernels.drain(inFlight);
  kernels.flush({ws.tile, tile.narrow, kernels.cols, row.rows, p.columns, c,
                 plan.typeC, ws.mC + row.first, ws.nC + column, p.unitC,
                 joinsC || plan.accumulate});
}

void RectangleRun::sumTile(TileArgs &tile) {
  const bool roundsLeaf = rounds && pass.endsLeaf;
  if (roundsLeaf && !kernels.narrows)
    return sumFoldedTile(tile);
  tile.narrow |= roundsLeaf;
  tile.wideJoins = roundsLeaf ? pass.continues : tile.numJoins;
  kernels.tile(tile, inFlight);
}

void RectangleRun::sumFoldedTile(const TileArgs &tile) {
  const int ownJoins = pass.continues;
  TileArgs leaf = tile;
  leaf.to = {ws.tile, kernels.cols};
  leaf.numJoins = ownJoins;
  kernels.tile(leaf, inFlight);
  kernels.fold({leaf.to, tile.rows, tile.cols, plan.typeC, tile.to,
                tile.joins + ownJoins, tile.numJoins - ownJoins});
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
