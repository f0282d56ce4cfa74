// SPDX-License-Identifier: Apache-2.0

// The text of an op with its regions, with numbers for values, so that it does
// not depend on where the op stands.

#include "Uninterpreted.h"

#include "weft/Analysis/Traffic.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::weft::proof;

namespace {

class Describer {
public:
  Describer(llvm::SetVector<Value> &captured) : captured(captured), os(text) {}

  std::string run(Operation *op) {
    describe(op);
    return text;
  }

private:
  void describe(Operation *op) {
    os << op->getName() << op->getDiscardableAttrDictionary() << '<'
       << op->getPropertiesAsAttribute() << "> -> " << op->getResultTypes();
    for (Region &region : op->getRegions()) {
      os << "{";
      // Blocks may be branched to before they come.
      for (Block &block : region) {
        blocks[&block] = blocks.size();
        for (BlockArgument arg : block.getArguments())
          define(arg);
        for (Operation &inner : block)
          for (Value result : inner.getResults())
            define(result);
      }
      for (Block &block : region)
        describeBlock(block);
      os << "}";
    }
  }

  void describeBlock(Block &block) {
    os << "^" << block.getArgumentTypes() << ":";
    for (Operation &inner : block) {
      describe(&inner);
      os << '(';
      for (Value operand : inner.getOperands())
        use(operand);
      for (Block *successor : inner.getSuccessors())
        os << '^' << blocks.lookup(successor);
      os << ");";
    }
  }

  void define(Value value) { numbers[value] = numbers.size(); }

  void use(Value value) {
    if (auto it = numbers.find(value); it != numbers.end()) {
      os << '%' << it->second << ' ';
      return;
    }
    captured.insert(value);
    os << "outside " << llvm::find(captured, value) - captured.begin() << ' ';
  }

  llvm::SetVector<Value> &captured;
  llvm::DenseMap<Value, size_t> numbers;
  llvm::DenseMap<Block *, size_t> blocks;
  std::string text;
  llvm::raw_string_ostream os;
};

} // namespace

std::string mlir::weft::proof::describeOp(Operation *op,
                                          llvm::SetVector<Value> &captured) {
  return Describer(captured).run(op);
}

bool mlir::weft::proof::dependsOnRank(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return getCollectiveKind(inner) || isa<AxisIndexOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}
