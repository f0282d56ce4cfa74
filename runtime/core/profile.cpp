// SPDX-License-Identifier: Apache-2.0

// Each name is made once.

#include "core/profile.h"

#include "core/collective.h"
#include "core/status.h"
#include "core/types.h"

namespace weft::rt {
namespace {

/// Sizes by role: products over the dimensions.
struct GemmSizes {
  int64_t of[4] = {1, 1, 1, 1};

  explicit GemmSizes(const weft_rt_gemm &desc) {
    for (int32_t i = 0; i < desc.num_dims; ++i)
      of[desc.dims[i].role] *= desc.dims[i].size;
  }
};

std::string gemmName(const weft_rt_gemm &desc) {
  GemmSizes sizes(desc);
  std::string name = format(
      "gemm %lld x %lld x %lld x %lld %s %s -> %s",
      (long long)sizes.of[WEFT_RT_GEMM_BATCH],
      (long long)sizes.of[WEFT_RT_GEMM_M], (long long)sizes.of[WEFT_RT_GEMM_N],
      (long long)sizes.of[WEFT_RT_GEMM_K], typeName(desc.type_a),
      typeName(desc.type_b), typeName(desc.type_c));
  if (desc.leaves > 0)
    name +=
        format(" in %d %s%s", desc.leaves, desc.leaves == 1 ? "leaf" : "leaves",
               desc.rounded ? ", rounded" : "");
  return name;
}

/// Sizes of attention by role.
struct AttentionSizes {
  int64_t of[6] = {1, 1, 1, 1, 1, 1};

  explicit AttentionSizes(const weft_rt_attention &desc) {
    for (int32_t i = 0; i < desc.num_dims; ++i)
      if (desc.dims[i].role >= 0 && desc.dims[i].role < 6)
        of[desc.dims[i].role] *= desc.dims[i].size;
  }

  /// Of the products of all queries and keys, also where one does not see the
  /// other: scores and outputs, and of the gradient five products.
  double operations(bool backward) const {
    double pairs = double(of[WEFT_RT_ATTENTION_BATCH]) *
                   double(of[WEFT_RT_ATTENTION_GROUP]) *
                   double(of[WEFT_RT_ATTENTION_QUERY]) *
                   double(of[WEFT_RT_ATTENTION_KEY]);
    double depth = double(of[WEFT_RT_ATTENTION_DEPTH]);
    double value = double(of[WEFT_RT_ATTENTION_VALUE]);
    return 2 * pairs * (backward ? 3 * depth + 2 * value : depth + value);
  }
};

std::string attentionName(const weft_rt_attention &desc) {
  AttentionSizes sizes(desc);
  std::string name = desc.backward ? "attention_grad" : "attention";
  for (int role = 0; role < 5; ++role)
    name += format("%s%lld", role ? " x " : " ", (long long)sizes.of[role]);
  if (sizes.of[WEFT_RT_ATTENTION_VALUE] != sizes.of[WEFT_RT_ATTENTION_DEPTH])
    name += format(" to %lld", (long long)sizes.of[WEFT_RT_ATTENTION_VALUE]);
  name += format(" %s", typeName(desc.type));
  if (desc.right == 0)
    name += " causal";
  if (desc.dropout > 0)
    name += " dropout";
  if (desc.leaves > 0)
    name +=
        format(" in %d %s", desc.leaves, desc.leaves == 1 ? "leaf" : "leaves");
  return name;
}

int64_t bytesOf(const weft_rt_copy &copy) {
  int64_t bytes = copy.element_bytes;
  for (int32_t i = 0; i < copy.num_dims; ++i)
    bytes *= copy.dims[i].size;
  return bytes;
}

double workOf(const ProfileEntry &entry) {
  if (entry.sum.activity == WEFT_RT_IN_COPY)
    return double(entry.calls) *
           double(bytesOf(*static_cast<const weft_rt_copy *>(entry.sum.what)));
  if (entry.sum.activity == WEFT_RT_IN_ATTENTION) {
    const auto &desc = *static_cast<const weft_rt_attention *>(entry.sum.what);
    return double(entry.calls) *
           AttentionSizes(desc).operations(desc.backward != 0);
  }
  if (entry.sum.activity != WEFT_RT_IN_GEMM)
    return double(entry.sum.bytes);
  double operations = 2.0 * double(entry.calls);
  for (int64_t size :
       GemmSizes(*static_cast<const weft_rt_gemm *>(entry.sum.what)).of)
    operations *= double(size);
  return operations;
}

} // namespace

std::string activityName(weft_rt_activity activity, const void *what) {
  switch (activity) {
  case WEFT_RT_IN_STEP:
    return "step";
  case WEFT_RT_IN_GEMM:
    return gemmName(*static_cast<const weft_rt_gemm *>(what));
  case WEFT_RT_IN_ATTENTION:
    return attentionName(*static_cast<const weft_rt_attention *>(what));
  case WEFT_RT_IN_KERNEL:
    return static_cast<const weft_rt_kernel_entry *>(what)->name;
  case WEFT_RT_IN_COPY:
    return format("copy of %lld bytes",
                  (long long)bytesOf(*static_cast<const weft_rt_copy *>(what)));
  case WEFT_RT_IN_COLLECTIVE:
    return collectiveName(*static_cast<const weft_rt_collective *>(what));
  }
  return "";
}

const char *opName(const weft_rt_program &program, int32_t op) {
  return op >= 0 && op < program.num_ops ? program.ops[op].name : nullptr;
}

void Profile::clear() { all.clear(); }

const std::string &Profile::nameOf(const Cost &cost) {
  auto it = names.find(cost.what);
  if (it == names.end())
    it = names.emplace(cost.what, activityName(cost.activity, cost.what)).first;
  return it->second;
}

void Profile::add(int64_t rank, const RankLog &log) {
  std::map<std::pair<std::string, int32_t>, size_t> rowOf;
  for (const ProfileEntry &entry : log.profile()) {
    const std::string &name = nameOf(entry.sum);
    auto [it, isNew] = rowOf.emplace(std::pair(name, entry.sum.op), all.size());
    if (isNew)
      all.push_back({rank, entry.sum.activity, name.c_str(),
                     opName(log.programOf(), entry.sum.op), 0, 0, 0, 0, 0});
    weft_rt_profile_row &row = all[it->second];
    row.calls += entry.calls;
    row.seconds += double(entry.sum.wall) / 1e9;
    row.cpu_seconds += double(entry.sum.cpu) / 1e9;
    row.wait_seconds += double(entry.sum.waited) / 1e9;
    row.work += workOf(entry);
  }
}

} // namespace weft::rt
