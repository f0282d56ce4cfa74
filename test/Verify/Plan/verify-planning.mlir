// What is changed in a plan, one thing at a time, is seen; the plan itself is one
// of the scheduled program.
// RUN: echo 'module @scheduled {' > %t.in.mlir
// RUN: cat %S/Inputs/planning.mlir >> %t.in.mlir
// RUN: echo '}' >> %t.in.mlir
// RUN: cat %S/Inputs/planning.mlir >> %t.in.mlir
// RUN: weft-opt %t.in.mlir --weft-plan-buffers -o %t.mlir
// RUN: weft-opt %t.mlir --weft-verify-planning -o /dev/null

// An op, a map and a constant of a kernel.
// RUN: sed -e '/^  func.func @step() attr/,$ s/arith.subf/arith.addf/' %t.mlir > %t.OP.mlir
// RUN: not weft-opt %t.OP.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=OP
// OP: error: 'kernel' computes something else than in the scheduled program
// OP: note: the scheduled program has 'kernel' here
// OP: note: this 'arith.addf' op is the first to differ

// A constant of the module.
// RUN: sed -e 's/constant @weft_c0 : memref<1x8xf32> = dense<\[\[1.0/constant @weft_c0 : memref<1x8xf32> = dense<[[9.0/' %t.mlir > %t.CONSTANT.mlir
// RUN: not weft-opt %t.CONSTANT.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=CONSTANT
// CONSTANT: error: 'weft_rt.copy' op has the constant dense<{{\[\[}}9.0
// RUN: sed -e 's/"private" constant @weft_c0/"private" @weft_c0/' %t.mlir > %t.VARIABLE.mlir
// RUN: not weft-opt %t.VARIABLE.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=VARIABLE
// VARIABLE: error: 'weft_rt.copy' op copies no constant of the module
// VARIABLE: note: the scheduled program has

// Attributes and channel of a collective.
// RUN: sed -e 's/reduce = *sum/reduce = max/' %t.mlir > %t.KIND.mlir
// RUN: not weft-opt %t.KIND.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: 'sum' has the collective {{.*}}reduce = max{{.*}}, in the scheduled program {{.*}}reduce = sum

// RUN: sed -e 's/channel = @data.dp, weft.op = "sum", weft_rt/channel = @other.dp, weft.op = "sum", weft_rt/' %t.mlir > %t.CHANNEL.mlir
// RUN: not weft-opt %t.CHANNEL.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=CHANNEL
// CHANNEL: error: 'sum' has the channel @other.dp, in the scheduled program @data.dp

// What is missing, stands elsewhere, or has another name.
// RUN: sed -e '/weft_rt.start/d; /weft_rt.wait/d' %t.mlir > %t.DROPPED.mlir
// RUN: not weft-opt %t.DROPPED.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=DROPPED
// DROPPED: error: 'scatter' stands where the scheduled program has 'sum'

// RUN: sed -e 's/"scatter", weft_rt/"other", weft_rt/' %t.mlir > %t.NAME.mlir
// RUN: not weft-opt %t.NAME.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: 'other' stands where the scheduled program has 'scatter'

// Another part of the same value: of a concatenation, before a reshape, at a loop's counter.
// RUN: sed -e 's/weft_rt.view %%2 at 32 /weft_rt.view %%2 at 24 /' %t.mlir > %t.CONCAT.mlir
// RUN: not weft-opt %t.CONCAT.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=CONCAT
// CONCAT: error: 'copy #1' copies another part of value number 1 than it says
// RUN: sed -e '/"copy #1"/ s/begin = 32/begin = 24/g' %t.CONCAT.mlir > %t.BEGIN.mlir
// RUN: not weft-opt %t.BEGIN.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=BEGIN
// BEGIN: error: the concatenation needs bytes 0 to 128 of 'v' for a part of the caller's 'w', but other elements of it lie there
// BEGIN: note: that gets there here

// RUN: sed -e 's/weft_rt.view %%1 at 4 /weft_rt.view %%1 at 0 /' %t.mlir > %t.RESHAPE.mlir
// RUN: not weft-opt %t.RESHAPE.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=RESHAPE
// RESHAPE: error: 'copy #3' copies another part of value number 0 than it says

// RUN: sed -e 's/weft_rt.view %%2 at 0 plus/weft_rt.view %%2 at 8 plus/' %t.mlir > %t.ROW.mlir
// RUN: not weft-opt %t.ROW.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=ROW
// ROW: error: the insertion needs some bytes of 'for' for a part of the caller's 'w', but nothing is known of what lies there

// Scalars of launches.
// RUN: sed -e '/^  func.func @step() attr/,$ s/scalars(%%[0-9]*, %%c5_i32/scalars(%%c5_i32, %%c5_i32/' %t.mlir > %t.SCALAR.mlir
// RUN: not weft-opt %t.SCALAR.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: error: 'two' is launched with another scalar #0 than in the scheduled program

// RUN: sed -e '/^  func.func @step() attr/,$ s/base %%c1/base %%c0/' %t.mlir > %t.BASE.mlir
// RUN: not weft-opt %t.BASE.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=BASE
// RUN: sed -e '/^  func.func @step() attr/,$ s/ base %%c1//' %t.mlir > %t.NOBASE.mlir
// RUN: not weft-opt %t.NOBASE.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=BASE
// BASE: error: 'scatter' takes another base than the scheduled program

// RUN: sed -e '/^  func.func @step() attr/,$ s/scf.for %%arg0 = %%c0 to %%c2/scf.for %%arg0 = %%c1 to %%c2/' %t.mlir > %t.BOUND.mlir
// RUN: not weft-opt %t.BOUND.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=BOUND
// BOUND: error: 'scf.for' op takes other scalars than the scheduled program

// Numbers of values.
// RUN: sed -e 's/from \[2, 15\] {weft_rt.join} : memref<6x8xf32>/from [2, 14] {weft_rt.join} : memref<6x8xf32>/' %t.mlir > %t.JOIN.mlir
// RUN: not weft-opt %t.JOIN.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=JOIN
// JOIN: error: 'weft_rt.assemble' op has value number 14 for what 'tensor.insert_slice' op gives, but that number is what 'scf.for' op gives

// RUN: sed -e 's/value 10 from \[1, 1\] {.*} :/value 10 from [1] {weft_rt.parts = [#weft_rt.part<begin = 32, sizes = [4, 8], strides = [8, 1]>], weft_rt.into = [#weft_rt.part<begin = 0, sizes = [4, 8], strides = [8, 1]>]} :/' %t.mlir > %t.PARTS.mlir
// RUN: not weft-opt %t.PARTS.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: 'weft_rt.assemble' op puts together 1 values, the scheduled program 2

// RUN: sed -e 's/"product", weft_rt.values = array<i64: 0, 1, 6>/"product", weft_rt.values = array<i64: 0, 2, 6>/' %t.mlir > %t.NUMBER.mlir
// RUN: not weft-opt %t.NUMBER.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: 'product' has value number 2 for the caller's 'w', but that number is the caller's 't'

// RUN: sed -e 's/"product", weft_rt.values = array<i64: 0, 1, 6>/"product", weft_rt.values = array<i64: 0, 1, 7>/' %t.mlir > %t.OTHER.mlir
// RUN: not weft-opt %t.OTHER.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: 'sum' has value number 6 for what 'product' gives, but that is number 7

// RUN: sed -e '/weft.op = "copy #3"/ s/array<i64: 0, 11>/array<i64: 0, 1>/' %t.mlir > %t.COPY.mlir
// RUN: not weft-opt %t.COPY.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=COPY
// COPY: error: 'copy #3' copies value number 0 to value number 1, but the caller's 'x' lies there

// What the plan says of parts.
// RUN: sed -e 's/"product", weft_rt.values/"product", weft_rt.parts = [#weft_rt.part<begin = 8, sizes = [4, 8], strides = [8, 1]>, unit, unit], weft_rt.values/' %t.mlir > %t.READ.mlir
// RUN: not weft-opt %t.READ.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=READ
// READ: error: 'product' says of the caller's 'x' that it takes another part than in the scheduled program
// RUN: sed -e '/value 10 from/ s/begin = 0,/begin = 8,/' %t.mlir > %t.INTO.mlir
// RUN: not weft-opt %t.INTO.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=INTO
// INTO: error: 'weft_rt.assemble' op says that part #0 becomes other elements than in the scheduled program
// RUN: sed -e 's/value = 10>/value = 10, part = <begin = 8, sizes = [8, 8], strides = [8, 1]>>/' %t.mlir > %t.GIVEN.mlir
// RUN: not weft-opt %t.GIVEN.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: error: the plan says that result 1 is another part than in the scheduled program

// More than the scheduled program has.
// RUN: sed -e '/^  func.func @step() attr/,$ s/^    return$/    weft_rt.copy %%23 to %%0 : memref<1x8xf32> to memref<1x8xf32>\n    return/' %t.mlir > %t.END.mlir
// RUN: not weft-opt %t.END.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=END
// END: error: 'weft_rt.copy' op stands past the end of the scheduled program

// Results exchanged.
// RUN: sed -e '/^  func.func @step() attr/,$ { s/result 1 "v"/result 6 "v"/; s/result 6 "c"/result 1 "v"/ }' %t.mlir > %t.RESULT.mlir
// RUN: not weft-opt %t.RESULT.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=RESULT
// RESULT: error: the step gives 'v' for what 'tensor.concat' op gives, but there is what 'scf.if' op gives

// Buffers of other tensors, and of none.
// RUN: sed -e '/value 10 from/ s/assemble %%9\(.*\)memref<8x8xf32>/assemble %%10\1memref<4x8xf32>/' %t.mlir > %t.TYPE.mlir
// RUN: not weft-opt %t.TYPE.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: 'weft_rt.assemble' op takes a buffer of type 'memref<4x8xf32>' for a tensor of type 'tensor<8x8xf32>'
// RUN: sed -e 's/ins(%%3, %%1, %%0 :/ins(%%3, %%1, %%23 :/' %t.mlir > %t.GLOBAL.mlir
// RUN: not weft-opt %t.GLOBAL.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=GLOBAL
// GLOBAL: error: 'kernel' takes a constant of the module for a tensor

// What a collective gives, before it is waited for.
// RUN: sed -e '/weft_rt.wait %%24/d; s/^    return$/    weft_rt.wait %%24\n    return/' %t.mlir > %t.EARLY.mlir
// RUN: not weft-opt %t.EARLY.mlir --weft-verify-planning -o /dev/null 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: 'kernel' stands where the scheduled program has 'weft.wait' op
