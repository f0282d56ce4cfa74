// SPDX-License-Identifier: Apache-2.0

// What one rank computes of an op.

#ifndef WEFT_INTERFACES_PARTITIONOPINTERFACE_TD
#define WEFT_INTERFACES_PARTITIONOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Weft_PartitionOpInterface : OpInterface<"PartitionOpInterface"> {
  let cppNamespace = "::mlir::weft";
  let description = [{
    Makes the op that one rank runs of a global op with a sharding rule. An op
    without this interface is cloned on its local operands, with results of local
    types; it needs the interface if its code depends on which part the rank
    has: padding past the end of an uneven dimension enters a reduction, an
    index counts from the start of the global tensor, an attribute has a size.

    Sizes are in elements. Shardings stand on every value and fit the op's rule;
    operands lie where the rule wants them.

    Example: a row sum of x must not see padding.
    ```c++
    LogicalResult RowSumOp::partition(LocalBuilder &local) {
      SmallVector<DimCut> cuts = {DimCut(), local.getCut(getX(), 1)};
      Value x = local.maskPadding(getLoc(), local.getLocal(getX()), cuts,
                                  local.builder.getZeroAttr(getElementType()));
      local.cloneLocal(*this)->setOperand(0, x);
      return success();
    }
    ```
  }];
  let methods = [
    InterfaceMethod<[{
      Inserts what the rank computes with `local.builder` and gives every result
      its local value (LocalBuilder::setLocal or cloneLocal). Emits at the op
      and fails if it cannot be cut as it is.
    }], "::llvm::LogicalResult", "partition",
      (ins "::mlir::weft::LocalBuilder &":$local)>,
  ];
}

#endif // WEFT_INTERFACES_PARTITIONOPINTERFACE_TD
