// SPDX-License-Identifier: Apache-2.0

// weft-accumulate: one rank does the work of all coordinates along one mesh
// axis, one after the other.
//
// A value of the local program *varies* if it depends on the coordinate; what
// makes it is cloned once per coordinate. A collective over the axis is a
// *join*: it takes all clones of its operands. The new program goes through the
// old one in rounds, one per coordinate: round c has clone c of each op that
// varies. An op after a join cannot be in the rounds before it, so there are
// as many *stages* of rounds as joins lie one after another; each op is in the
// last stage in which it is in time, so that little waits in memory for a join.
// What does not vary stands where it is needed first, or, if no clone needs it,
// in the last round, which so looks like the old program.

#include "Accumulate.h"
#include "SerialDims.h"

#include "weft/Accumulation/Passes.h"
#include "weft/Dialect/Weft/IR/Formulas.h"
#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/CheckedArithmetic.h"

namespace mlir::weft {
#define GEN_PASS_DEF_ACCUMULATEPASS
#include "weft/Accumulation/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

bool isJoin(Operation *op, const SerialAxis &serial) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && serial.isIn(collective.getAxesAttr().getAxes());
}

/// Says whether the op joins clones of one rank alone.
bool isLocalJoin(AllReduceOp op, const SerialAxis &serial) {
  return isJoin(op, serial) &&
         splitAxes(op.getAxes().getAxes(), serial)->isLocal();
}

bool isReduction(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && collective.getReduction();
}

//===----------------------------------------------------------------------===//
// What varies, and when
//===----------------------------------------------------------------------===//

/// The values that an op takes, those in its regions included.
SmallVector<Value> getTaken(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  if (op->getNumRegions() == 0)
    return values;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(values, captured);
  return values;
}

/// What the pass knows of an op.
struct OpFacts {
  SmallVector<Value> taken;
  /// Joins are not cloned, but their results may vary.
  bool isJoin = false, isCloned = false;
  /// A gather whose clones are all the same, so that none has to stay.
  bool isRepeated = false;
  /// How many joins lie one after another before the op.
  int level = 0;
  /// The stage of a clone's rounds.
  int stage = 0;
};

class Variation {
public:
  Variation(func::FuncOp func, const SerialAxis &serial, bool regather);

  bool varies(Value value) const { return varying.contains(value); }
  const OpFacts &of(Operation *op) const { return facts.find(op)->second; }
  int getNumStages() const { return numStages; }

private:
  void visitForward(Operation *op);
  void repeatGathers(Block &block);
  void visitBackward(Operation *op, Block &block);

  const SerialAxis &serial;
  DenseMap<Operation *, OpFacts> facts;
  DenseSet<Value> varying;
  DenseMap<Value, int> levels;
  int numStages = 1;
};

bool isSerial(ShardingAttr sharding, const SerialAxis &serial) {
  return sharding && llvm::any_of(sharding.getDims(), [&](DimShardingAttr dim) {
           return serial.isIn(dim.getAxes());
         });
}

Variation::Variation(func::FuncOp func, const SerialAxis &serial, bool regather)
    : serial(serial) {
  for (BlockArgument arg : func.getArguments())
    if (isSerial(func.getArgAttrOfType<ShardingAttr>(
                     arg.getArgNumber(), WeftDialect::kShardingAttr),
                 serial))
      varying.insert(arg);
  Block &block = func.getBody().front();
  for (Operation &op : block.without_terminator())
    visitForward(&op);
  if (regather)
    repeatGathers(block);
  for (Operation &op : llvm::reverse(block.without_terminator()))
    visitBackward(&op, block);
}

void Variation::visitForward(Operation *op) {
  OpFacts &fact = facts[op];
  fact.taken = getTaken(op);
  for (Value value : fact.taken)
    fact.level = std::max(fact.level, levels.lookup(value));
  auto index = dyn_cast<AxisIndexOp>(op);
  fact.isJoin = isJoin(op, serial);
  fact.isCloned =
      !fact.isJoin &&
      ((index && serial.isIn(index.getAxes().getAxes())) ||
       llvm::any_of(fact.taken, [&](Value value) { return varies(value); }));
  bool makesVarying = fact.isCloned;
  if (fact.isJoin) {
    auto join = cast<CollectiveOpInterface>(op);
    makesVarying =
        !join.getScatteredDims().empty() ||
        join.getCollectiveKind() == CollectiveKind::Permute ||
        splitAxes(join.getAxesAttr().getAxes(), serial)->size != serial.size;
  }
  for (Value result : op->getResults()) {
    levels[result] = fact.level + fact.isJoin;
    if (makesVarying)
      varying.insert(result);
  }
  numStages = std::max(numStages, fact.level + 1);
}

/// Lets gathers before all joins vary, and what is made of them, where a clone
/// needs it.
void Variation::repeatGathers(Block &block) {
  DenseSet<Operation *> needed;
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (llvm::any_of(op.getUsers(), [&](Operation *inner) {
          Operation *user = block.findAncestorOpInBlock(*inner);
          return needed.contains(user) ||
                 (user != block.getTerminator() && of(user).isCloned);
        }))
      needed.insert(&op);
  for (Operation &op : block.without_terminator()) {
    OpFacts &fact = facts[&op];
    if (fact.isCloned || fact.isJoin || !needed.contains(&op))
      continue;
    fact.isRepeated = isa<AllGatherOp>(op) && fact.level == 0;
    fact.isCloned =
        fact.isRepeated ||
        llvm::any_of(fact.taken, [&](Value value) { return varies(value); });
    if (fact.isCloned)
      varying.insert(op.result_begin(), op.result_end());
  }
}

void Variation::visitBackward(Operation *op, Block &block) {
  OpFacts &fact = facts[op];
  fact.stage = numStages - 1;
  bool isUsed = false;
  for (Operation *inner : op->getUsers()) {
    Operation *user = block.findAncestorOpInBlock(*inner);
    if (user == block.getTerminator()) {
      fact.stage = fact.level;
      continue;
    }
    const OpFacts &other = of(user);
    fact.stage =
        std::min(fact.stage, other.isCloned ? other.stage : other.level);
    isUsed = true;
  }
  if (!isUsed)
    fact.stage = fact.level;
}

//===----------------------------------------------------------------------===//
// The border
//===----------------------------------------------------------------------===//

ShardingAttr dropSerialAxis(ShardingAttr sharding, const SerialAxis &serial) {
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims())
    dims.push_back(DimShardingAttr::get(sharding.getContext(),
                                        serial.dropFrom(dim.getAxes()),
                                        dim.getIsOpen()));
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims,
                           serial.dropFrom(sharding.getStorage()),
                           sharding.getPartialKind(), sharding.getPartial());
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

/// Writes the new function after the old one, in the same block.
class FunctionAccumulator {
public:
  FunctionAccumulator(func::FuncOp func, const SerialAxis &serial,
                      bool regather)
      : func(func), block(func.getBody().front()), serial(serial),
        variation(func, serial, regather), builder(block.getTerminator()),
        maps(serial.size) {
    for (auto [position, op] : llvm::enumerate(block.without_terminator())) {
      positions[&op] = position;
      oldOps.push_back(&op);
    }
  }

  LogicalResult run() {
    if (failed(readBorder()))
      return failure();
    SmallVector<BlockArgument> oldArgs(block.getArguments());
    addArguments(oldArgs);
    for (int stage = 0; stage < variation.getNumStages(); ++stage)
      for (int64_t c = 0; c < serial.size; ++c)
        runRound(stage, c);
    finishResults();
    for (Operation *op : llvm::reverse(oldOps))
      op->erase();
    block.eraseArguments(0, oldArgs.size());
    finishBorder();
    return success();
  }

private:
  FailureOr<SmallVector<SerialDim>> readDims(ShardingAttr sharding,
                                             TypeAttr global, Type local,
                                             Location loc, const Twine &what) {
    if (!isSerial(sharding, serial))
      return SmallVector<SerialDim>();
    return getSerialDims(func, sharding, global, local, serial, loc, what);
  }

  LogicalResult readBorder() {
    for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
      auto dims = readDims(
          func.getArgAttrOfType<ShardingAttr>(i, WeftDialect::kShardingAttr),
          func.getArgAttrOfType<TypeAttr>(i, WeftDialect::kGlobalTypeAttr),
          type, locateArgument(func, i),
          describe(
              "argument", i,
              func.getArgAttrOfType<StringAttr>(i, WeftDialect::kNameAttr)));
      if (failed(dims))
        return failure();
      argDims.push_back(*dims);
    }
    for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
      auto dims = readDims(
          func.getResultAttrOfType<ShardingAttr>(i, WeftDialect::kShardingAttr),
          func.getResultAttrOfType<TypeAttr>(i, WeftDialect::kGlobalTypeAttr),
          type, locateResult(func, i),
          describe(
              "result", i,
              func.getResultAttrOfType<StringAttr>(i, WeftDialect::kNameAttr)));
      if (failed(dims))
        return failure();
      resultDims.push_back(*dims);
    }
    return success();
  }

  /// Arguments that are cut are so where a coordinate needs them first.
  void addArguments(ArrayRef<BlockArgument> oldArgs) {
    for (auto [arg, dims] : llvm::zip(oldArgs, argDims)) {
      Type type =
          dims.empty() ? arg.getType() : getWholeType(arg.getType(), dims);
      wholeArgs.push_back(block.addArgument(type, arg.getLoc()));
      if (dims.empty())
        mapAll(arg, wholeArgs.back());
    }
  }

  void mapAll(Value old, Value value) {
    for (IRMapping &map : maps)
      map.map(old, value);
  }

  //===--------------------------------------------------------------------===//
  // Rounds
  //===--------------------------------------------------------------------===//

  void runRound(int stage, int64_t coordinate) {
    bool isLast = coordinate + 1 == serial.size;
    for (Operation *op : oldOps) {
      const OpFacts &facts = variation.of(op);
      if (facts.isCloned && facts.stage == stage)
        emitClone(op, coordinate);
      else if (isLast && !facts.isCloned && !emitted.contains(op) &&
               isReady(facts))
        emitSingle(op);
    }
  }

  bool isReady(const OpFacts &facts) const {
    return llvm::all_of(facts.taken, [&](Value value) {
      return isa<BlockArgument>(value) ||
             llvm::all_of(maps, [&](const IRMapping &map) {
               return map.contains(value);
             });
    });
  }

  /// The clone of a value; cuts an argument, and emits what does not vary.
  Value get(Value old, int64_t coordinate) {
    IRMapping &map = maps[coordinate];
    if (Value value = map.lookupOrNull(old))
      return value;
    if (auto arg = dyn_cast<BlockArgument>(old))
      map.map(old, cutArgument(builder, wholeArgs[arg.getArgNumber()],
                               argDims[arg.getArgNumber()], coordinate,
                               cast<RankedTensorType>(old.getType())));
    else
      emitNeeded(old.getDefiningOp());
    return map.lookup(old);
  }

  /// Emits an op that does not vary after those that it needs, in program
  /// order.
  void emitNeeded(Operation *needed) {
    llvm::SetVector<Operation *> ops;
    ops.insert(needed);
    for (unsigned i = 0; i < ops.size(); ++i)
      for (Value value : variation.of(ops[i]).taken)
        if (Operation *def = value.getDefiningOp())
          if (!emitted.contains(def))
            ops.insert(def);
    SmallVector<Operation *> ordered = ops.takeVector();
    llvm::sort(ordered, [&](Operation *a, Operation *b) {
      return positions[a] < positions[b];
    });
    for (Operation *op : ordered)
      emitSingle(op);
  }

  void emitSingle(Operation *op) {
    emitted.insert(op);
    if (variation.of(op).isJoin)
      return emitJoin(op);
    for (Value value : variation.of(op).taken)
      get(value, 0);
    Operation *clone = builder.clone(*op, maps[0]);
    if (isa<AllGatherOp>(clone))
      clone = reuseGather(clone);
    for (auto [old, value] : llvm::zip(op->getResults(), clone->getResults()))
      mapAll(old, value);
  }

  /// A weight that was gathered for the forward and again for the backward pass
  /// stays from the one to the other, as the next microbatch needs it there.
  Operation *reuseGather(Operation *gather) {
    for (Operation *earlier : gathers) {
      if (serial.size == 1 ||
          !OperationEquivalence::isEquivalentTo(
              earlier, gather, OperationEquivalence::IgnoreLocations))
        continue;
      gather->erase();
      return earlier;
    }
    gathers.push_back(gather);
    return gather;
  }

  void emitClone(Operation *op, int64_t coordinate) {
    if (auto index = dyn_cast<AxisIndexOp>(op);
        index && serial.isIn(index.getAxes().getAxes())) {
      maps[coordinate].map(index.getResult(), makeIndex(index, coordinate));
    } else if (std::optional<int64_t> same = findSame(op, coordinate);
               same && !variation.of(op).isRepeated) {
      for (Value result : op->getResults())
        maps[coordinate].map(result, maps[*same].lookup(result));
    } else {
      Operation *clone = builder.clone(*op, maps[coordinate]);
      settleMasks(op, clone, coordinate);
      keepOffsets(op, clone, coordinate);
    }
    for (Value result : op->getResults())
      for (OpOperand &use : result.getUses())
        if (isReduction(use.getOwner()) && variation.of(use.getOwner()).isJoin)
          feed(use.getOwner(), use.getOperandNumber(), coordinate);
  }

  /// What a mask compares an index with is known here: `index < size - begin`.
  /// Where the part ends before that, nothing is masked; else which part it is
  /// stays to be seen, as `index + begin < size`.
  void settleMasks(Operation *op, Operation *clone, int64_t coordinate) {
    auto generic = dyn_cast<linalg::GenericOp>(clone);
    if (!generic)
      return;
    SmallVector<int64_t> extents = generic.getStaticLoopRanges();
    SmallVector<std::pair<arith::CmpIOp, arith::SubIOp>> masks;
    op->walk([&](arith::CmpIOp mask) {
      auto rest = mask.getRhs().getDefiningOp<arith::SubIOp>();
      bool isMask = mask.getPredicate() == arith::CmpIPredicate::slt &&
                    mask.getLhs().getDefiningOp<linalg::IndexOp>() && rest &&
                    variation.varies(rest);
      masks.push_back({mask, isMask ? rest : arith::SubIOp()});
    });
    unsigned number = 0;
    clone->walk([&](arith::CmpIOp mask) {
      arith::SubIOp rest = masks[number++].second;
      if (!rest)
        return;
      Value begin = get(rest.getRhs(), coordinate);
      Value size = get(rest.getLhs(), coordinate);
      std::optional<int64_t> first = getNumber(begin), end = getNumber(size);
      if (!first || !end)
        return;
      auto index = mask.getLhs().getDefiningOp<linalg::IndexOp>();
      OpBuilder body(mask);
      if (*end - *first >= extents[index.getDim()]) {
        mask.replaceAllUsesWith(arith::ConstantOp::create(
                                    body, mask.getLoc(), body.getBoolAttr(true))
                                    .getResult());
        return;
      }
      mask.setOperand(
          0, arith::AddIOp::create(body, mask.getLoc(), mask.getLhs(), begin));
      mask.setOperand(1, size);
    });
  }

  /// What is computed of nothing but constants; nullopt for other values.
  static std::optional<int64_t> getNumber(Value value) {
    if (std::optional<int64_t> number = getConstantIntValue(value))
      return number;
    auto product = value.getDefiningOp<arith::MulIOp>();
    if (!product)
      return std::nullopt;
    std::optional<int64_t> a = getConstantIntValue(product.getLhs()),
                           b = getConstantIntValue(product.getRhs());
    return a && b ? llvm::checkedMul(*a, *b) : std::nullopt;
  }

  /// Keeps the index of a loop of one iteration, which folding has made an
  /// offset alone, from folding with other constants: see weft.part_offset.
  void keepOffsets(Operation *op, Operation *clone, int64_t coordinate) {
    auto generic = dyn_cast<linalg::GenericOp>(clone);
    if (!generic || !llvm::is_contained(generic.getStaticLoopRanges(), 1))
      return;
    auto isIndex = [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return generic->isProperAncestor(user) && !isa<arith::CmpIOp>(user) &&
             (isa<PlaceOp>(user) ||
              llvm::none_of(user->getOperands(), [](Value operand) {
                return operand.getDefiningOp<linalg::IndexOp>();
              }));
    };
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(clone);
    for (Value value : variation.of(op).taken) {
      if (!value.getType().isIndex() || !variation.varies(value))
        continue;
      Value number = get(value, coordinate);
      auto offset = PartOffsetOp::create(builder, value.getLoc(), number);
      number.replaceUsesWithIf(offset, isIndex);
      if (offset->use_empty())
        offset.erase();
    }
  }

  /// An earlier coordinate whose clone takes the same values; brings the values
  /// that `op` takes about.
  std::optional<int64_t> findSame(Operation *op, int64_t coordinate) {
    ArrayRef<Value> taken = variation.of(op).taken;
    SmallVector<Value> values = llvm::map_to_vector(
        taken, [&](Value value) { return get(value, coordinate); });
    for (int64_t c = 0; c < coordinate; ++c)
      if (llvm::equal(values, llvm::map_range(taken, [&](Value value) {
                        return get(value, c);
                      })))
        return c;
    return std::nullopt;
  }

  /// The position along axes of which the serial one is known.
  Value makeIndex(AxisIndexOp op, int64_t coordinate) {
    Location loc = op.getLoc();
    AxesSplit axes = *splitAxes(op.getAxes().getAxes(), serial);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    auto index = [&](ArrayRef<AxisRefAttr> over) -> Value {
      return AxisIndexOp::create(builder, loc, op.getType(), op.getMeshAttr(),
                                 AxesAttr::get(op.getContext(), over));
    };
    Value value = constant(axes.getDigit(coordinate));
    if (axes.numMajor > 1) {
      Value scaled = arith::MulIOp::create(builder, loc, index(axes.major),
                                           constant(axes.size));
      value = arith::AddIOp::create(builder, loc, scaled, value);
    }
    if (axes.numMinor > 1) {
      value =
          arith::MulIOp::create(builder, loc, value, constant(axes.numMinor));
      value = arith::AddIOp::create(builder, loc, value, index(axes.minor));
    }
    return value;
  }

  //===--------------------------------------------------------------------===//
  // Joins
  //===--------------------------------------------------------------------===//

  /// The joins of one operand: of each group, under its first coordinate.
  struct Joins {
    SmallVector<Join> ofGroups;
    int64_t numFed = 0;
  };

  /// Adds the operand of one coordinate as soon as it is there. Coordinates
  /// come in order.
  void feed(Operation *op, unsigned operand, int64_t coordinate) {
    LocalCollective local(op, operand, serial, builder);
    Joins &pending = joins[{op, operand}];
    if (pending.ofGroups.empty())
      pending.ofGroups.assign(serial.size, local.makeJoin());
    assert(pending.numFed == coordinate && "coordinates come in order");
    ++pending.numFed;
    Value value = local.prepare(get(op->getOperand(operand), coordinate));
    pending.ofGroups[local.getAxes().getFirst(coordinate)].add(
        builder, op->getLoc(), value);
  }

  void emitJoin(Operation *op) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      LocalCollective local(op, i, serial, builder);
      for (int64_t c = joins.lookup({op, i}).numFed;
           isReduction(op) && c < serial.size; ++c)
        feed(op, i, c);
      for (int64_t first = 0; first < serial.size; ++first)
        if (local.getAxes().getFirst(first) == first)
          emitGroup(local, op, i, first);
    }
  }

  /// Maps the results of the members from coordinate `first` on.
  void emitGroup(LocalCollective &local, Operation *op, unsigned operand,
                 int64_t first) {
    SmallVector<int64_t> members = local.getAxes().getMembers(first);
    SmallVector<Value> results;
    if (isReduction(op)) {
      Join &join = joins[{op, operand}].ofGroups[first];
      results = local.finish(join.finish(builder, op->getLoc()));
    } else {
      results = local.run(llvm::map_to_vector(
          members, [&](int64_t c) { return get(op->getOperand(operand), c); }));
    }
    for (auto [c, result] : llvm::zip_equal(members, results))
      maps[c].map(op->getResult(operand), result);
  }

  //===--------------------------------------------------------------------===//
  // The end
  //===--------------------------------------------------------------------===//

  void finishResults() {
    Operation *ret = block.getTerminator();
    for (auto [i, dims] : llvm::enumerate(resultDims)) {
      SmallVector<Value> clones;
      for (int64_t c = 0; c < serial.size; ++c)
        clones.push_back(get(ret->getOperand(i), c));
      ret->setOperand(i, joinResult(builder, ret->getLoc(), clones, dims));
    }
  }

  /// Writes the new types, and shardings without the axis.
  void finishBorder() {
    func.setFunctionType(
        FunctionType::get(func.getContext(), block.getArgumentTypes(),
                          block.getTerminator()->getOperandTypes()));
    auto drop = [&](ShardingAttr sharding) -> Attribute {
      return sharding ? dropSerialAxis(sharding, serial) : sharding;
    };
    SmallVector<Attribute> args, results;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      args.push_back(drop(
          func.getArgAttrOfType<ShardingAttr>(i, WeftDialect::kShardingAttr)));
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      results.push_back(drop(func.getResultAttrOfType<ShardingAttr>(
          i, WeftDialect::kShardingAttr)));
    setArgAttrs(func, WeftDialect::kShardingAttr, args);
    setResultAttrs(func, WeftDialect::kShardingAttr, results);
  }

  func::FuncOp func;
  Block &block;
  const SerialAxis &serial;
  Variation variation;
  OpBuilder builder;
  SmallVector<Operation *> oldOps;
  DenseMap<Operation *, unsigned> positions;
  /// Per coordinate the clones of old values.
  SmallVector<IRMapping> maps;
  /// Ops that are not cloned, and are there.
  DenseSet<Operation *> emitted;
  /// The gathers that are done once.
  SmallVector<Operation *> gathers;
  /// The dims that the axis cuts, and the new arguments.
  SmallVector<SmallVector<SerialDim>> argDims, resultDims;
  SmallVector<Value> wholeArgs;
  DenseMap<std::pair<Operation *, unsigned>, Joins> joins;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// A join of what ranks have reduced is done before they reduce it: the ranks
/// then move the sum, not each summand. Only where the order is open, and not
/// where a part of each summand needs less memory (`keepsParts`). Returns what
/// is joined first then, which may come after a reduction as well; null:
/// nothing has changed.
AllReduceOp joinFirst(AllReduceOp join, const SerialAxis &serial,
                      bool keepsParts) {
  if (join.getInputs().size() != 1 || join->hasAttr(WeftDialect::kOrderAttr))
    return nullptr;
  Operation *inner = join.getInputs()[0].getDefiningOp();
  if (!inner || !isReduction(inner) || inner->getNumOperands() != 1 ||
      !inner->hasOneUse() || inner->hasAttr(WeftDialect::kOrderAttr) ||
      isJoin(inner, serial) || inner->getAttr("kind") != join.getKindAttr() ||
      (keepsParts && isa<ReduceScatterOp>(inner)))
    return nullptr;
  AxesSplit axes = *splitAxes(join.getAxes().getAxes(), serial);
  OpBuilder builder(inner);
  Value input = inner->getOperand(0);
  SmallVector<AxisRefAttr> local, rest = axes.getRest();
  for (AxisRefAttr axis : join.getAxes().getAxes())
    if (axis.getName() == serial.name)
      local.push_back(axis);
  auto first = AllReduceOp::create(
      builder, join.getLoc(), input.getType(), join.getKindAttr(), input,
      join.getMeshAttr(), AxesAttr::get(join.getContext(), local),
      join.getChannelAttr());
  inner->setOperand(0, first.getResult(0));
  if (rest.empty()) {
    join.replaceAllUsesWith(inner);
    join.erase();
  } else {
    join.setAxesAttr(AxesAttr::get(join.getContext(), rest));
  }
  return first;
}

/// The other way round, where a part of each summand needs less memory: ranks
/// reduce a join's operand to parts, of which it is the join then. Says whether
/// something has changed.
bool scatterFirst(AllReduceOp join) {
  if (join.getInputs().size() != 1 || join->hasAttr(WeftDialect::kOrderAttr) ||
      !join->hasOneUse())
    return false;
  auto scatter = dyn_cast<ReduceScatterOp>(*join->user_begin());
  if (!scatter || scatter->getNumOperands() != 1 ||
      scatter->hasAttr(WeftDialect::kOrderAttr) ||
      scatter->getAttr("kind") != join.getKindAttr())
    return false;
  scatter->setOperand(0, join.getInputs()[0]);
  scatter->moveBefore(join);
  scatter.getResult(0).replaceAllUsesWith(join.getResult(0));
  join->setOperand(0, scatter.getResult(0));
  join.getResult(0).setType(scatter.getResult(0).getType());
  return true;
}

/// Fails if a collective over the axis stands in a region, or has no local
/// form.
LogicalResult checkFunction(func::FuncOp func, const SerialAxis &serial) {
  WalkResult result = func.walk([&](Operation *op) {
    auto index = dyn_cast<AxisIndexOp>(op);
    bool isSerial =
        index ? serial.isIn(index.getAxes().getAxes()) : isJoin(op, serial);
    if (!isSerial)
      return WalkResult::advance();
    if (op->getParentOp() != func)
      return WalkResult(op->emitOpError("is over '")
                        << serial.name << "' in the region of '"
                        << op->getParentOp()->getName()
                        << "': the axis cannot be serial");
    return WalkResult(checkSerialAxes(op, serial));
  });
  return failure(result.wasInterrupted());
}

struct AccumulatePass : public weft::impl::AccumulatePassBase<AccumulatePass> {
  using AccumulatePassBase::AccumulatePassBase;

  void runOnOperation() override {
    FailureOr<MeshOp> found = findSerialMesh(getOperation(), axis);
    if (failed(found))
      return signalPassFailure();
    MeshOp mesh = *found;
    SerialAxis serial{axis, *mesh.getMesh().getAxisSize(axis), mesh.getMesh()};
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(runOnFunction(func, serial)))
        return signalPassFailure();
    SmallVector<MeshAxisAttr> axes = llvm::filter_to_vector(
        mesh.getMesh().getAxes(),
        [&](MeshAxisAttr other) { return other.getName() != serial.name; });
    mesh.setMeshAttr(MeshAttr::get(&getContext(), axes));
  }

  LogicalResult runOnFunction(func::FuncOp func, const SerialAxis &serial) {
    if (failed(checkOneBlock(func)) || failed(checkFunction(func, serial)))
      return failure();
    Block &block = func.getBody().front();
    for (auto op : llvm::make_early_inc_range(block.getOps<AllReduceOp>()))
      while (op && isJoin(op, serial))
        op = joinFirst(op, serial, regather);
    if (regather)
      for (auto op : llvm::make_early_inc_range(block.getOps<AllReduceOp>()))
        while (isLocalJoin(op, serial) && scatterFirst(op))
          ;
    return FunctionAccumulator(func, serial, regather).run();
  }
};

} // namespace
