// SPDX-License-Identifier: Apache-2.0

// All of the dialect: the file that tablegen runs on.

#ifndef WEFT_DIALECT_WEFT_IR_OPS_TD
#define WEFT_DIALECT_WEFT_IR_OPS_TD

include "weft/Dialect/Weft/IR/WeftAttrs.td"
include "weft/Dialect/Weft/IR/WeftTypes.td"
include "weft/Dialect/Weft/IR/WeftMeshOps.td"
include "weft/Dialect/Weft/IR/WeftComputeOps.td"
include "weft/Dialect/Weft/IR/WeftAttentionOps.td"
include "weft/Dialect/Weft/IR/WeftQuantizeOps.td"
include "weft/Dialect/Weft/IR/WeftCollectiveOps.td"

#endif // WEFT_DIALECT_WEFT_IR_OPS_TD
