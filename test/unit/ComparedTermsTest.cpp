// SPDX-License-Identifier: Apache-2.0

// What is known of terms is known of others only if these differ in nothing but
// which tensors they read, each in the same places.

#include "../../lib/Attention/ComparedTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

class ComparedTermsTest : public testing::Test {
protected:
  ComparedTermsTest() {
    context.loadDialect<arith::ArithDialect>();
    for (int64_t columns : {8, 8, 8, 8, 16})
      block.addArgument(RankedTensorType::get({8, columns}, f32),
                        builder.getUnknownLoc());
  }

  /// What a comparison reads beside tensors.
  struct Case {
    double factor = 0.5, number = 3, added = 1;
    int64_t queries = 8, keys = 8, loopSize = 8, stride = 1, digit = 8;
    unsigned spareLoops = 0;
    StringRef name = "sin";
    bool isNarrow = false, isTurned = true, isFirstAgain = true,
         isSummed = true, isOfRows = true;
  };

  Value argument(int number) { return block.getArgument(number); }

  Value makeConstant(float number) {
    builder.setInsertionPointToEnd(&block);
    return arith::ConstantOp::create(
        builder, builder.getUnknownLoc(),
        DenseElementsAttr::get(RankedTensorType::get({8, 8}, f32), number));
  }

  /// Says whether it was compared.
  bool compares(const Case &of, ArrayRef<Value> tensors) {
    TermTable table;
    for (unsigned i = 0; i < of.spareLoops; ++i)
      table.addLoop(8);
    unsigned i = table.addLoop(of.loopSize), j = table.addLoop(8);
    DigitIndex row = {Digit{i, of.stride, of.digit}};
    DigitIndex column = table.getIndex(j);
    DigitIndex last = of.isTurned ? row : column;
    TermRef first = table.load(f32, tensors[0], {row, column});
    TermRef second = table.load(f32, tensors[1], {column, last});
    TermRef third = table.load(f32, tensors[2], {row, row});
    TermRef scaled = table.mul(third, table.constant(f32, of.number));
    Type type = of.isNarrow ? builder.getBF16Type() : f32;
    TermRef body = table.function(
        type, of.name,
        {first, second, scaled, of.isFirstAgain ? first : second});
    TermRef a = table.add(second, table.constant(f32, of.added));
    TermRef b = table.over(of.isSummed ? TermKind::Sum : TermKind::MaxOver,
                           {of.isOfRows ? i : j}, body);
    ComparedAttention attention;
    attention.factors = {of.factor};
    attention.queries = of.queries;
    attention.keys = of.keys;
    bool isCompared = false;
    compared.areEqual(table, a, b, attention,
                      [&] { return isCompared = true; });
    return isCompared;
  }

  bool compares(const Case &of) {
    return compares(of, {argument(0), argument(1), argument(0)});
  }

  MLIRContext context;
  OpBuilder builder{&context};
  Type f32 = builder.getF32Type();
  Block block;
  ComparedTerms compared;
};

TEST_F(ComparedTermsTest, OtherTensorsInTheSamePlacesAreKnown) {
  EXPECT_TRUE(compares({}));
  EXPECT_FALSE(compares({}));
  EXPECT_FALSE(compares({}, {argument(2), argument(3), argument(2)}));
}

TEST_F(ComparedTermsTest, WhichTensorsAreTheSameIsCompared) {
  EXPECT_TRUE(compares({}));
  EXPECT_TRUE(compares({}, {argument(0), argument(1), argument(1)}));
  EXPECT_TRUE(compares({}, {argument(0), argument(0), argument(0)}));
  EXPECT_FALSE(compares({}, {argument(3), argument(2), argument(2)}));
}

TEST_F(ComparedTermsTest, ConstantsAndTypesOfTensorsAreCompared) {
  EXPECT_TRUE(compares({}));
  EXPECT_TRUE(compares({}, {argument(4), argument(1), argument(4)}));
  EXPECT_TRUE(compares({}, {makeConstant(1), argument(1), makeConstant(1)}));
  EXPECT_TRUE(compares({}, {argument(0), makeConstant(1), argument(0)}));
  EXPECT_TRUE(compares({}, {argument(0), makeConstant(2), argument(0)}));
  EXPECT_FALSE(compares({}, {argument(2), makeConstant(2), argument(2)}));
}

TEST_F(ComparedTermsTest, AllElseIsCompared) {
  EXPECT_TRUE(compares({}));
  EXPECT_TRUE(compares({.factor = 0.25}));
  EXPECT_TRUE(compares({.number = 4}));
  EXPECT_TRUE(compares({.added = 2}));
  EXPECT_TRUE(compares({.queries = 4}));
  EXPECT_TRUE(compares({.keys = 4}));
  EXPECT_TRUE(compares({.loopSize = 16}));
  EXPECT_TRUE(compares({.stride = 2}));
  EXPECT_TRUE(compares({.digit = 4}));
  EXPECT_TRUE(compares({.spareLoops = 1}));
  EXPECT_TRUE(compares({.name = "cos"}));
  EXPECT_TRUE(compares({.isNarrow = true}));
  EXPECT_TRUE(compares({.isTurned = false}));
  EXPECT_TRUE(compares({.isFirstAgain = false}));
  EXPECT_TRUE(compares({.isSummed = false}));
  EXPECT_TRUE(compares({.isOfRows = false}));
  EXPECT_FALSE(compares({}));
}

} // namespace
