// SPDX-License-Identifier: Apache-2.0

// Work divided by rates. See the header for the formulas.

#include "weft/Cost/CostModel.h"

#include "KernelWork.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::weft;

CostModel::CostModel(const Machine &machine, MeshAttr mesh)
    : machine(machine), mesh(mesh) {}

/// The nearest whole number; what would take longer than 11 days takes 11 days,
/// so that a step's times can be added.
static int64_t roundNanoseconds(double ns) {
  return std::llround(std::min(ns, 1e15));
}

/// The measured duration of an op, if the machine's table has one.
static std::optional<int64_t> getMeasured(const Machine &machine,
                                          Operation *op) {
  if (machine.durations.empty())
    return std::nullopt;
  auto name = op->getAttrOfType<StringAttr>("weft.op");
  if (!name)
    return std::nullopt;
  auto found = machine.durations.find(name.getValue());
  if (found == machine.durations.end())
    return std::nullopt;
  return found->second;
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

/// The name of the rate that a product runs at: the wider of its operands.
static StringRef getRateName(Type lhs, Type rhs) {
  Type element = getElementTypeOrSelf(lhs), other = getElementTypeOrSelf(rhs);
  unsigned bits =
      std::max(element.getIntOrFloatBitWidth(), other.getIntOrFloatBitWidth());
  if (bits > 16)
    return bits > 32 ? "f64" : "f32";
  if (bits <= 8)
    return bits > 4 ? "f8" : "f4";
  return element.isF16() || other.isF16() ? "f16" : "bf16";
}

int64_t CostModel::getKernelNanoseconds(double bytes, double operations) const {
  double bandwidth =
      machine.memoryBytesPerSecond * machine.memoryByBytes.at(bytes);
  double moving = bytes * 1e9 / bandwidth;
  double computing = operations * 1e9 / machine.elementwisePerSecond;
  return roundNanoseconds(std::max(moving, computing) +
                          machine.kernelOverheadNs);
}

int64_t CostModel::getProductNanoseconds(Operation *op, ArrayAttr maps) const {
  // lhs, rhs and result are the first three of operands, then results.
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  auto affineMaps = llvm::map_to_vector(maps.getAsValueRange<AffineMapAttr>(),
                                        [](AffineMap map) { return map; });
  ProductSizes sizes = getProductSizes(types, affineMaps);
  double flops = sizes.getFlops(), bytes = 0;
  for (Type type : ArrayRef(types).take_front(3))
    bytes += getShapedBytes(type);
  const ComputeRate &rate = machine.getRate(getRateName(types[0], types[1]));
  double efficiency =
      rate.byFlops.at(flops) * rate.bySmallestDim.at(sizes.getSmallestDim());
  double computing = flops * 1e9 / (rate.flopsPerSecond * efficiency);
  double moving =
      bytes * 1e9 /
      (machine.memoryBytesPerSecond * machine.memoryByBytes.at(bytes));
  return roundNanoseconds(std::max(computing, moving) +
                          machine.kernelOverheadNs);
}

int64_t CostModel::getRegionNanoseconds(Region &region) const {
  int64_t sum = 0;
  for (Block &block : region)
    for (Operation &op : block)
      sum += getComputeNanoseconds(&op);
  return sum;
}

int64_t CostModel::getComputeNanoseconds(Operation *op) const {
  if (getCollectiveKind(op) || isa<rt::StartOp, rt::WaitOp>(op))
    return 0;
  if (std::optional<int64_t> measured = getMeasured(machine, op))
    return *measured;
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return getProductNanoseconds(op, matmul.getIndexingMaps());
  if (auto gemm = dyn_cast<rt::GemmOp>(op))
    return getProductNanoseconds(op, gemm.getIndexingMaps());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return roundNanoseconds(double(getTripCount(op)) *
                            double(getRegionNanoseconds(loop.getRegion())));
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return std::max(getRegionNanoseconds(branch.getThenRegion()),
                    getRegionNanoseconds(branch.getElseRegion()));
  if (std::optional<KernelWork> work = getKernelWork(op))
    return getKernelNanoseconds(work->bytes, work->operations);
  return 0;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {
/// What the time of a collective depends on, on tensors or buffers.
struct Collective {
  CollectiveKind kind;
  AxesAttr axes;
  ValueRange inputs;
};
} // namespace

static std::optional<Collective> getCollective(Operation *op) {
  if (std::optional<CollectiveKind> kind = getCollectiveKind(op))
    return Collective{*kind, getCollectiveAxes(op), op->getOperands()};
  auto start = dyn_cast<rt::StartOp>(op);
  if (!start)
    return std::nullopt;
  auto kind = llvm::StringSwitch<CollectiveKind>(start.getCollective())
                  .Case("all_gather", CollectiveKind::AllGather)
                  .Case("reduce_scatter", CollectiveKind::ReduceScatter)
                  .Case("all_reduce", CollectiveKind::AllReduce)
                  .Case("all_to_all", CollectiveKind::AllToAll)
                  .Default(CollectiveKind::Permute);
  auto axes = start.getParams().getAs<AxesAttr>("axes");
  if (!axes)
    return std::nullopt;
  return Collective{kind, axes, start.getIns()};
}

/// Bytes received, as weft_rt_traffic counts.
static int64_t getBytes(const Collective &collective, int64_t group) {
  int64_t bytes = 0;
  for (Value input : collective.inputs) {
    int64_t local = getShapedBytes(input.getType());
    switch (collective.kind) {
    case CollectiveKind::AllGather:
      bytes += local * (group - 1);
      break;
    case CollectiveKind::AllReduce:
      bytes += llvm::divideCeil(2 * local * (group - 1), group);
      break;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
      bytes += llvm::divideCeil(local * (group - 1), group);
      break;
    case CollectiveKind::Permute:
      bytes += local;
      break;
    }
  }
  return bytes;
}

/// How many consecutive ranks, from a multiple of this number on, hold each
/// group along an axis: 1 if the axis has one rank.
static int64_t getSpan(MeshAttr mesh, AxisRefAttr axis) {
  int64_t inner = 1, size = 1;
  for (MeshAxisAttr meshAxis : llvm::reverse(mesh.getAxes())) {
    size = meshAxis.getSize();
    if (meshAxis.getName() == axis.getName())
      break;
    inner *= size;
  }
  int64_t part = axis.isWholeAxis() ? size : axis.getSize();
  if (part == 1)
    return 1;
  return inner * (axis.isWholeAxis() ? size : size / axis.getPreSize());
}

int CostModel::getLevel(ArrayRef<AxisRefAttr> axes) const {
  int64_t span = 1;
  for (AxisRefAttr axis : axes)
    span = std::max(span, getSpan(mesh, axis));
  int last = int(machine.levels.size()) - 1;
  for (int level = 0; level < last; ++level) {
    int64_t ranks = machine.levels[level].ranks;
    if (ranks % span == 0 || ranks >= mesh.getNumRanks())
      return level;
  }
  return last;
}

LinkRate CostModel::getLinkRate(ArrayRef<AxisRefAttr> axes) const {
  // Axes with links of their own: the slowest of them counts.
  std::optional<LinkRate> slowest;
  for (AxisRefAttr axis : axes) {
    auto own = machine.axes.find(axis.getName().str());
    if (own == machine.axes.end())
      continue;
    if (!slowest)
      slowest = own->second;
    slowest->latencyNs = std::max(slowest->latencyNs, own->second.latencyNs);
    slowest->latencyPerRankNs =
        std::max(slowest->latencyPerRankNs, own->second.latencyPerRankNs);
    slowest->bytesPerSecond =
        std::min(slowest->bytesPerSecond, own->second.bytesPerSecond);
  }
  return slowest ? *slowest : machine.levels[getLevel(axes)].link;
}

/// A number for the channel of a collective: its place among the module's
/// channels, or one made of its kind and axes if it has none yet.
static int getChannelNumber(Operation *op, MeshAttr mesh,
                            const Collective &collective) {
  int number = 0;
  if (auto channel = op->getAttrOfType<FlatSymbolRefAttr>("channel"))
    for (auto other : op->getParentOfType<ModuleOp>().getOps<ChannelOp>()) {
      if (other.getSymNameAttr() == channel.getAttr())
        return number;
      ++number;
    }
  number |= (int(collective.kind) + 1) << 24;
  for (AxisRefAttr axis : collective.axes.getAxes())
    number |= 1 << (8 + mesh.getAxisIndex(axis.getName()).value_or(0) % 16);
  return number;
}

std::optional<CollectiveCost>
CostModel::getCollectiveCost(Operation *op) const {
  std::optional<Collective> collective = getCollective(op);
  if (!collective)
    return std::nullopt;
  CollectiveCost cost;
  ArrayRef<AxisRefAttr> axes = collective->axes.getAxes();
  cost.groupSize = mesh ? getNumShards(mesh, axes) : 1;
  if (cost.groupSize == 1 || machine.levels.empty())
    return cost;
  cost.bytes = getBytes(*collective, cost.groupSize);
  LinkRate link = getLinkRate(axes);
  int level = getLevel(axes), levels = int(machine.levels.size());
  cost.link = machine.levels[level].sharedLink
                  ? level
                  : levels + getChannelNumber(op, mesh, *collective);
  double latency =
      link.latencyNs + link.latencyPerRankNs * double(cost.groupSize - 1);
  cost.latency = roundNanoseconds(latency);
  cost.nanoseconds = roundNanoseconds(latency + double(cost.bytes) * 1e9 /
                                                    link.bytesPerSecond);
  if (std::optional<int64_t> measured = getMeasured(machine, op))
    cost.nanoseconds = *measured;
  return cost;
}

int64_t CostModel::getCollectiveNanoseconds(Operation *op) const {
  std::optional<CollectiveCost> cost = getCollectiveCost(op);
  return cost ? cost->nanoseconds : 0;
}

int CostModel::getLink(Operation *op) const {
  std::optional<CollectiveCost> cost = getCollectiveCost(op);
  return cost ? cost->link : -1;
}
