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

uint64_t getPart(DictionaryAttr entry, StringRef key) {
  Attribute part = entry.get(key);
  return part ? getBits(part) : 0;
}

/// Attributes that say what an op does: not its name, nor what planning says.
uint64_t getAttributes(Operation *op) {
  NamedAttrList list(op->getAttrDictionary());
  for (StringRef name : {"weft.op", "weft_rt.values", "weft_rt.reads"})
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

/// An op without buffers, or a load.
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
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    key.push_back(i);
    key.push_back(getBits(result.getType()));
    scalars[result] = intern(key);
  }
}

/// An op that reads values and writes others.
void ValueNumbers::addStep(Operation *op) {
  Key key = {Step,
             reinterpret_cast<uintptr_t>(op->getName().getAsOpaquePointer()),
             getAttributes(op)};
  ArrayRef<int64_t> ids = getIdsOf(op, "weft_rt.values");
  SmallVector<int64_t> written;
  SmallVector<uint64_t, 2> read;
  unsigned number = 0, numRead = op->getNumOperands();
  if (auto start = dyn_cast<rt::StartOp>(op))
    numRead = start.getIns().size();
  else if (auto fused = dyn_cast<rt::FusedOp>(op))
    numRead = fused.getInputs().size();
  else if (isa<rt::GemmOp>(op))
    numRead = 2;
  else if (isa<memref::CopyOp>(op))
    numRead = 1;
  else if (isa<memref::StoreOp>(op))
    numRead = 0;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type) {
      key.push_back(get(operand));
      continue;
    }
    if (number >= ids.size())
      break;
    for (int64_t size : type.getShape())
      key.push_back(size);
    int64_t id = ids[number++];
    bool isTable = isa<rt::ScatterAddOp>(op) && number == 1;
    if (number > numRead || isTable)
      written.push_back(id);
    else
      read.push_back(get(id));
  }
  for (int64_t id : getIdsOf(op, "weft_rt.reads"))
    read.push_back(get(id));
  // What is copied is what it was.
  if (read.size() == 1 && written.size() == 1 && get(written[0]) == read[0])
    return;
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    if (auto source = copy.getSource().getDefiningOp<memref::GetGlobalOp>())
      read.assign(1, getConstant(source));
  // Elements of one tensor are stored one by one.
  if (isa<memref::StoreOp>(op) && numbers.count(written.front()))
    read.push_back(get(written.front()));
  if (auto start = dyn_cast<rt::StartOp>(op))
    sent[start] = read;
  llvm::append_range(key, read);
  DenseMap<Value, uint64_t> local;
  addRegions(op, key, local);
  uint64_t step = intern(key);
  for (auto [i, id] : llvm::enumerate(written))
    numbers[id] = intern({Result, step, i});
}

void ValueNumbers::addAssemble(rt::AssembleOp op) {
  Key key = {Whole};
  // The joins of a branch are behind it, with nothing but buffers between.
  Operation *before = op->getPrevNode();
  while (isa_and_nonnull<rt::AssembleOp, rt::BufferOp, rt::ViewOp>(before))
    before = before->getPrevNode();
  if (op->hasAttr("weft_rt.join"))
    if (auto branch = dyn_cast_or_null<scf::IfOp>(before))
      key.push_back(get(branch.getCondition()));
  for (int64_t id : op.getFrom())
    key.push_back(get(id));
  numbers[op.getValue()] = intern(key);
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
  }
  uint64_t number = intern(whole);
  loop.walk([&](rt::StartOp start) { sent[start].push_back(number); });
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
    } else if (isa<memref::LoadOp>(op) || !isStep(&op)) {
      if (!isa<rt::BufferOp, rt::ViewOp>(op))
        addScalars(&op);
    } else if (!isa<rt::WaitOp>(op)) {
      addStep(&op);
    }
  }
}

void ValueNumbers::add(func::FuncOp function) {
  numbers.clear();
  scalars.clear();
  // Arguments are told by their names, if they have any, and by which part of
  // what they are a rank has.
  auto args = function->getAttrOfType<ArrayAttr>(rt::WeftRTDialect::kArgsAttr);
  for (unsigned i = 0; args && i < args.size(); ++i)
    if (auto entry = dyn_cast<DictionaryAttr>(args[i]))
      if (Attribute name = entry.get("name"))
        numbers[i] =
            intern({Argument, getBits(name), getPart(entry, "global"),
                    getPart(entry, "local"), getPart(entry, "sharding")});
  addBlock(function.getBody().front());
}
