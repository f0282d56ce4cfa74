// RUN: weft-opt %s --weft-verify-scheduling -split-input-file -verify-diagnostics -o /dev/null

// A sum of padded tensors that do not meet is one of parts, and what is done
// with each part is done with the whole.

module {
  module @local {
    func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
      %n = arith.constant dense<0.0> : tensor<4x8xf32>
      %m = arith.constant dense<0.0> : tensor<4x8xf32>
      %low = tensor.insert_slice %a into %n[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %high = tensor.insert_slice %b into %m[0, 4] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %0 = arith.addf %high, %low : tensor<4x8xf32>
      %1 = math.absf %0 : tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
  }
  func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
    %n = arith.constant dense<0.0> : tensor<4x4xf32>
    %m = arith.constant dense<0.0> : tensor<4x4xf32>
    %low = arith.addf %a, %n : tensor<4x4xf32>
    %high = arith.addf %m, %b : tensor<4x4xf32>
    %0 = math.absf %low : tensor<4x4xf32>
    %1 = math.absf %high : tensor<4x4xf32>
    %2 = tensor.concat dim(1) %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}

// -----

// A part that is constant is a constant sum.

module {
  module @local {
    func.func @f(%b: tensor<4x4xf32>) -> tensor<4x8xf32> {
      %n = arith.constant dense<0.0> : tensor<4x8xf32>
      %m = arith.constant dense<0.0> : tensor<4x8xf32>
      %a = arith.constant dense<2.0> : tensor<4x4xf32>
      %low = tensor.insert_slice %a into %n[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %high = tensor.insert_slice %b into %m[0, 4] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %0 = arith.addf %low, %high : tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
  }
  func.func @f(%b: tensor<4x4xf32>) -> tensor<4x8xf32> {
    %n = arith.constant dense<0.0> : tensor<4x4xf32>
    %a = arith.constant dense<2.0> : tensor<4x4xf32>
    %low = arith.addf %a, %n : tensor<4x4xf32>
    %high = arith.addf %n, %b : tensor<4x4xf32>
    %0 = tensor.concat dim(1) %low, %high : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}

// -----

// It is that constant.

module {
  module @local {
    func.func @f(%b: tensor<4x4xf32>) -> tensor<4x8xf32> {
      %n = arith.constant dense<0.0> : tensor<4x8xf32>
      // expected-note @+1 {{this op of the program before}}
      %a = arith.constant dense<2.0> : tensor<4x4xf32>
      %low = tensor.insert_slice %a into %n[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %high = tensor.insert_slice %b into %n[0, 4] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %0 = arith.addf %low, %high : tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
  }
  func.func @f(%b: tensor<4x4xf32>) -> tensor<4x8xf32> {
    %n = arith.constant dense<0.0> : tensor<4x4xf32>
    // expected-error @+1 {{makes result #0 another one than before scheduling: constant 3.000000e+00}}
    %a = arith.constant dense<3.0> : tensor<4x4xf32>
    %high = arith.addf %n, %b : tensor<4x4xf32>
    %0 = tensor.concat dim(1) %a, %high : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}

// -----

// Parts change places.

module {
  module @local {
    // expected-note @+1 {{this op of the program before}}
    func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
      %n = arith.constant dense<0.0> : tensor<4x8xf32>
      %m = arith.constant dense<0.0> : tensor<4x8xf32>
      %low = tensor.insert_slice %a into %n[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %high = tensor.insert_slice %b into %m[0, 4] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %0 = arith.addf %high, %low : tensor<4x8xf32>
      %1 = math.absf %0 : tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
  }
  // expected-error @+1 {{makes result #0 another one than before scheduling}}
  func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
    %n = arith.constant dense<0.0> : tensor<4x4xf32>
    %m = arith.constant dense<0.0> : tensor<4x4xf32>
    %low = arith.addf %a, %n : tensor<4x4xf32>
    %high = arith.addf %m, %b : tensor<4x4xf32>
    %0 = math.absf %low : tensor<4x4xf32>
    %1 = math.absf %high : tensor<4x4xf32>
    %2 = tensor.concat dim(1) %1, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}

// -----

// A number that is not the same around both is added to one of them only.

module {
  module @local {
    func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
      %n = arith.constant dense<0.0> : tensor<4x8xf32>
      %m = arith.constant dense<1.0> : tensor<4x8xf32>
      // expected-note @+1 {{this op of the program before}}
      %low = tensor.insert_slice %a into %n[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %high = tensor.insert_slice %b into %m[0, 4] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %0 = arith.addf %high, %low : tensor<4x8xf32>
      %1 = math.absf %0 : tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
  }
  func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
    %n = arith.constant dense<0.0> : tensor<4x4xf32>
    %m = arith.constant dense<0.0> : tensor<4x4xf32>
    %low = arith.addf %a, %n : tensor<4x4xf32>
    %high = arith.addf %m, %b : tensor<4x4xf32>
    %0 = math.absf %low : tensor<4x4xf32>
    %1 = math.absf %high : tensor<4x4xf32>
    // expected-error @+1 {{makes result #0 another one than before scheduling}}
    %2 = tensor.concat dim(1) %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}

// -----

// A difference says which is which.

module {
  module @local {
    func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
      %n = arith.constant dense<0.0> : tensor<4x8xf32>
      %m = arith.constant dense<0.0> : tensor<4x8xf32>
      %low = tensor.insert_slice %a into %n[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %high = tensor.insert_slice %b into %m[0, 4] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      // expected-note @+1 {{this op of the program before}}
      %0 = arith.subf %high, %low : tensor<4x8xf32>
      %1 = math.absf %0 : tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
  }
  func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
    %n = arith.constant dense<0.0> : tensor<4x4xf32>
    %m = arith.constant dense<0.0> : tensor<4x4xf32>
    %low = arith.subf %a, %n : tensor<4x4xf32>
    %high = arith.subf %m, %b : tensor<4x4xf32>
    %0 = math.absf %low : tensor<4x4xf32>
    %1 = math.absf %high : tensor<4x4xf32>
    // expected-error @+1 {{makes result #0 another one than before scheduling}}
    %2 = tensor.concat dim(1) %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}

// -----

// Where they meet, both count.

module {
  module @local {
    func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
      %t = tensor.extract_slice %b[0, 0] [4, 2] [1, 1] : tensor<4x4xf32> to tensor<4x2xf32>
      %c = tensor.concat dim(1) %a, %t : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
      %n = arith.constant dense<0.0> : tensor<4x8xf32>
      %m = arith.constant dense<0.0> : tensor<4x8xf32>
      // expected-note @+1 {{this op of the program before}}
      %low = tensor.insert_slice %c into %n[0, 0] [4, 6] [1, 1] : tensor<4x6xf32> into tensor<4x8xf32>
      %high = tensor.insert_slice %b into %m[0, 4] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x8xf32>
      %0 = arith.addf %high, %low : tensor<4x8xf32>
      %1 = math.absf %0 : tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
  }
  func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x8xf32> {
    %n = arith.constant dense<0.0> : tensor<4x4xf32>
    %m = arith.constant dense<0.0> : tensor<4x4xf32>
    %low = arith.addf %a, %n : tensor<4x4xf32>
    %high = arith.addf %m, %b : tensor<4x4xf32>
    %0 = math.absf %low : tensor<4x4xf32>
    %1 = math.absf %high : tensor<4x4xf32>
    // expected-error @+1 {{makes result #0 another one than before scheduling}}
    %2 = tensor.concat dim(1) %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}
