// SPDX-License-Identifier: Apache-2.0

#include "SharedBodies.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::weft;

/// Ops of a function that is worth integers which are not known. Iterations of
/// an innermost loop that is long however many they are.
static constexpr size_t kMinOps = 48;
static constexpr int64_t kLongLoop = 256;

//===----------------------------------------------------------------------===//
// What a function is
//===----------------------------------------------------------------------===//

/// Writes a function as a row of numbers: ops by their names, attributes and
/// types, values by the order in which they are made.
class SharedBodies::Reader {
public:
  explicit Reader(Body &body) : body(body) {}

  void read() {
    NamedAttrList attributes(body.func->getAttrDictionary());
    attributes.erase(SymbolTable::getSymbolAttrName());
    attributes.erase(body.func.getNoInlineAttrName());
    write(
        attributes.getDictionary(body.func.getContext()).getAsOpaquePointer());
    read(body.func.getBody());
  }

private:
  void write(const void *pointer) {
    body.text.push_back(reinterpret_cast<uintptr_t>(pointer));
  }
  void write(size_t number) { body.text.push_back(number); }
  size_t getNumber(Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  }

  /// An integer that a call can pass.
  bool isInteger(Operation *op) {
    return isa<arith::ConstantOp>(op) &&
           (op->getResult(0).getType().isInteger(32) ||
            op->getResult(0).getType().isInteger(64));
  }

  void read(Operation *op) {
    write(op->getName().getAsOpaquePointer());
    for (Value operand : op->getOperands())
      write(getNumber(operand));
    for (Value result : op->getResults()) {
      write(result.getType().getAsOpaquePointer());
      getNumber(result);
    }
    for (Block *successor : op->getSuccessors())
      write(successor);
    if (isInteger(op)) {
      body.integers.push_back(cast<arith::ConstantOp>(op));
      body.values.front().push_back(body.integers.back().getValue());
    } else {
      write(op->getDiscardableAttrDictionary().getAsOpaquePointer());
      write(op->getPropertiesAsAttribute().getAsOpaquePointer());
    }
    for (Region &region : op->getRegions())
      read(region);
  }

  void read(Region &region) {
    write(region.getBlocks().size());
    for (Block &block : region) {
      write(block.getNumArguments());
      for (BlockArgument argument : block.getArguments()) {
        write(argument.getType().getAsOpaquePointer());
        getNumber(argument);
      }
      write(block.getOperations().size());
      for (Operation &op : block)
        read(&op);
    }
  }

  Body &body;
  llvm::DenseMap<Value, size_t> numbers;
};

//===----------------------------------------------------------------------===//
// What may differ
//===----------------------------------------------------------------------===//

static bool isInnermost(scf::ForOp loop) {
  return !loop.getBody()
              ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

/// Says whether a use of an integer of which two values are known is as fast
/// if none is: not where elements are walked, which is to be a vector's, or
/// written out.
static bool isOutside(OpOperand &use, int64_t least) {
  Operation *user = use.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(user))
    return &use == &loop.getUpperBoundMutable() &&
           (!isInnermost(loop) || least >= kLongLoop);
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::MulIOp>(user)) {
    auto loop = user->getParentOfType<scf::ForOp>();
    if (!loop || !isInnermost(loop))
      return true;
    return isa<arith::MulIOp>(user) &&
           !llvm::is_contained(user->getOperands(), loop.getInductionVar());
  }
  return isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::CmpIOp>(user);
}

bool SharedBodies::mayDiffer(arith::ConstantOp integer, Attribute other) {
  int64_t least = std::min(cast<IntegerAttr>(integer.getValue()).getInt(),
                           cast<IntegerAttr>(other).getInt());
  return llvm::all_of(integer->getUses(), [&](OpOperand &use) {
    return isa<LLVM::AllocaOp>(use.getOwner()) || isOutside(use, least);
  });
}

bool SharedBodies::canTake(const Body &body, ArrayRef<Attribute> values) {
  ArrayRef<Attribute> own = body.values.front();
  if (own == values)
    return true;
  size_t numOps = 0;
  LLVM::LLVMFuncOp(body.func).walk([&](Operation *) { ++numOps; });
  if (numOps < kMinOps)
    return false;
  for (auto [integer, mine, other] : llvm::zip(body.integers, own, values))
    if (mine != other && !mayDiffer(integer, other))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The one call in a kernel; null if it is not of one function of the kernel's
/// own.
static LLVM::CallOp findCall(ModuleOp module, StringRef kernel) {
  auto func = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel);
  LLVM::CallOp found;
  if (!func || func.isExternal())
    return found;
  for (auto call : func.getOps<LLVM::CallOp>()) {
    if (found || !call.getCallee())
      return {};
    found = call;
  }
  bool isOwn = found && found.getCallee()->starts_with(kernel) &&
               found.getCallee()->substr(kernel.size()).starts_with("_");
  return isOwn ? found : LLVM::CallOp();
}

void SharedBodies::share(StringRef kernel) {
  LLVM::CallOp call = findCall(module, kernel);
  if (!call)
    return;
  Body body;
  body.func = module.lookupSymbol<LLVM::LLVMFuncOp>(*call.getCallee());
  if (!body.func || body.func.isExternal() ||
      body.func.getLinkage() != LLVM::Linkage::Internal)
    return;
  body.calls.push_back(call);
  body.values.emplace_back();
  Reader(body).read();
  auto &alike = bodies[llvm::hash_combine_range(body.text)];
  for (Body &other : alike) {
    if (body.text != other.text || !canTake(other, body.values.front()))
      continue;
    call.setCallee(other.func.getSymName());
    // Else it would be compiled in each kernel again.
    other.func.setNoInline(true);
    other.calls.push_back(call);
    other.values.push_back(std::move(body.values.front()));
    body.func.erase();
    return;
  }
  alike.push_back(std::move(body));
}

/// Has the memory on the stack of which an integer is the size be as large as
/// any call needs: a size that is not known would move the stack.
static void setAllocations(arith::ConstantOp integer,
                           ArrayRef<Attribute> ofCalls) {
  auto isLess = [](Attribute a, Attribute b) {
    return cast<IntegerAttr>(a).getInt() < cast<IntegerAttr>(b).getInt();
  };
  OpBuilder builder(integer);
  auto largest = arith::ConstantOp::create(
      builder, integer.getLoc(),
      cast<TypedAttr>(*llvm::max_element(ofCalls, isLess)));
  integer->replaceUsesWithIf(largest, [](OpOperand &use) {
    return isa<LLVM::AllocaOp>(use.getOwner());
  });
}

void SharedBodies::passIntegers(Body &body) {
  // Those that are the same in each call are one.
  llvm::MapVector<ArrayAttr, SmallVector<arith::ConstantOp>> passed;
  Builder builder(body.func.getContext());
  for (auto [i, integer] : llvm::enumerate(body.integers)) {
    SmallVector<Attribute> ofCalls;
    for (ArrayRef<Attribute> values : body.values)
      ofCalls.push_back(values[i]);
    if (llvm::all_equal(ofCalls))
      continue;
    setAllocations(integer, ofCalls);
    if (integer->use_empty())
      integer.erase();
    else
      passed[builder.getArrayAttr(ofCalls)].push_back(integer);
  }
  SmallVector<Type> types(body.func.getArgumentTypes());
  for (auto &[values, integers] : passed) {
    Type type = integers.front().getType();
    types.push_back(type);
    Value given =
        body.func.getBody().front().addArgument(type, body.func.getLoc());
    for (arith::ConstantOp integer : integers) {
      integer.replaceAllUsesWith(given);
      integer.erase();
    }
    for (auto [call, value] : llvm::zip(body.calls, values)) {
      OpBuilder before(call);
      call.getCalleeOperandsMutable().append(
          arith::ConstantOp::create(before, call.getLoc(),
                                    cast<TypedAttr>(value))
              .getResult());
    }
  }
  SmallVector<DictionaryAttr> attributes;
  body.func.getAllArgAttrs(attributes);
  attributes.resize(types.size(), builder.getDictionaryAttr({}));
  body.func.setFunctionType(LLVM::LLVMFunctionType::get(
      body.func.getFunctionType().getReturnType(), types));
  body.func.setAllArgAttrs(attributes);
}

void SharedBodies::passIntegers() {
  for (auto &[hash, alike] : bodies)
    for (Body &body : alike)
      if (body.calls.size() > 1)
        passIntegers(body);
}
