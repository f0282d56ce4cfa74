// SPDX-License-Identifier: Apache-2.0

// Keys are what an op is: its name, attributes, types and regions, which are
// unique in a context, and the numbers of its operands.

#include "ValueNumbers.h"
#include "PlannedProgram.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"

#include <optional>

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

/// First in each key.
enum Kind : uint64_t {
  Argument,
  Step,
  Result,
  Scalar,
  Counter,
  Carried,
  Whole
};

uint64_t getBits(Attribute attribute) {
  return reinterpret_cast<uintptr_t>(attribute.getAsOpaquePointer());
}

uint64_t getBits(Type type) {
  return reinterpret_cast<uintptr_t>(type.getAsOpaquePointer());
}

/// Attributes that say what an op does: not its name, nor what planning says.
uint64_t getAttributes(Operation *op) {
  NamedAttrList list(op->getAttrDictionary());
  for (StringRef name : {"weft.op", "weft_rt.values", "weft_rt.reads",
                         "weft_rt.together", "weft_rt.stream"})
    list.erase(name);
  return getBits(list.getDictionary(op->getContext()));
}

/// What a constant of the module is.
uint64_t getConstant(memref::GetGlobalOp op) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      op, op.getNameAttr());
  return global ? getBits(global.getInitialValueAttr()) : 0;
}

ArrayRef<int64_t> getIdsOf(Operation *op, StringRef name) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(name);
  return attr ? attr.asArrayRef() : ArrayRef<int64_t>();
}

} // namespace

uint64_t ValueNumbers::intern(const Key &key) {
  return known.insert({key, known.size()}).first->second;
}

uint64_t ValueNumbers::get(int64_t id) {
  auto it = numbers.find(id);
  return it == numbers.end() ? intern({Argument, static_cast<uint64_t>(id)})
                             : it->second;
}

uint64_t ValueNumbers::get(Value scalar) {
  auto it = scalars.find(scalar);
  return it == scalars.end() ? intern({Scalar}) : it->second;
}

/// Ops of the regions, with local numbers for their values.
void ValueNumbers::addRegions(Operation *op, Key &key,
                              DenseMap<Value, uint64_t> &local) {
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments()) {
        key.push_back(getBits(argument.getType()));
        local[argument] = local.size();
      }
      for (Operation &inner : block) {
        key.push_back(
            reinterpret_cast<uintptr_t>(inner.getName().getAsOpaquePointer()));
        key.push_back(getAttributes(&inner));
        for (Value operand : inner.getOperands())
          key.push_back(local.lookup(operand));
        for (Value result : inner.getResults()) {
          key.push_back(getBits(result.getType()));
          local[result] = local.size();
        }
        addRegions(&inner, key, local);
      }
    }
}

/// An op without buffers, or a read of a scalar.
void ValueNumbers::addScalars(Operation *op) {
  Key key = {Scalar,
             reinterpret_cast<uintptr_t>(op->getName().getAsOpaquePointer()),
             getAttributes(op)};
  for (int64_t id : getIdsOf(op, "weft_rt.values"))
    key.push_back(get(id));
  for (Value operand : op->getOperands())
    if (!isa<MemRefType>(operand.getType()))
      key.push_back(get(operand));
    else if (auto source = operand.getDefiningOp<memref::GetGlobalOp>())
      key.push_back(getConstant(source));
    else
      llvm::append_range(
          key, parts->describe(getIdsOf(op, "weft_rt.values")[0], operand));
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    key.push_back(i);
    key.push_back(getBits(result.getType()));
    scalars[result] = intern(key);
  }
}

/// How many of the buffers, from the first on, an op only reads.
static unsigned getNumReadBuffers(Operation *op) {
  if (auto start = dyn_cast<rt::StartOp>(op))
    return start.getIns().size();
  if (auto fused = dyn_cast<rt::FusedOp>(op))
    return fused.getInputs().size();
  if (auto attention = dyn_cast<rt::AttentionOp>(op))
    return attention.getIns().size();
  if (isa<rt::GemmOp>(op))
    return 2;
  return isa<rt::CopyOp>(op) ? 1 : op->getNumOperands();
}

/// An op that reads values and writes others.
void ValueNumbers::addStep(Operation *op) {
  Key key = {Step,
             reinterpret_cast<uintptr_t>(op->getName().getAsOpaquePointer()),
             getAttributes(op)};
  ArrayRef<int64_t> ids = getIdsOf(op, "weft_rt.values");
  SmallVector<std::pair<int64_t, Value>> written;
  Taken taken;
  auto take = [&](int64_t id, Value buffer) {
    taken.values.push_back(get(id));
    if (!buffer.getDefiningOp<memref::GetGlobalOp>())
      llvm::append_range(taken.parts, parts->describe(id, buffer));
  };
  unsigned number = 0, numRead = getNumReadBuffers(op);
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type) {
      key.push_back(get(operand));
      continue;
    }
    if (number >= ids.size())
      break;
    key.push_back(getBits(type.getElementType()));
    for (int64_t size : type.getShape())
      key.push_back(size);
    int64_t id = ids[number++];
    bool isTable = isa<rt::ScatterAddOp>(op) && number == 1;
    if (isTable)
      for (int64_t before : getIdsOf(op, "weft_rt.reads"))
        take(before, operand);
    if (number > numRead || isTable)
      written.push_back({id, operand});
    else
      take(id, operand);
  }
  auto copy = dyn_cast<rt::CopyOp>(op);
  auto constant =
      copy ? copy.getSource().getDefiningOp<memref::GetGlobalOp>() : nullptr;
  if (constant)
    taken.values.assign(1, getConstant(constant));
  // What is copied is what it was.
  if (!constant && taken.values.size() == 1 && written.size() == 1 &&
      get(written[0].first) == taken.values[0]) {
    parts->copy(written[0].first, op->getOperand(0), written[0].second);
    return;
  }
  llvm::append_range(key, taken.values);
  llvm::append_range(key, taken.parts);
  if (auto start = dyn_cast<rt::StartOp>(op))
    sent[start] = std::move(taken);
  DenseMap<Value, uint64_t> local;
  addRegions(op, key, local);
  uint64_t step = intern(key);
  for (auto [i, entry] : llvm::enumerate(written)) {
    numbers[entry.first] = intern({Result, step, i});
    parts->write(entry.first, entry.second);
  }
}

void ValueNumbers::addAssemble(rt::AssembleOp op) {
  Key key = {Whole};
  // The joins of a branch are after it, with nothing but buffers between.
  Operation *before = op->getPrevNode();
  while (isa_and_nonnull<rt::AssembleOp, rt::BufferOp, rt::ViewOp>(before))
    before = before->getPrevNode();
  if (op->hasAttr("weft_rt.join"))
    if (auto branch = dyn_cast_or_null<scf::IfOp>(before))
      key.push_back(get(branch.getCondition()));
  for (int64_t id : op.getFrom()) {
    key.push_back(get(id));
    llvm::append_range(key, parts->describeInside(id, op.getBuffer()));
  }
  numbers[op.getValue()] = intern(key);
  parts->write(op.getValue(), op.getBuffer());
}

/// What the body says of the values that a loop carries, at its begin.
static SmallVector<rt::AssembleOp> getCarried(scf::ForOp loop) {
  SmallVector<rt::AssembleOp> carried;
  for (Operation &op : *loop.getBody()) {
    auto join = dyn_cast<rt::AssembleOp>(op);
    if (join && op.hasAttr("weft_rt.join") && join.getFrom().size() == 2)
      carried.push_back(join);
    else if (!isa<rt::BufferOp, rt::ViewOp>(op))
      break;
  }
  return carried;
}

/// In the body, what is carried is told by its place among the carried. What a
/// pass makes of these is part of what the loop is, which is told with all that
/// is sent in it, and all that it gives.
void ValueNumbers::addFor(scf::ForOp loop) {
  Key whole = {Counter, get(loop.getLowerBound()), get(loop.getUpperBound()),
               get(loop.getStep()), loop.getInitArgs().size()};
  scalars[loop.getInductionVar()] = intern(whole);
  uint64_t depth = 0, place = 0;
  for (Operation *op = loop; op; op = op->getParentOp())
    depth += isa<scf::ForOp>(op);
  for (auto [init, argument] :
       llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs())) {
    whole.push_back(get(init));
    scalars[argument] = intern({Carried, depth, place++});
  }
  SmallVector<rt::AssembleOp> carried = getCarried(loop);
  SmallVector<std::pair<std::optional<uint64_t>, uint64_t>> before;
  for (rt::AssembleOp join : carried) {
    whole.push_back(get(join.getFrom()[0]));
    llvm::append_range(whole,
                       parts->describe(join.getFrom()[0], join.getBuffer()));
    auto it = numbers.find(join.getFrom()[1]);
    before.push_back({it == numbers.end() ? std::nullopt
                                          : std::optional<uint64_t>(it->second),
                      intern({Carried, depth, place++})});
  }
  for (auto [join, number] : llvm::zip(carried, before))
    numbers[join.getFrom()[1]] = number.second;
  addBlock(*loop.getBody());
  for (Value yielded : loop.getYieldedValues())
    whole.push_back(get(yielded));
  SmallVector<bool> isComputed;
  for (auto [join, number] : llvm::zip(carried, before)) {
    int64_t id = join.getFrom()[1];
    isComputed.push_back(numbers[id] != number.second);
    // One from outside of the loop is what it was.
    if (!isComputed.back() && number.first)
      numbers[id] = *number.first;
    else if (!isComputed.back())
      numbers.erase(id);
    whole.push_back(get(id));
    llvm::append_range(whole, parts->describe(id, join.getBuffer()));
  }
  uint64_t number = intern(whole);
  loop.walk([&](rt::StartOp start) { sent[start].values.push_back(number); });
  place = 0;
  for (Value result : loop.getResults())
    scalars[result] = intern({Result, number, place++});
  for (auto [join, isOwn] : llvm::zip(carried, isComputed)) {
    if (isOwn)
      numbers[join.getFrom()[1]] = intern({Result, number, place});
    ++place;
  }
}

void ValueNumbers::addBlock(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      addFor(loop);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          addBlock(inner);
      for (auto [i, result] : llvm::enumerate(op.getResults()))
        scalars[result] = intern({Whole, get(branch.getCondition()),
                                  get(branch.thenYield().getOperand(i)),
                                  get(branch.elseYield().getOperand(i))});
    } else if (auto assemble = dyn_cast<rt::AssembleOp>(op)) {
      addAssemble(assemble);
    } else if (isa<rt::ReadScalarOp>(op) || !isStep(&op)) {
      if (!isa<rt::BufferOp, rt::ViewOp, rt::RecordOp, rt::AwaitOp>(op))
        addScalars(&op);
    } else if (!isa<rt::WaitOp>(op)) {
      addStep(&op);
    }
  }
}

void ValueNumbers::add(const PlannedProgram &program) {
  func::FuncOp function = program.getFunction();
  numbers.clear();
  scalars.clear();
  parts.emplace(program, [this](Value scalar) { return get(scalar); });
  for (const Root &root : program.getRoots())
    if (root.isArgument())
      parts->write(rt::BufferOp(root.op).getPosition(),
                   rt::BufferOp(root.op).getResult());
  // Arguments are told by their names, if they have any, and by which part of
  // what they are a rank has.
  for (auto [i, argument] : llvm::enumerate(rt::getArgs(function)))
    if (argument.getName())
      numbers[i] = intern(
          {Argument, getBits(argument.getName()), getBits(argument.getGlobal()),
           getBits(argument.getLocal()), getBits(argument.getSharding())});
  addBlock(function.getBody().front());
}

ValueNumbers::Taken ValueNumbers::getResult(const PlannedProgram &program,
                                            unsigned number) {
  rt::TensorAttr result = rt::getResults(program.getFunction())[number];
  int64_t id = *result.getValue();
  Taken taken;
  taken.values.push_back(get(id));
  std::optional<int64_t> alias = result.getAlias();
  rt::Space space = alias ? rt::Space::Argument : rt::Space::Result;
  uint64_t position = alias.value_or(number);
  for (const Root &root : program.getRoots())
    if (rt::BufferOp op = root.op;
        op.getSpace() == space && op.getPosition() == position)
      taken.parts = parts->describe(id, op.getResult());
  return taken;
}
