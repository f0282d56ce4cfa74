// RUN: weft-opt %s --weft-verify-partitioning -split-input-file -verify-diagnostics

// Branches and loops are told by conditions and by what each way, or one pass, makes.

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @while(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %n: tensor<i32>) -> tensor<4xf32> {
    %one = arith.constant 1 : i32
    %all = weft.all_gather %x on @mesh <{"tp"}> dims [0] : (tensor<2xf32>) -> tensor<4xf32>
    %0:2 = scf.while (%i = %n, %v = %all) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
      %c = tensor.extract %i[] : tensor<i32>
      %more = arith.cmpi sgt, %c, %one : i32
      scf.condition(%more) %i, %v : tensor<i32>, tensor<4xf32>
    } do {
    ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
      %c = tensor.extract %i[] : tensor<i32>
      %d = arith.subi %c, %one : i32
      %j = tensor.from_elements %d : tensor<i32>
      %w = arith.mulf %v, %v : tensor<4xf32>
      scf.yield %j, %w : tensor<i32>, tensor<4xf32>
    }
    return %0#1 : tensor<4xf32>
  }
  module @global {
    func.func @while(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
      %one = arith.constant 1 : i32
      %0:2 = scf.while (%i = %n, %v = %x) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
        %c = tensor.extract %i[] : tensor<i32>
        %more = arith.cmpi sgt, %c, %one : i32
        scf.condition(%more) %i, %v : tensor<i32>, tensor<4xf32>
      } do {
      ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
        %c = tensor.extract %i[] : tensor<i32>
        %d = arith.subi %c, %one : i32
        %j = tensor.from_elements %d : tensor<i32>
        %w = arith.mulf %v, %v : tensor<4xf32>
        scf.yield %j, %w : tensor<i32>, tensor<4xf32>
      }
      return %0#1 : tensor<4xf32>
    }
  }
}


// -----

// Another op in a region is another function.

module {
  func.func @if(%x: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
    %c = tensor.extract %n[] : tensor<i1>
    %0 = scf.if %c -> tensor<4xf32> {
      // expected-error@+1 {{makes result #0 another one: arith.mulf 4xf32 (arith.mulf{}<{fastmath = #arith.fastmath<none>}> -> tensor<4xf32> result 0), but in the global program arith.addf 4xf32 (arith.addf{}<{fastmath = #arith.fastmath<none>}> -> tensor<4xf32> result 0)}}
      %w = arith.mulf %x, %x : tensor<4xf32>
      scf.yield %w : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @if(%x: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
      %c = tensor.extract %n[] : tensor<i1>
      %0 = scf.if %c -> tensor<4xf32> {
        // expected-note@+1 {{this op of the global program makes arith.addf 4xf32 (arith.addf{}<{fastmath = #arith.fastmath<none>}> -> tensor<4xf32> result 0)}}
        %w = arith.addf %x, %x : tensor<4xf32>
        scf.yield %w : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// Another condition.

module {
  func.func @if(%x: tensor<4xf32>, %n: tensor<i1>, %m: tensor<i1>) -> tensor<4xf32> {
    %c = tensor.extract %m[] : tensor<i1>
    // expected-error@+1 {{makes result #0 another one: argument (2), but in the global program argument (1)}}
    %0 = scf.if %c -> tensor<4xf32> {
      %w = arith.mulf %x, %x : tensor<4xf32>
      scf.yield %w : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @if(%x: tensor<4xf32>, %n: tensor<i1>, %m: tensor<i1>) -> tensor<4xf32> {
      %c = tensor.extract %n[] : tensor<i1>
      // expected-note@+1 {{this op of the global program makes argument (1)}}
      %0 = scf.if %c -> tensor<4xf32> {
        %w = arith.mulf %x, %x : tensor<4xf32>
        scf.yield %w : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// A condition that is not the same on all ranks.

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @if(%x: tensor<4xf32>) -> tensor<4xf32> {
    %zero = arith.constant 0 : index
    %rank = weft.axis_index @mesh <{"tp"}>
    // expected-error@+1 {{computes with an index that depends on the rank, and is not the global index of a loop}}
    %c = arith.cmpi eq, %rank, %zero : index
    %0 = scf.if %c -> tensor<4xf32> {
      %w = arith.mulf %x, %x : tensor<4xf32>
      scf.yield %w : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @if(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}

// -----

// A pass that gives another result.

module {
  func.func @while(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
    %one = arith.constant 1 : i32
    // expected-error@+1 {{makes result #0 another one: carried after (0, 0), but in the global program arith.subi ({overflowFlags = #arith.overflow<none>})}}
    %0:2 = scf.while (%i = %n, %v = %x) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
      %c = tensor.extract %i[] : tensor<i32>
      %more = arith.cmpi sgt, %c, %one : i32
      scf.condition(%more) %i, %v : tensor<i32>, tensor<4xf32>
    } do {
    ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
      %w = arith.mulf %v, %v : tensor<4xf32>
      scf.yield %i, %w : tensor<i32>, tensor<4xf32>
    }
    return %0#1 : tensor<4xf32>
  }
  module @global {
    func.func @while(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
      %one = arith.constant 1 : i32
      %0:2 = scf.while (%i = %n, %v = %x) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
        %c = tensor.extract %i[] : tensor<i32>
        %more = arith.cmpi sgt, %c, %one : i32
        scf.condition(%more) %i, %v : tensor<i32>, tensor<4xf32>
      } do {
      ^bb0(%i: tensor<i32>, %v: tensor<4xf32>):
        %c = tensor.extract %i[] : tensor<i32>
        %d = arith.subi %c, %one : i32
        // expected-note@+1 {{this op of the global program makes arith.subi ({overflowFlags = #arith.overflow<none>})}}
        %j = tensor.from_elements %d : tensor<i32>
        %w = arith.mulf %v, %v : tensor<4xf32>
        scf.yield %j, %w : tensor<i32>, tensor<4xf32>
      }
      return %0#1 : tensor<4xf32>
    }
  }
}

// -----

// Not of parts.

module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @part(%x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}, %n: tensor<i1>)
      -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"tp"}]>}) {
    %c = tensor.extract %n[] : tensor<i1>
    %0 = scf.if %c -> tensor<2xf32> {
      // expected-error@+1 {{is not known to the proof (lib/Verify/Sums), which takes it for a function of whole tensors: it has an operand with a dimension of size 4, of which a rank has 2 elements}}
      %w = arith.mulf %x, %x : tensor<2xf32>
      scf.yield %w : tensor<2xf32>
    } else {
      scf.yield %x : tensor<2xf32>
    }
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @part(%x: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
      %c = tensor.extract %n[] : tensor<i1>
      %0 = scf.if %c -> tensor<4xf32> {
        %w = arith.mulf %x, %x : tensor<4xf32>
        scf.yield %w : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// In a body a branch is a choice.

#id = affine_map<(i) -> (i)>
module {
  weft.mesh @mesh = <["tp"=2]>
  func.func @body(%x: tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %c1 = arith.constant 1 : index
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %c = arith.cmpi eq, %i, %c1 : index
      %n = arith.negf %a : f32
      %r = arith.select %c, %n, %a : f32
      linalg.yield %r : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @body(%x: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %c1 = arith.constant 1 : index
      %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %i = linalg.index 0 : index
        %c = arith.cmpi eq, %i, %c1 : index
        %r = scf.if %c -> f32 {
          %n = arith.negf %a : f32
          scf.yield %n : f32
        } else {
          scf.yield %a : f32
        }
        linalg.yield %r : f32
      } -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// A branch that computes nothing may have become a select, ...

module {
  func.func @select(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
    %c = tensor.extract %n[] : tensor<i1>
    %0 = arith.select %c, %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @select(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
      %c = tensor.extract %n[] : tensor<i1>
      %0 = scf.if %c -> tensor<4xf32> {
        scf.yield %x : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// ... but the same one.

module {
  func.func @select(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
    %c = tensor.extract %n[] : tensor<i1>
    // expected-error@+1 {{makes result #0 another one}}
    %0 = arith.select %c, %y, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  module @global {
    func.func @select(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i1>) -> tensor<4xf32> {
      %c = tensor.extract %n[] : tensor<i1>
      // expected-note@+1 {{this op of the global program makes argument 4xf32 (0)}}
      %0 = scf.if %c -> tensor<4xf32> {
        scf.yield %x : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}

// -----

// A branch that computes nothing becomes a select; each rank chooses its part.

// CHECK-LABEL: func.func @parts
module {
  weft.mesh @mesh = <["t"=2]>
  func.func @parts(%c: i1, %x: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}, %y: tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>})
      -> (tensor<2xf32> {weft.global_type = tensor<4xf32>, weft.sharding = #weft.sharding<@mesh, [{"t"}]>}) {
    %0 = arith.select %c, %x, %y : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  module @global {
    func.func @parts(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0 = scf.if %c -> tensor<4xf32> {
        scf.yield %x : tensor<4xf32>
      } else {
        scf.yield %y : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
  }
}
