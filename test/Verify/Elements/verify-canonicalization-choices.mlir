// RUN: weft-opt %s --weft-verify-canonicalization -split-input-file -verify-diagnostics

// A branch inside of another that gives the same otherwise is a choice by both conditions.

module {
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1) -> tensor<4xf32> {
    %both = arith.andi %d, %c : i1
    %0 = arith.select %both, %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1) -> tensor<4xf32> {
      %0 = scf.if %c -> tensor<4xf32> {
        %1 = scf.if %d -> tensor<4xf32> {
          scf.yield %x : tensor<4xf32>
        } else {
          scf.yield %y : tensor<4xf32>
        }
        scf.yield %1 : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// One that gives the same where the outer condition does not hold is not.

module {
  // expected-error@+1 {{makes result #0 another one than the user's module: argument 3, expected arith.xori}}
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1) -> tensor<4xf32> {
    %both = arith.andi %d, %c : i1
    %0 = arith.select %both, %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1) -> tensor<4xf32> {
      // expected-note@+1 {{this op of the user's module makes arith.xori}}
      %0 = scf.if %c -> tensor<4xf32> {
        scf.yield %x : tensor<4xf32>
      } else {
        %1 = scf.if %d -> tensor<4xf32> {
          scf.yield %x : tensor<4xf32>
        } else {
          scf.yield %y : tensor<4xf32>
        }
        scf.yield %1 : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Inside of a branch its condition is known, in what was chosen before, too.

module {
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
    %s = arith.mulf %x, %y : tensor<4xf32>
    %t = arith.addf %y, %y : tensor<4xf32>
    %0 = arith.select %c, %s, %t : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
      %true = arith.constant true
      %before = arith.select %c, %x, %y : tensor<4xf32>
      %not = arith.xori %c, %true : i1
      %0 = scf.if %not -> tensor<4xf32> {
        %t = arith.addf %before, %y : tensor<4xf32>
        scf.yield %t : tensor<4xf32>
      } else {
        %s = arith.mulf %before, %y : tensor<4xf32>
        scf.yield %s : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// But not what is chosen by another one.

module {
  // expected-error@+1 {{makes result #0 another one than the user's module: argument 0, expected argument 1}}
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1) -> tensor<4xf32> {
    %s = arith.mulf %x, %y : tensor<4xf32>
    %0 = arith.select %c, %s, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    // expected-note@+1 {{this op of the user's module makes argument 1}}
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1) -> tensor<4xf32> {
      %before = arith.select %d, %x, %y : tensor<4xf32>
      %0 = scf.if %c -> tensor<4xf32> {
        %s = arith.mulf %before, %y : tensor<4xf32>
        scf.yield %s : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Nor by the opposite.

module {
  // expected-error@+1 {{makes result #0 another one than the user's module: argument 1, expected argument 0}}
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
    %s = arith.mulf %y, %y : tensor<4xf32>
    %0 = arith.select %c, %s, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    // expected-note@+1 {{this op of the user's module makes argument 0}}
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
      %before = arith.select %c, %x, %y : tensor<4xf32>
      %0 = scf.if %c -> tensor<4xf32> {
        %s = arith.mulf %before, %y : tensor<4xf32>
        scf.yield %s : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// The opposite of a comparison is one, too, and known where the other one is.

module {
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: i32, %j: i32) -> tensor<4xf32> {
    %c = arith.cmpi sge, %i, %j : i32
    %d = arith.cmpi ule, %i, %j : i32
    %both = arith.andi %d, %c : i1
    %0 = arith.select %both, %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: i32, %j: i32) -> tensor<4xf32> {
      %true = arith.constant true
      %less = arith.cmpi slt, %i, %j : i32
      %d = arith.cmpi ule, %i, %j : i32
      %c = arith.xori %less, %true : i1
      %0 = scf.if %d -> tensor<4xf32> {
        %1 = scf.if %c -> tensor<4xf32> {
          scf.yield %x : tensor<4xf32>
        } else {
          %more = arith.cmpi ugt, %i, %j : i32
          %2 = arith.select %more, %x, %y : tensor<4xf32>
          scf.yield %2 : tensor<4xf32>
        }
        scf.yield %1 : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Whichever side the constant is on.

module {
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: i32) -> tensor<4xf32> {
    %three = arith.constant 3 : i32
    %c = arith.cmpi sgt, %i, %three : i32
    %0 = arith.select %c, %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: i32) -> tensor<4xf32> {
      %three = arith.constant 3 : i32
      %c = arith.cmpi sge, %three, %i : i32
      %0 = arith.select %c, %y, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// The opposite of less is not greater.

module {
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: i32, %j: i32) -> tensor<4xf32> {
    %c = arith.cmpi sgt, %i, %j : i32
    // expected-error@+1 {{makes result #0 another one than the user's module: arith.cmpi {predicate = 3 : i64}, expected arith.cmpi {predicate = 2 : i64}}}
    %0 = arith.select %c, %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: i32, %j: i32) -> tensor<4xf32> {
      %true = arith.constant true
      // expected-note@+1 {{this op of the user's module makes arith.cmpi {predicate = 2 : i64}}}
      %less = arith.cmpi slt, %i, %j : i32
      %c = arith.xori %less, %true : i1
      %0 = arith.select %c, %x, %y : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Where several conditions hold, each does; in whichever order they were joined.

module {
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1, %e: i1) -> tensor<4xf32> {
    %s = arith.mulf %x, %y : tensor<4xf32>
    %t = arith.addf %x, %y : tensor<4xf32>
    %both = arith.andi %c, %d : i1
    %all = arith.andi %both, %e : i1
    %inner = arith.select %c, %s, %t : tensor<4xf32>
    %0 = arith.select %all, %inner, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1, %e: i1) -> tensor<4xf32> {
      %s = arith.mulf %x, %y : tensor<4xf32>
      %both = arith.andi %e, %d : i1
      %all = arith.andi %c, %both : i1
      %0 = arith.select %all, %s, %y : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// One of them is not all, nor is what holds where one does not.

module {
  // expected-error@+1 {{makes result #0 another one than the user's module}}
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1, %e: i1) -> tensor<4xf32> {
    %both = arith.andi %c, %d : i1
    %0 = arith.select %both, %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    // expected-note@+1 {{this op of the user's module makes argument 2}}
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1, %e: i1) -> tensor<4xf32> {
      %both = arith.andi %c, %d : i1
      %all = arith.andi %both, %e : i1
      %0 = arith.select %all, %x, %y : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

module {
  func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1) -> tensor<4xf32> {
    %s = arith.mulf %x, %y : tensor<4xf32>
    // expected-error@+1 {{makes result #0 another one than the user's module: arith.addf {fastmath = #arith.fastmath<none>}, expected arith.select}}
    %t = arith.addf %x, %y : tensor<4xf32>
    %both = arith.andi %c, %d : i1
    %0 = arith.select %both, %y, %t : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @source {
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1, %d: i1) -> tensor<4xf32> {
      %s = arith.mulf %x, %y : tensor<4xf32>
      %t = arith.addf %x, %y : tensor<4xf32>
      %both = arith.andi %c, %d : i1
      // expected-note@+1 {{this op of the user's module makes arith.select}}
      %inner = arith.select %c, %s, %t : tensor<4xf32>
      %0 = arith.select %both, %y, %inner : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}
