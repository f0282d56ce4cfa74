// RUN: weft-test-opt %s --split-input-file --verify-diagnostics

// The verifier of ShardingRuleOpInterface. A rule without a flaw is accepted,
// and of shapes that are not static none is asked for.

func.func @sharding_rule_good(%x: tensor<4x8xf32>, %y: tensor<?x8xf32>) -> (tensor<4x8xf32>, tensor<?x8xf32>) {
  %0 = weft_test.flawed_rule "none" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = weft_test.flawed_rule "no operands" %y : tensor<?x8xf32> -> tensor<?x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<?x8xf32>
}

// -----

func.func @sharding_rule_c1(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{has a sharding rule for 0 operands and 1 results, expected 1 and 1}}
  %0 = weft_test.flawed_rule "no operands" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @sharding_rule_c2(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{has a sharding rule with 1 dims for operand #0, expected 2}}
  %0 = weft_test.flawed_rule "one dim" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @sharding_rule_c3(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{has a sharding rule that names factor 7 of 2 in dim 1 of operand #0}}
  %0 = weft_test.flawed_rule "no such factor" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @sharding_rule_c4(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{has a sharding rule whose factors make dim 0 of operand #0 8 long, expected 4}}
  %0 = weft_test.flawed_rule "size" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @sharding_rule_c4_result(%x: tensor<4x8xf32>) -> tensor<4x2xf32> {
  // expected-error @+1 {{has a sharding rule whose factors make dim 1 of result #0 8 long, expected 2}}
  %0 = weft_test.flawed_rule "none" %x : tensor<4x8xf32> -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

func.func @sharding_rule_c5(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{has a sharding rule that starts from operand #3 of 1}}
  %0 = weft_test.flawed_rule "init" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @sharding_rule_c6(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{needs an order of its reduction loops, of sizes [8], but its sharding rule has one of loops of sizes []}}
  %0 = weft_test.flawed_rule "no order" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @sharding_rule_c6_other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{needs an order of its reduction loops, of sizes [8], but its sharding rule has one of loops of sizes [4]}}
  %0 = weft_test.flawed_rule "other order" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @sharding_rule_c6_no_loop(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{needs an order of its reduction loops, of sizes [0], but its sharding rule has one of loops of sizes []}}
  %0 = weft_test.flawed_rule "no such loop" %x : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
