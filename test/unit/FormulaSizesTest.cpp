// SPDX-License-Identifier: Apache-2.0

// What formulas of quantization are counted as, while each is one op, against
// the ops that they become.

#include "weft/Cost/CostModel.h"
#include "weft/Cost/ExternalModels.h"
#include "weft/Dialect/Weft/IR/Formulas.h"
#include "weft/Quantize/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

struct Formula {
  const char *op;
  const char *type;
};

void PrintTo(const Formula &formula, std::ostream *os) { *os << formula.op; }

/// %x, %i, %j, %w, %e and %b are of the element, %p and %q its index; %n, %k
/// and %l are of all elements.
const Formula formulas[] = {
    {"weft.multiplier_of %x {element = f8E4M3FN, scale = f8E8M0FNU}", "f32"},
    {"weft.multiplier_of %x {element = f8E5M2, scale = f8E8M0FNU}", "f32"},
    {"weft.multiplier_of %x {element = f8E4M3FN, scale = f32}", "f32"},
    {"weft.multiplier_of %x {element = f8E4M3FN, scale = f32, power_of_two}",
     "f32"},
    {"weft.multiplier_of %x {element = f4E2M1FN, scale = f32}", "f32"},
    {"weft.multiplier_of %x of %n {element = f4E2M1FN, scale = f8E4M3FN}",
     "f32"},
    {"weft.scale_of %x {element = f8E4M3FN} : f8E8M0FNU", "f8E8M0FNU"},
    {"weft.scale_of %x {element = f8E4M3FN} : f32", "f32"},
    {"weft.scale_of %x {element = f8E4M3FN, power_of_two} : f32", "f32"},
    {"weft.scale_of %x {element = f4E2M1FN} : f32", "f32"},
    {"weft.scale_of %x of %n {element = f4E2M1FN} : f8E4M3FN", "f8E4M3FN"},
    {"weft.round_f8 %x : f8E4M3FN", "f8E4M3FN"},
    {"weft.round_f8 %x : f8E5M2", "f8E5M2"},
    {"weft.round_f4 %x at %p", "i8"},
    {"weft.round_f4 %x at %p random %j", "i8"},
    {"weft.decode %e : f8E8M0FNU", "f32"},
    {"weft.decode %b at %p : i8", "f32"},
    {"weft.mix_bits %i", "i32"},
    {"weft.random_bits %k, %l, %i : i32", "i32"},
    {"weft.random_bits %k, %l, %w : i64", "i32"},
    {"weft.place %p of [8] : i32", "i32"},
    {"weft.place %p, %q of [4, 2] : i32", "i32"},
    {"weft.place %p, %q of [4, 2] : i64", "i64"},
};

class FormulaSizesTest : public testing::TestWithParam<Formula> {
protected:
  FormulaSizesTest() {
    DialectRegistry registry;
    registerCostExternalModels(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<WeftDialect, arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, tensor::TensorDialect>();
    std::string type = GetParam().type;
    module = parseSourceString<ModuleOp>(
        R"(#one = affine_map<(i) -> (i)>
           #all = affine_map<(i) -> ()>
           weft.mesh @mesh = <["dp"=2]>
           func.func @f(%0: tensor<8xf32>, %1: tensor<8xi32>, %2: tensor<8xi64>,
                        %3: tensor<8xf8E8M0FNU>, %4: tensor<f32>, %5: tensor<i32>,
                        %8: tensor<8xi8>, %6: tensor<8x)" +
            type + ">) -> tensor<8x" + type +
            R"(> {
             %7 = linalg.generic {
                 indexing_maps = [#one, #one, #one, #one, #one, #all, #all, #all, #one, #one],
                 iterator_types = ["parallel"]}
               ins(%0, %1, %1, %2, %3, %4, %5, %5, %8 : tensor<8xf32>, tensor<8xi32>,
                   tensor<8xi32>, tensor<8xi64>, tensor<8xf8E8M0FNU>, tensor<f32>,
                   tensor<i32>, tensor<i32>, tensor<8xi8>)
               outs(%6 : tensor<8x)" +
            type + R"(>) {
             ^bb0(%x: f32, %i: i32, %j: i32, %w: i64, %e: f8E8M0FNU, %n: f32,
                  %k: i32, %l: i32, %b: i8, %o: )" +
            type + R"():
               %p = linalg.index 0 : index
               %q = arith.addi %p, %p : index
               %r = )" +
            GetParam().op + "\n linalg.yield %r : " + type +
            "\n } -> tensor<8x" + type + ">\n return %7 : tensor<8x" + type +
            ">\n }",
        &context);
  }

  linalg::GenericOp getGeneric() {
    auto function = *module->getOps<func::FuncOp>().begin();
    return *function.getOps<linalg::GenericOp>().begin();
  }

  Operation *getFormula() {
    return getGeneric()
        .getBody()
        ->getTerminator()
        ->getOperand(0)
        .getDefiningOp();
  }

  double getOperations() {
    return cast<CostOpInterface>(getGeneric().getOperation())
               .getWork()
               ->operations /
           8;
  }

  /// Ops of the body, with the constants that it reads.
  int countOps() {
    int count = 0;
    llvm::SmallPtrSet<Operation *, 16> constants;
    for (Operation &op : getGeneric().getBody()->without_terminator()) {
      count += !isa<arith::ConstantOp, linalg::IndexOp>(op);
      for (Value operand : op.getOperands())
        if (auto constant = operand.getDefiningOp<arith::ConstantOp>())
          constants.insert(constant);
    }
    return count + int(constants.size());
  }

  void expand() {
    PassManager passes(&context);
    passes.addPass(createExpandFormulasPass());
    passes.addPass(createCSEPass());
    EXPECT_TRUE(succeeded(passes.run(*module)));
  }

  /// Indices that the formula does not take; a scale and its multiplier are
  /// made together.
  void eraseDead() {
    SmallVector<Operation *> ops;
    for (Operation &op : *getGeneric().getBody())
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops))
      if (isOpTriviallyDead(op))
        op->erase();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_P(FormulaSizesTest, AreThoseOfTheirOps) {
  ASSERT_TRUE(module);
  eraseDead();
  double operations = getOperations();
  std::optional<int> size = getFormulaSize(getFormula());
  ASSERT_TRUE(size.has_value());
  expand();
  eraseDead();
  EXPECT_EQ(operations, getOperations()) << GetParam().op;
  // Fusion asks only whether a body is small.
  EXPECT_NEAR(*size, countOps(), 2 + countOps() / 4) << GetParam().op;
}

INSTANTIATE_TEST_SUITE_P(All, FormulaSizesTest, testing::ValuesIn(formulas));

} // namespace
