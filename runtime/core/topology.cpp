// SPDX-License-Identifier: Apache-2.0

// Coordinates, digits and groups. All functions but the check assume valid
// references; the manifest is checked once, when a session is created.

#include "core/topology.h"

#include "core/types.h"

#include <algorithm>

namespace weft::rt {
namespace {

/// Ranks between two neighbours along the axis.
int64_t axisStride(const weft_rt_program &program, int32_t axis) {
  int64_t stride = 1;
  for (int32_t i = axis + 1; i < program.num_axes; ++i)
    stride *= program.axes[i].size;
  return stride;
}

/// Ranks between two neighbours along the digit that the reference names.
int64_t digitStride(const weft_rt_program &program,
                    const weft_rt_axis_ref &ref) {
  int64_t post = program.axes[ref.axis].size / (ref.pre * ref.size);
  return axisStride(program, ref.axis) * post;
}

int64_t digit(const weft_rt_program &program, int64_t rank,
              const weft_rt_axis_ref &ref) {
  return rank / digitStride(program, ref) % ref.size;
}

std::string refName(const weft_rt_program &program,
                    const weft_rt_axis_ref &ref) {
  const weft_rt_axis &axis = program.axes[ref.axis];
  if (ref.pre == 1 && ref.size == axis.size)
    return format("\"%s\"", axis.name);
  return format("\"%s\":(%lld)%lld", axis.name, (long long)ref.pre,
                (long long)ref.size);
}

Status checkAxisRef(const weft_rt_program &program, const weft_rt_axis_ref &ref,
                    const std::string &what) {
  if (ref.axis < 0 || ref.axis >= program.num_axes)
    return invalid(format("%s names axis %d of %d", what.c_str(), ref.axis,
                          program.num_axes));
  int64_t size = program.axes[ref.axis].size;
  if (ref.pre < 1 || ref.size < 1 || size % ref.pre != 0 ||
      size / ref.pre % ref.size != 0)
    return invalid(format("%s uses %s, which does not divide axis \"%s\" of "
                          "size %lld",
                          what.c_str(), refName(program, ref).c_str(),
                          program.axes[ref.axis].name, (long long)size));
  return Status();
}

} // namespace

int64_t meshSize(const weft_rt_program &program) {
  int64_t size = 1;
  for (int32_t i = 0; i < program.num_axes; ++i)
    size *= program.axes[i].size;
  return size;
}

int64_t shardCount(const weft_rt_axis_ref *refs, int32_t count) {
  int64_t shards = 1;
  for (int32_t i = 0; i < count; ++i)
    shards *= refs[i].size;
  return shards;
}

int64_t indexAlong(const weft_rt_program &program, int64_t rank,
                   const weft_rt_axis_ref *refs, int32_t count) {
  int64_t index = 0;
  for (int32_t i = 0; i < count; ++i)
    index = index * refs[i].size + digit(program, rank, refs[i]);
  return index;
}

int64_t rankAtOrigin(const weft_rt_program &program, int64_t rank,
                     const weft_rt_axis_ref *refs, int32_t count) {
  int64_t origin = rank;
  for (int32_t i = 0; i < count; ++i)
    origin -= digit(program, rank, refs[i]) * digitStride(program, refs[i]);
  return origin;
}

ChannelGroups groupsOf(const weft_rt_program &program,
                       const weft_rt_channel &channel) {
  int64_t ranks = program.num_ranks;
  int64_t size = shardCount(channel.axes, channel.num_axes);
  ChannelGroups result;
  result.ofRank.resize(ranks);
  std::vector<int64_t> groupOfOrigin(ranks, -1);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t origin =
        rankAtOrigin(program, rank, channel.axes, channel.num_axes);
    if (groupOfOrigin[origin] < 0) {
      groupOfOrigin[origin] = result.groups.size();
      result.groups.emplace_back(size);
    }
    int64_t index = indexAlong(program, rank, channel.axes, channel.num_axes);
    result.ofRank[rank] = {groupOfOrigin[origin], index};
    result.groups[groupOfOrigin[origin]][index] = rank;
  }
  return result;
}

Status checkAxisRefs(const weft_rt_program &program,
                     const std::vector<weft_rt_axis_ref> &refs,
                     const std::string &what) {
  for (const weft_rt_axis_ref &ref : refs)
    WEFT_RT_RETURN_IF_ERROR(checkAxisRef(program, ref, what));
  // Along one axis, the digits must nest: each begins where one before ended,
  // or later.
  std::vector<weft_rt_axis_ref> sorted = refs;
  std::sort(sorted.begin(), sorted.end(),
            [](const weft_rt_axis_ref &a, const weft_rt_axis_ref &b) {
              return a.axis != b.axis ? a.axis < b.axis
                     : a.pre != b.pre ? a.pre < b.pre
                                      : a.size < b.size;
            });
  for (size_t i = 1; i < sorted.size(); ++i) {
    const weft_rt_axis_ref &low = sorted[i - 1], &high = sorted[i];
    if (low.axis == high.axis && high.pre % (low.pre * low.size) != 0)
      return invalid(format("%s uses %s and %s, which overlap", what.c_str(),
                            refName(program, low).c_str(),
                            refName(program, high).c_str()));
  }
  return Status();
}

} // namespace weft::rt
