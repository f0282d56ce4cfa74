// SPDX-License-Identifier: Apache-2.0

// Both directions walk the region row by row. Trailing dimensions that both
// sides hold whole are merged into one row, so that a tensor cut along its
// first dimension is a single memcpy, and one cut along its second is one
// memcpy per row.

#include "core/sharding.h"

#include "core/topology.h"
#include "core/types.h"

#include <algorithm>
#include <cstring>

namespace weft::rt {
namespace {

/// The walk over a region: `row` contiguous elements at a time.
struct Walk {
  std::vector<int64_t> extent;      // outer dimensions
  std::vector<int64_t> localStride; // in elements
  std::vector<int64_t> globalStride;
  int64_t globalStart = 0;
  int64_t row = 1;
};

Walk planWalk(const Region &region) {
  Walk walk;
  int64_t rank = region.globalShape.size();
  std::vector<int64_t> localStride(rank), globalStride(rank);
  int64_t local = 1, global = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    localStride[d] = local;
    globalStride[d] = global;
    walk.globalStart += region.offset[d] * global;
    local *= region.localShape[d];
    global *= region.globalShape[d];
  }
  // A dimension joins the row while all below it are held whole.
  int64_t outer = rank;
  while (outer > 0 && localStride[outer - 1] == walk.row &&
         globalStride[outer - 1] == walk.row)
    walk.row *= region.extent[--outer];
  walk.extent.assign(region.extent.begin(), region.extent.begin() + outer);
  walk.localStride.assign(localStride.begin(), localStride.begin() + outer);
  walk.globalStride.assign(globalStride.begin(), globalStride.begin() + outer);
  return walk;
}

uint8_t nibble(const uint8_t *data, int64_t index) {
  return (data[index / 2] >> (index % 2 * 4)) & 0xf;
}

void setNibble(uint8_t *data, int64_t index, uint8_t value) {
  int shift = index % 2 * 4;
  uint8_t kept = data[index / 2] & ~(0xf << shift);
  data[index / 2] = kept | (value << shift);
}

/// Copies `count` elements between element offsets of two dense buffers.
void copyElements(int bits, uint8_t *to, int64_t toOffset, const uint8_t *from,
                  int64_t fromOffset, int64_t count) {
  if (bits >= 8) {
    int64_t width = bits / 8;
    std::memcpy(to + toOffset * width, from + fromOffset * width,
                count * width);
    return;
  }
  int64_t done = 0;
  if (toOffset % 2 == 0 && fromOffset % 2 == 0) {
    done = count / 2 * 2;
    std::memcpy(to + toOffset / 2, from + fromOffset / 2, done / 2);
  }
  for (; done < count; ++done)
    setNibble(to, toOffset + done, nibble(from, fromOffset + done));
}

bool nextIndex(std::vector<int64_t> &index, const std::vector<int64_t> &limit) {
  for (int64_t d = int64_t(index.size()) - 1; d >= 0; --d) {
    if (++index[d] < limit[d])
      return true;
    index[d] = 0;
  }
  return false;
}

template <typename CopyRow>
void walkRegion(const Region &region, CopyRow copyRow) {
  if (isEmpty(region))
    return;
  Walk walk = planWalk(region);
  std::vector<int64_t> index(walk.extent.size(), 0);
  do {
    int64_t local = 0, global = walk.globalStart;
    for (size_t d = 0; d < index.size(); ++d) {
      local += index[d] * walk.localStride[d];
      global += index[d] * walk.globalStride[d];
    }
    copyRow(local, global, walk.row);
  } while (nextIndex(index, walk.extent));
}

} // namespace

Region regionOf(const weft_rt_program &program, const weft_rt_tensor &tensor,
                int64_t rank) {
  Region region;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    int64_t size = tensor.shape[d], chunk = tensor.local_shape[d];
    const weft_rt_dim_sharding &cut = tensor.sharding[d];
    int64_t index = indexAlong(program, rank, cut.axes, cut.num_axes);
    int64_t offset = std::min(index * chunk, size);
    region.globalShape.push_back(size);
    region.localShape.push_back(chunk);
    region.offset.push_back(offset);
    region.extent.push_back(std::min(chunk, size - offset));
  }
  return region;
}

int64_t firstHolder(const weft_rt_program &program,
                    const weft_rt_tensor &tensor, int64_t rank) {
  // Ranks that hold the same part differ only off the sharding axes: moving to
  // the origin along those axes leaves what the rank is above the first.
  int64_t rest = rank;
  for (int32_t d = 0; d < tensor.rank; ++d)
    rest = rankAtOrigin(program, rest, tensor.sharding[d].axes,
                        tensor.sharding[d].num_axes);
  return rank - rest;
}

bool isEmpty(const Region &region) {
  return std::find(region.extent.begin(), region.extent.end(), 0) !=
         region.extent.end();
}

void cutRegion(weft_rt_type type, const Region &region, const void *global,
               void *local) {
  auto *from = static_cast<const uint8_t *>(global);
  auto *to = static_cast<uint8_t *>(local);
  int bits = bitWidth(type);
  walkRegion(region, [&](int64_t localAt, int64_t globalAt, int64_t count) {
    copyElements(bits, to, localAt, from, globalAt, count);
  });
}

void joinRegion(weft_rt_type type, const Region &region, const void *local,
                void *global) {
  auto *from = static_cast<const uint8_t *>(local);
  auto *to = static_cast<uint8_t *>(global);
  int bits = bitWidth(type);
  walkRegion(region, [&](int64_t localAt, int64_t globalAt, int64_t count) {
    copyElements(bits, to, globalAt, from, localAt, count);
  });
}

bool sharesBytes(const weft_rt_tensor &tensor) {
  return bitWidth(tensor.type) < 8;
}

} // namespace weft::rt
