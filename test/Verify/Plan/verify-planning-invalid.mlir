// RUN: weft-opt %s --weft-verify-planning -split-input-file -verify-diagnostics

// Modules and functions that do not belong together. What is wrong inside of a
// function, verify-planning.mlir has.

// expected-error @+1 {{there is no module @scheduled inside, with which the plan could be compared}}
module {
}

// -----

// expected-error @+1 {{the scheduled program has no function}}
module {
  module @scheduled {
  }
}

// -----

// expected-error @+1 {{there is no plan of @step of the scheduled program}}
module {
  module @scheduled {
    func.func @step() {
      return
    }
  }
}

// -----

module {
  module @scheduled {
    func.func @step() {
      return
    }
  }
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
    return
  }
  // expected-error @+1 {{the scheduled program has no @other}}
  func.func @other() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
    return
  }
}

// -----

module {
  module @scheduled {
    weft.mesh @mesh = <["dp"=2]>
    func.func @step() {
      return
    }
  }
  // expected-error @+1 {{'weft.mesh' op @mesh is not that of the scheduled program}}
  weft.mesh @mesh = <["dp"=4]>
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
    return
  }
}

// -----

module {
  module @scheduled {
    weft.mesh @mesh = <["dp"=2]>
    func.func @step() {
      return
    }
  }
  weft.mesh @mesh = <["dp"=2]>
  // expected-error @+1 {{'weft.channel' op @more is not in the scheduled program}}
  weft.channel @more on @mesh <{"dp"}> purpose data
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
    return
  }
}

// -----

// expected-error @+1 {{'weft.tf32' is not that of the scheduled program: it decides how products are rounded}}
module attributes {weft.tf32} {
  module @scheduled {
    func.func @step() {
      return
    }
  }
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
    return
  }
}

// -----

// expected-error @+1 {{'weft.invariance' is not that of the scheduled program: it decides how narrow floats are computed}}
module attributes {weft.invariance = #weft.invariance<axes = ["dp"], leaves = 8>} {
  module @scheduled {
    func.func @step() {
      return
    }
  }
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
    return
  }
}

// -----

module {
  module @scheduled {
    // expected-error @+1 {{of the scheduled program has 2 blocks, expected 1}}
    func.func @step() {
      cf.br ^next
    ^next:
      return
    }
  }
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
    return
  }
}

// -----

module {
  module @scheduled {
    func.func @step(%x: tensor<8xf32> {weft.name = "x"}) {
      return
    }
  }
  // expected-error @+1 {{has 0 arguments, the scheduled program 1}}
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
    return
  }
}

// -----

module {
  module @scheduled {
    func.func @step(%x: tensor<8xf32> {weft.name = "x"}) -> (tensor<8xf32> {weft.alias = 0 : index}) {
      return %x : tensor<8xf32>
    }
  }
  // expected-error @+1 {{argument 0 is #weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>>, in the scheduled program #weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>}}
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64,
      weft_rt.args = [#weft_rt.tensor<name = "y", local = tensor<8xf32>, global = tensor<8xf32>>],
      weft_rt.results = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>, alias = 0, value = 0>]} {
    return
  }
}

// -----

// A result that the plan leaves to what was there.
module {
  module @scheduled {
    func.func @step(%x: tensor<8xf32> {weft.name = "x"}) -> tensor<8xf32> {
      return %x : tensor<8xf32>
    }
  }
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64,
      weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>],
      weft_rt.results = [#weft_rt.tensor<local = tensor<8xf32>, global = tensor<8xf32>, value = 0>]} {
    // expected-error @+1 {{the plan never writes result 0}}
    return
  }
}

// -----

// Only kernels, contractions and the like are in the scheduled phase.
module {
  module @scheduled {
    func.func @step(%x: tensor<8xf32> {weft.name = "x"}) {
      // expected-error @+2 {{'linalg.fill' op of the scheduled program is none that the proof of planning knows}}
      %c = arith.constant 1.0 : f32
      %r = linalg.fill ins(%c : f32) outs(%x : tensor<8xf32>) -> tensor<8xf32>
      return
    }
  }
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64,
      weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>], weft_rt.results = []} {
    return
  }
}

// -----

module {
  module @scheduled {
    func.func @step(%x: tensor<8xf32> {weft.name = "x"}) {
      return
    }
  }
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64,
      weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>], weft_rt.results = []} {
    // expected-error @+1 {{argument 1 is none of the scheduled program}}
    %x = weft_rt.buffer argument 1 "x" : memref<8xf32>
    return
  }
}

// -----

module {
  module @scheduled {
    weft.mesh @mesh = <["dp"=2]>
    weft.channel @c on @mesh <{"dp"}> purpose data
    func.func @step(%x: tensor<8xf32> {weft.name = "x"}) {
      // expected-error @+1 {{'weft.all_reduce' op of the scheduled program is not started}}
      %y = weft.all_reduce sum %x on @mesh <{"dp"}> {channel = @c, weft.op = "sum"} : (tensor<8xf32>) -> tensor<8xf32>
      return
    }
  }
  weft.mesh @mesh = <["dp"=2]>
  weft.channel @c on @mesh <{"dp"}> purpose data
  func.func @step() attributes {weft_rt.arena_bytes = 64 : i64,
      weft_rt.args = [#weft_rt.tensor<name = "x", local = tensor<8xf32>, global = tensor<8xf32>>], weft_rt.results = []} {
    %x = weft_rt.buffer argument 0 "x" : memref<8xf32>
    %y = weft_rt.buffer arena 0 "y" : memref<8xf32>
    %t = weft_rt.start <all_reduce, mesh = @mesh, axes = <{"dp"}>, reduce = sum>
        ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {channel = @c, weft.op = "sum"}
    weft_rt.wait %t
    return
  }
}

// -----

module {
  module @scheduled {
    // expected-error @+1 {{'func.func' op of the scheduled program takes or gives 'f32', expected tensors of static shape}}
    func.func @step(%x: f32) {
      return
    }
  }
  func.func @step() attributes {weft_rt.arena_bytes = 0 : i64, weft_rt.args = [], weft_rt.results = []} {
    return
  }
}
