// SPDX-License-Identifier: Apache-2.0

// Work divided by rates. See the header for the formulas.

#include "weft/Cost/CostModel.h"

#include "CollectiveTime.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mlir::weft;

CostModel::CostModel(const Machine &machine, MeshAttr mesh)
    : machine(machine), mesh(mesh) {}

static MeshAttr getFirstMesh(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshAttr() : (*meshes.begin()).getMesh();
}

CostModel::CostModel(const Machine &machine, ModuleOp module)
    : CostModel(machine, getFirstMesh(module)) {}

CostModel::~CostModel() = default;

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

/// Says whether products of f32 run as TF32: where the machine does not say how
/// fast that is, nothing is made of it. Attention stays in f32.
static bool runsAsTF32(Operation *op, const Machine &machine) {
  return isa<MatmulOp, rt::GemmOp>(op) && machine.hasRate("tf32") &&
         mayUseTF32(op);
}

/// The type that a product is computed in: the wider of its operands.
static StringRef getProductType(Operation *op, const ProductWork &product,
                                const Machine &machine) {
  Type lhs = product.lhs, rhs = product.rhs;
  unsigned bits =
      std::max(lhs.getIntOrFloatBitWidth(), rhs.getIntOrFloatBitWidth());
  if (lhs.isInteger() && rhs.isInteger())
    return bits > 8 ? "i32" : "i8";
  if (bits > 32)
    return "f64";
  if (bits > 16)
    return runsAsTF32(op, machine) ? "tf32" : "f32";
  if (bits <= 8)
    return bits > 4 ? "f8" : "f4";
  // f16 and bf16 have only f32 in common.
  if ((lhs.isF16() && rhs.isBF16()) || (lhs.isBF16() && rhs.isF16()))
    return "f32";
  return lhs.isF16() || rhs.isF16() ? "f16" : "bf16";
}

void weft::warnOfUnknownRates(ModuleOp module, const Machine &machine) {
  llvm::StringSet<> seen;
  module.walk([&](CostOpInterface op) {
    std::optional<OpWork> work = op.getWork();
    if (!work || !work->product)
      return;
    StringRef type = getProductType(op, *work->product, machine);
    if (!machine.hasRate(type) && seen.insert(type).second)
      op->emitWarning("machine '")
          << machine.name << "' does not say how fast products of " << type
          << " are: they count as products of " << machine.getRunType(type);
  });
}

int64_t CostModel::getKernelNanoseconds(const OpWork &work,
                                        const Slowdown &slowdown) const {
  double bytes = work.getBytes();
  double bandwidth =
      machine.memoryBytesPerSecond * machine.memoryByBytes.at(bytes);
  double moving = bytes * 1e9 / bandwidth * slowdown.getMemory();
  double computing = work.operations * 1e9 / machine.elementwisePerSecond *
                     slowdown.getCompute();
  return roundNanoseconds(std::max(moving, computing) +
                          machine.kernelOverheadNs);
}

/// The machine's rate of attention or its gradient; null if `op` is neither, or
/// the machine has none.
static const AttentionRate *getAttentionRate(const Machine &machine,
                                             Operation *op) {
  const std::optional<AttentionRate> *rate = nullptr;
  if (isa<AttentionOp>(op))
    rate = &machine.attention;
  else if (isa<AttentionGradOp>(op))
    rate = &machine.attentionGradient;
  else if (auto planned = dyn_cast<rt::AttentionOp>(op))
    rate = makeAttentionShape(planned.getIndexingMaps(), planned.getConfig(),
                              planned.getValues())
                   .isGradient()
               ? &machine.attentionGradient
               : &machine.attention;
  return rate && *rate ? &**rate : nullptr;
}

/// The part of the rate of its type that a product, or attention, reaches.
double CostModel::getProductEfficiency(Operation *op,
                                       const OpWork &work) const {
  const ProductWork &sizes = *work.product;
  if (const AttentionRate *rate = getAttentionRate(machine, op))
    return rate->byKeys.at(sizes.n) * rate->byHeadSize.at(sizes.k);
  const ComputeRate &rate = machine.getRate(getProductType(op, sizes, machine));
  return rate.byFlops.at(sizes.getFlops()) *
         rate.bySmallestDim.at(sizes.getSmallestDim());
}

int64_t CostModel::getProductNanoseconds(Operation *op, const OpWork &work,
                                         const Slowdown &slowdown) const {
  const ProductWork &sizes = *work.product;
  double flops = sizes.getFlops(), bytes = work.getBytes();
  const ComputeRate &rate = machine.getRate(getProductType(op, sizes, machine));
  double computing =
      flops * 1e9 / (rate.flopsPerSecond * getProductEfficiency(op, work));
  double moving =
      bytes * 1e9 /
      (machine.memoryBytesPerSecond * machine.memoryByBytes.at(bytes));
  return roundNanoseconds(std::max(computing * slowdown.getCompute(),
                                   moving * slowdown.getMemory()) +
                          machine.kernelOverheadNs);
}

/// The trips of a loop whose bounds are constants; else 1.
static int64_t getTripCount(scf::ForOp loop) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  return trips ? trips->getSExtValue() : 1;
}

int64_t CostModel::getRegionNanoseconds(Region &region,
                                        const Slowdown &slowdown) const {
  int64_t sum = 0;
  for (Block &block : region)
    for (Operation &op : block)
      sum += getOpNanoseconds(&op, slowdown);
  return sum;
}

int64_t CostModel::getOpNanoseconds(Operation *op,
                                    const Slowdown &slowdown) const {
  if (getCollectiveKind(op) || isa<rt::StartOp, rt::WaitOp>(op))
    return 0;
  if (std::optional<int64_t> measured = getMeasured(machine, op))
    return *measured;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return roundNanoseconds(
        double(getTripCount(loop)) *
        double(getRegionNanoseconds(loop.getRegion(), slowdown)));
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return std::max(getRegionNanoseconds(branch.getThenRegion(), slowdown),
                    getRegionNanoseconds(branch.getElseRegion(), slowdown));
  auto own = dyn_cast<CostOpInterface>(op);
  if (std::optional<OpWork> work = own ? own.getWork() : std::nullopt)
    return work->product ? getProductNanoseconds(op, *work, slowdown)
                         : getKernelNanoseconds(*work, slowdown);
  return 0;
}

int64_t CostModel::getComputeNanoseconds(Operation *op) const {
  return getOpNanoseconds(op, getSlowdown(op));
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
  return Collective{start.getKind(), start.getCollective().getAxes(),
                    start.getIns()};
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

/// Bytes of the whole buffers: what all_gather makes, what the others take.
static double getWholeBytes(const Collective &collective, int64_t group) {
  double bytes = 0;
  for (Value input : collective.inputs)
    bytes += double(getShapedBytes(input.getType()));
  return collective.kind == CollectiveKind::AllGather ? bytes * double(group)
                                                      : bytes;
}

namespace {
/// Positions along an axis, or a part of one: `size` of them, `stride` ranks
/// apart.
struct Positions {
  int64_t size, stride;
};
} // namespace

static SmallVector<Positions> getPositions(MeshAttr mesh,
                                           ArrayRef<AxisRefAttr> axes) {
  SmallVector<Positions> positions;
  for (AxisRefAttr axis : axes) {
    int64_t inner = 1, size = 1;
    for (MeshAxisAttr meshAxis : llvm::reverse(mesh.getAxes())) {
      size = meshAxis.getSize();
      if (meshAxis.getName() == axis.getName())
        break;
      inner *= size;
    }
    if (axis.isWholeAxis())
      positions.push_back({size, inner});
    else
      positions.push_back({axis.getSize(), inner * (size / (axis.getPreSize() *
                                                            axis.getSize()))});
  }
  return positions;
}

/// The first rank of the group of `rank`.
static int64_t getFirstOfGroup(int64_t rank, ArrayRef<Positions> positions) {
  for (Positions along : positions)
    rank -= rank / along.stride % along.size * along.stride;
  return rank;
}

/// How the groups lie in blocks of so many ranks.
static GroupLevel getGroupLevel(int64_t numRanks, int64_t blockRanks,
                                ArrayRef<Positions> positions) {
  // Of each rank its group and block: those of one group side by side.
  std::vector<std::pair<int64_t, int64_t>> places;
  places.reserve(numRanks);
  for (int64_t rank = 0; rank < numRanks; ++rank)
    places.push_back({getFirstOfGroup(rank, positions), rank / blockRanks});
  llvm::sort(places);
  GroupLevel level;
  level.members = numRanks;
  int64_t blocks = 0;
  for (size_t begin = 0, end; begin < places.size(); begin = end) {
    for (end = begin; end < places.size() && places[end] == places[begin];)
      ++end;
    bool isFirst = begin == 0 || places[begin].first != places[begin - 1].first;
    blocks = isFirst ? 1 : blocks + 1;
    level.blocks = std::max(level.blocks, blocks);
    level.members = std::min(level.members, int64_t(end - begin));
  }
  return level;
}

const GroupShape &CostModel::getShape(AxesAttr axes) const {
  std::unique_ptr<GroupShape> &shape = shapes[axes];
  if (shape)
    return *shape;
  shape = std::make_unique<GroupShape>();
  SmallVector<Positions> positions = getPositions(mesh, axes.getAxes());
  for (Positions along : positions)
    shape->ranks *= along.size;
  for (const MachineLevel &level : machine.levels) {
    bool isLast = &level == &machine.levels.back();
    shape->levels.push_back(
        isLast || level.ranks == 0
            ? GroupLevel{1, shape->ranks}
            : getGroupLevel(mesh.getNumRanks(), level.ranks, positions));
    if (shape->levels.back().blocks == 1)
      break;
  }
  return *shape;
}

/// The link of the axes that have one of their own: the slowest of them counts.
static std::optional<LinkRate> getAxisLink(const Machine &machine,
                                           ArrayRef<AxisRefAttr> axes) {
  std::optional<LinkRate> slowest;
  for (AxisRefAttr axis : axes) {
    auto own = machine.axes.find(axis.getName().str());
    if (own == machine.axes.end())
      continue;
    if (!slowest)
      slowest = own->second;
    slowest->latencyNs = std::max(slowest->latencyNs, own->second.latencyNs);
    slowest->latencyPerStepNs =
        std::max(slowest->latencyPerStepNs, own->second.latencyPerStepNs);
    if (own->second.bytesPerSecond < slowest->bytesPerSecond) {
      slowest->bytesPerSecond = own->second.bytesPerSecond;
      slowest->byBytes = own->second.byBytes;
    }
  }
  return slowest;
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

/// A copy to the host's memory, or from it: on a link of its own. Where the
/// machine has no such link, the rank's memory is read and written.
static CollectiveCost getHostCopyCost(Operation *op, const Collective &copy,
                                      const Machine &machine, MeshAttr mesh) {
  CollectiveCost cost;
  cost.groupSize = 1;
  cost.bytes = getBytes(copy, /*group=*/1);
  LinkRate link{machine.kernelOverheadNs, 0, machine.memoryBytesPerSecond / 2,
                machine.memoryByBytes};
  if (machine.hostLink)
    link = *machine.hostLink;
  CollectiveTime time =
      getLinkTime(link, /*ranks=*/1, copy.kind, double(cost.bytes));
  cost.link = int(machine.levels.size()) + getChannelNumber(op, mesh, copy);
  cost.latency = roundNanoseconds(time.latency);
  cost.nanoseconds = roundNanoseconds(time.nanoseconds);
  if (std::optional<int64_t> measured = getMeasured(machine, op))
    cost.nanoseconds = *measured;
  return cost;
}

std::optional<CollectiveCost>
CostModel::getCollectiveCost(Operation *op) const {
  std::optional<Collective> collective = getCollective(op);
  if (!collective)
    return std::nullopt;
  if (getHostCopy(op))
    return getHostCopyCost(op, *collective, machine, mesh);
  CollectiveCost cost;
  ArrayRef<AxisRefAttr> axes = collective->axes.getAxes();
  cost.groupSize = mesh ? getNumShards(mesh, axes) : 1;
  if (cost.groupSize == 1 || machine.levels.empty())
    return cost;
  cost.bytes = getBytes(*collective, cost.groupSize);
  const GroupShape &shape = getShape(collective->axes);
  double buffer = getWholeBytes(*collective, cost.groupSize);
  std::optional<LinkRate> own = getAxisLink(machine, axes);
  CollectiveTime time =
      own ? getLinkTime(*own, cost.groupSize, collective->kind, buffer)
          : getCollectiveTime(machine, shape, collective->kind, buffer);
  cost.level = int(shape.levels.size()) - 1;
  int levels = int(machine.levels.size());
  cost.link = machine.levels[cost.level].sharedLink
                  ? cost.level
                  : levels + getChannelNumber(op, mesh, *collective);
  cost.latency = roundNanoseconds(time.latency);
  cost.nanoseconds = roundNanoseconds(time.nanoseconds);
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

//===----------------------------------------------------------------------===//
// Compute beside collectives
//===----------------------------------------------------------------------===//

namespace {
/// Nanoseconds of a function, and those that its collectives would take from
/// compute if all of them ran beside some.
struct Contention {
  double compute = 0, collectives = 0, takenCompute = 0, takenMemory = 0;
};
} // namespace

static void addContention(Operation *op, const CollectiveCost &cost,
                          const Machine &machine, Contention &contention) {
  if (cost.nanoseconds == 0 || cost.level < 0)
    return;
  const MachineLevel &level = machine.levels[cost.level];
  double runs = 1, ns = double(cost.nanoseconds);
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    runs *= double(getTripCount(loop));
  double processors =
      machine.multiprocessors == 0
          ? 0
          : double(level.multiprocessors) / double(machine.multiprocessors);
  double memory = double(cost.bytes) * level.memoryBytesPerByte * 1e9 /
                  (ns * machine.memoryBytesPerSecond);
  contention.collectives += runs * ns;
  // Compute goes on with a tenth of the multiprocessors at least, and with half
  // of the bandwidth.
  contention.takenCompute += runs * ns * std::min(processors, 0.9);
  contention.takenMemory += runs * ns * std::min(memory, 0.5);
}

/// `taken` spread over all compute. Of collectives that take longer than
/// compute does beside them, only a part takes from it.
static int64_t getSlowdownPpm(double taken, const Contention &contention) {
  if (contention.compute == 0 || contention.collectives == 0)
    return 1000000;
  double share = taken / contention.collectives;
  double added = std::min(taken / contention.compute, share / (1 - share));
  return std::llround(1e6 * (1 + added));
}

CostModel::Slowdown CostModel::computeSlowdown(func::FuncOp function) const {
  bool takes = llvm::any_of(machine.levels, [](const MachineLevel &level) {
    return level.multiprocessors > 0 || level.memoryBytesPerByte > 0;
  });
  if (!takes)
    return {};
  Contention contention;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (std::optional<CollectiveCost> cost = getCollectiveCost(op))
      addContention(op, *cost, machine, contention);
    // Kernels have no collectives in them.
    return isa<linalg::LinalgOp, rt::FusedOp>(op) ? WalkResult::skip()
                                                  : WalkResult::advance();
  });
  contention.compute =
      double(getRegionNanoseconds(function.getBody(), Slowdown()));
  return {getSlowdownPpm(contention.takenCompute, contention),
          getSlowdownPpm(contention.takenMemory, contention)};
}

/// What the schedule of a function was made with.
static std::optional<CostModel::Slowdown>
getScheduledSlowdown(func::FuncOp function, const Machine &machine) {
  auto figures =
      function->getAttrOfType<DictionaryAttr>(WeftDialect::kScheduleAttr);
  if (!figures)
    return std::nullopt;
  auto name = figures.getAs<StringAttr>("machine");
  auto compute = figures.getAs<IntegerAttr>("compute_slowdown_ppm");
  auto memory = figures.getAs<IntegerAttr>("memory_slowdown_ppm");
  // What an edited dump says is taken if it is a slowdown that can be.
  auto isPossible = [](IntegerAttr ppm) {
    return ppm && ppm.getValue().sge(1000000) && ppm.getValue().sle(10000000);
  };
  if (!name || name.getValue() != machine.name || !isPossible(compute) ||
      !isPossible(memory))
    return std::nullopt;
  return CostModel::Slowdown{compute.getInt(), memory.getInt()};
}

CostModel::Slowdown CostModel::getSlowdown(Operation *op) const {
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function)
    function = op->getParentOfType<func::FuncOp>();
  if (!function)
    return {};
  auto [entry, isNew] = slowdowns.try_emplace(function);
  if (isNew) {
    std::optional<Slowdown> scheduled = getScheduledSlowdown(function, machine);
    Slowdown found = scheduled ? *scheduled : computeSlowdown(function);
    slowdowns[function] = found;
    return found;
  }
  return entry->second;
}
