// SPDX-License-Identifier: Apache-2.0

// Both questions are asked row by row: with the largest stride S of the two, a
// byte x after the first lies in row x / S at column x % S. A region that is
// no longer than a row within each of its rows is a range of rows times a
// smaller region of columns, to which the question is put again; a run over
// several rows is cut in its first row, the full ones and its last.

#include "ByteSet.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::weft::proof;

ByteSet ByteSet::get(int64_t begin, llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<int64_t> strides, int64_t elementBytes) {
  ByteSet region;
  region.begin = begin;
  region.run = elementBytes;
  for (auto [size, stride] : llvm::zip(sizes, strides)) {
    if (size == 0)
      region.run = 0;
    if (size > 1 && stride != 0)
      region.dims.push_back({size, stride * elementBytes});
  }
  if (region.run == 0)
    region.dims.clear();
  llvm::stable_sort(region.dims, [](const Dim &a, const Dim &b) {
    return a.stride > b.stride;
  });
  // What lies one after another is one run, or one dim.
  while (!region.dims.empty() && region.dims.back().stride == region.run)
    region.run *= region.dims.pop_back_val().size;
  for (unsigned i = region.dims.size(); i > 1; --i) {
    Dim &outer = region.dims[i - 2], &inner = region.dims[i - 1];
    if (outer.stride != inner.stride * inner.size)
      continue;
    outer = {outer.size * inner.size, inner.stride};
    region.dims.erase(region.dims.begin() + (i - 1));
  }
  return region;
}

int64_t ByteSet::bytes() const {
  int64_t count = run;
  for (const Dim &dim : dims)
    count *= dim.size;
  return count;
}

int64_t ByteSet::end() const {
  int64_t last = begin + run;
  for (const Dim &dim : dims)
    last += (dim.size - 1) * dim.stride;
  return last;
}

namespace {

/// Rows [first, first + count), in each of which `columns` lies; `columns`
/// begins at the column. `step` is the distance of the rows that are meant.
struct Rows {
  int64_t first = 0, count = 1, step = 1;
  ByteSet columns;
};

using RowsList = llvm::SmallVector<Rows, 3>;

int64_t getLargestStride(const ByteSet &region) {
  return region.dims.empty() ? 0 : region.dims.front().stride;
}

/// Cuts a region in parts by rows of `stride` bytes, the first of which begins
/// at `origin`; false if it cannot be cut.
bool cutInRows(ByteSet region, int64_t origin, int64_t stride,
               RowsList &parts) {
  region.begin -= origin;
  Rows part;
  part.first = region.begin / stride;
  part.columns = region;
  part.columns.begin = region.begin % stride;
  auto &dims = part.columns.dims;
  if (!dims.empty() && dims.front().stride % stride == 0) {
    part.count = dims.front().size;
    part.step = dims.front().stride / stride;
    dims.erase(dims.begin());
  }
  if (part.columns.end() <= stride) {
    parts.push_back(part);
    return true;
  }
  if (!dims.empty() || part.count != 1)
    return false;
  // A run over several rows: its first, the full ones, its last.
  int64_t begin = region.begin, end = region.end();
  while (begin < end) {
    Rows piece;
    piece.first = begin / stride;
    piece.columns.begin = begin % stride;
    bool isFull = piece.columns.begin == 0 && end - begin >= stride;
    piece.count = isFull ? (end - begin) / stride : 1;
    piece.columns.run =
        isFull ? stride : std::min(stride - piece.columns.begin, end - begin);
    begin += isFull ? piece.count * stride : piece.columns.run;
    parts.push_back(piece);
  }
  return true;
}

int64_t getLast(const Rows &rows) {
  return rows.first + (rows.count - 1) * rows.step;
}

/// Says whether some row may be in both.
bool meet(const Rows &a, const Rows &b) {
  if (a.first > getLast(b) || b.first > getLast(a))
    return false;
  return a.step != b.step || (a.first - b.first) % a.step == 0;
}

/// Says whether all rows of `inner` are surely rows of `outer`.
bool includes(const Rows &outer, const Rows &inner) {
  return inner.first >= outer.first && getLast(inner) <= getLast(outer) &&
         (inner.first - outer.first) % outer.step == 0 &&
         (inner.count == 1 || inner.step % outer.step == 0);
}

} // namespace

bool mlir::weft::proof::overlaps(const ByteSet &a, const ByteSet &b) {
  if (a.run == 0 || b.run == 0 || a.end() <= b.begin || b.end() <= a.begin)
    return false;
  int64_t stride = std::max(getLargestStride(a), getLargestStride(b));
  // Where rows begin is free: so that those of the first do not wrap around.
  int64_t origin = std::min(a.begin, b.begin);
  RowsList rowsA, rowsB;
  if (stride == 0 || !cutInRows(a, origin, stride, rowsA) ||
      !cutInRows(b, origin, stride, rowsB))
    return true;
  return llvm::any_of(rowsA, [&](const Rows &x) {
    return llvm::any_of(rowsB, [&](const Rows &y) {
      return meet(x, y) && overlaps(x.columns, y.columns);
    });
  });
}

bool mlir::weft::proof::contains(const ByteSet &outer, const ByteSet &inner) {
  if (inner.run == 0)
    return true;
  if (inner.begin < outer.begin || inner.end() > outer.end())
    return false;
  int64_t stride = getLargestStride(outer);
  if (stride == 0)
    return true;
  RowsList rowsOuter, rowsInner;
  if (!cutInRows(outer, outer.begin, stride, rowsOuter) ||
      !cutInRows(inner, outer.begin, stride, rowsInner))
    return false;
  return llvm::all_of(rowsInner, [&](const Rows &x) {
    return llvm::any_of(rowsOuter, [&](const Rows &y) {
      return includes(y, x) && contains(y.columns, x.columns);
    });
  });
}
