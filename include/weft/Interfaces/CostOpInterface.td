// SPDX-License-Identifier: Apache-2.0

// What an op costs.

#ifndef WEFT_INTERFACES_COSTOPINTERFACE_TD
#define WEFT_INTERFACES_COSTOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Weft_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mlir::weft";
  let description = [{
    The work of an op that is one kernel or a copy, for the cost model, which
    divides it by the rates of a machine: the schedule, the simulator and reports
    ask there. An op without it takes no time: it has no code (a view, a marker),
    or it is made of ops that do (a loop, a branch).

    Bytes are those of the rank's memory, read and written; operations are
    additions on elements, or what takes as long; of a product the sizes and
    element types are told instead (2 * batch * m * n * k flops).

    Example: twice a tensor reads it, writes it, and multiplies each element.
    ```c++
    std::optional<OpWork> DoubleOp::getWork() {
      OpWork work;
      work.bytesRead = work.bytesWritten = getShapedBytes(getType());
      work.operations = getType().getNumElements();
      return work;
    }
    ```
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the work; nullopt if this op has no code.
    }], "std::optional<::mlir::weft::OpWork>", "getWork">,
    InterfaceMethod<[{
      Says whether results are computed where they are wanted: as a part of a
      concatenation they need no copy.
    }], "bool", "isComputedInPlace", (ins), "", [{ return false; }]>,
  ];
}

#endif // WEFT_INTERFACES_COSTOPINTERFACE_TD
