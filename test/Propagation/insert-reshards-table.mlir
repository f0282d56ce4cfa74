// RUN: weft-opt %s -split-input-file --weft-infer-storage --weft-propagate-shardings --weft-insert-reshards \
// RUN:   --weft-verify-sharding --weft-partition --canonicalize --cse --weft-print-traffic -verify-diagnostics -o /dev/null

// A lookup in a table and its gradient, with tokens of their own rank before and
// after. Each case is one of the ways; other ways would move what the comment
// says.

#d = affine_map<(t, d) -> (d)>
#t = affine_map<(t, d) -> (t)>

weft.mesh @mesh = <["fsdp"=8]>

// Columns: tokens' rows are exchanged for columns, 7/8 of a rank's 8 KB there and
// back. To gather the table: 448 KB; the updates: 56 KB; to add up whole
// gradients: 448 KB.
// expected-remark @+2 {{all_gather over #weft.axes<{"fsdp"}>: 1 operands, 896 bytes}}
// expected-remark @+1 {{all_to_all over #weft.axes<{"fsdp"}>: 2 operands, 14336 bytes}}
func.func @columns(
    %table: tensor<2048x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}], storage = {"fsdp"}>},
    %tokens: tensor<256xi32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}]>})
    -> (tensor<256x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>},
        tensor<2048x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}], storage = {"fsdp"}>}) {
  %x = weft.take %table, %tokens {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<2048x64xf32>, tensor<256xi32> -> tensor<256x64xf32>
  %y = weft.shard %x to <@mesh, [{"fsdp"}, {}]> : tensor<256x64xf32>
  %zero = arith.constant dense<0.0> : tensor<2048x64xf32>
  %g = weft.scatter_add %zero, %tokens, %y {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<2048x64xf32>, tensor<256xi32>, tensor<256x64xf32>
  return %y, %g : tensor<256x64xf32>, tensor<2048x64xf32>
}

// -----

#d = affine_map<(t, d) -> (d)>
#t = affine_map<(t, d) -> (t)>

weft.mesh @mesh = <["fsdp"=8]>

// Rows: each rank finds what is in its rows, which is summed to the tokens' ranks
// (56 KB), and takes of all updates (56 KB) what is in its rows. By columns the
// gradient would have to be turned to rows: 7 + 56 KB.
// expected-remark @+2 {{all_gather over #weft.axes<{"fsdp"}>: 2 operands, 58240 bytes}}
// expected-remark @+1 {{reduce_scatter over #weft.axes<{"fsdp"}>: 1 operands, 57344 bytes}}
func.func @rows(
    %table: tensor<2048x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>},
    %tokens: tensor<256xi32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}]>})
    -> (tensor<256x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>},
        tensor<2048x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>}) {
  %x = weft.take %table, %tokens {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<2048x64xf32>, tensor<256xi32> -> tensor<256x64xf32>
  %y = weft.shard %x to <@mesh, [{"fsdp"}, {}]> : tensor<256x64xf32>
  %zero = arith.constant dense<0.0> : tensor<2048x64xf32>
  %g = weft.scatter_add %zero, %tokens, %y {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<2048x64xf32>, tensor<256xi32>, tensor<256x64xf32>
  return %y, %g : tensor<256x64xf32>, tensor<2048x64xf32>
}

// -----

#d = affine_map<(t, d) -> (d)>
#t = affine_map<(t, d) -> (t)>

weft.mesh @mesh = <["fsdp"=8]>

// Columns on the way to rows, with more tokens than rows. The table is gathered
// (112 KB). All updates are 448 KB and whole gradients 112 KB; to exchange the
// updates for columns is 56 KB, and 14 KB to turn the gradient to rows.
// expected-remark @+2 {{all_gather over #weft.axes<{"fsdp"}>: 2 operands, 121856 bytes}}
// expected-remark @+1 {{all_to_all over #weft.axes<{"fsdp"}>: 2 operands, 71680 bytes}}
func.func @columns_to_rows(
    %table: tensor<512x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>},
    %tokens: tensor<2048xi32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}]>})
    -> (tensor<2048x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>},
        tensor<512x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}], storage = {"fsdp"}>}) {
  %x = weft.take %table, %tokens {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<512x64xf32>, tensor<2048xi32> -> tensor<2048x64xf32>
  %y = weft.shard %x to <@mesh, [{"fsdp"}, {}]> : tensor<2048x64xf32>
  %zero = arith.constant dense<0.0> : tensor<512x64xf32>
  %g = weft.scatter_add %zero, %tokens, %y {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<512x64xf32>, tensor<2048xi32>, tensor<2048x64xf32>
  return %y, %g : tensor<2048x64xf32>, tensor<512x64xf32>
}

// -----

#d = affine_map<(t, d) -> (d)>
#t = affine_map<(t, d) -> (t)>

weft.mesh @mesh = <["fsdp"=8]>

// A small table: it is gathered, and whole gradients are added up, 28 KB each. To
// exchange tokens' rows: 56 KB each.
// expected-remark @+2 {{all_gather over #weft.axes<{"fsdp"}>: 1 operands, 28672 bytes}}
// expected-remark @+1 {{reduce_scatter over #weft.axes<{"fsdp"}>: 1 operands, 28672 bytes}}
func.func @whole(
    %table: tensor<128x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}], storage = {"fsdp"}>},
    %tokens: tensor<2048xi32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}]>})
    -> (tensor<2048x64xf32> {weft.sharding = #weft.sharding<@mesh, [{"fsdp"}, {}]>},
        tensor<128x64xf32> {weft.sharding = #weft.sharding<@mesh, [{}, {"fsdp"}], storage = {"fsdp"}>}) {
  %x = weft.take %table, %tokens {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<128x64xf32>, tensor<2048xi32> -> tensor<2048x64xf32>
  %y = weft.shard %x to <@mesh, [{"fsdp"}, {}]> : tensor<2048x64xf32>
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %g = weft.scatter_add %zero, %tokens, %y {axis = 0 : i64, table_map = #d, index_map = #t}
       : tensor<128x64xf32>, tensor<2048xi32>, tensor<2048x64xf32>
  return %y, %g : tensor<2048x64xf32>, tensor<128x64xf32>
}
