// SPDX-License-Identifier: Apache-2.0

// What weft_rt_api.attention does on the host: attention and its gradient
// without the matrix of scores, of which a block at a time is in a cache. The
// order of all sums is part of the contract, as in gemm.h, because bits must
// not depend on the mesh.
//
// Products of blocks are those of gemm.h with f32 results: "product of n" is
// the sum over n elements as gemm does it. If weft_rt_attention.leaves is 0
// they are in open order, else in declared order with one leaf.
//
// Narrow numbers: where type is bf16, P and dS are rounded to bf16 before they
// are multiplied, if leaves > 0, or if the ISA multiplies bf16 (Avx512Bf16 and
// above). Else they are f32, and bf16 and f16 operands are widened. So leaves >
// 0 gives the same bits on every ISA, and so does leaves = 0 with f32 and f16;
// leaves = 0 with bf16 does below Avx512Bf16, as gemm.
//
// Scores. s[i, j] = x * scale, x being the product of the depth; then, as far
// as they are there: softcap * tanh(s / softcap), s + bias, fill where the mask
// is 0. Each step is rounded to f32. If there is none of these and scale > 0,
// the product with scale is not rounded where it is subtracted from, below.
//
// Forward. Keys are cut in blocks of kAttentionForwardKeys, counted from key 0.
// For each block, ascending, with m = -inf, l = 0 and o = 0 at first:
//   m' = max(m, s[j] for the keys of the block that the query sees)
//   p[j] = exp(s[j] - m'), 0 for a key that is not seen
//   a = exp(m - m');  l = fma(l, a, sum of p)
//   o = o * a;  o = o + product of the block, of p * r and v
//   m = m'
// and at the end out = o / l + 0, rounded to out's type, and lse = m + log(l).
// The sum of p is a sum in 16 lanes, key j of the block in lane j mod 16,
// ascending; lane i then joins with lane i + 8, of these i with i + 4, and so
// on. A query that sees no key, or only scores of -inf, has out = 0 and
// lse = -inf.
//
// r[j] is what weft_rt_attention says, or there is none; p * r is rounded to
// f32, and then to bf16 where P is.
//
// Gradient. p[j] = exp(s[j] - lse), 0 for a key that is not seen, and for all
// keys where lse = -inf. Where lse is finite and above 256 or below -256, m and
// l are computed as in the forward pass, and p[j] = exp(s[j] - m) * (1 / l):
// the logarithm of l would be lost in an lse like -1e30. delta is a sum in 16
// lanes as above, by fma.
//   ds[j] = (p[j] * (dp[j] * r[j] - delta)) * g[j], dp being the product of the
//          values, and dp * r rounded
//   g[j] = scale, times 1 - t * t with a softcap, t being its tanh;
//          0 where the mask is 0
//   dq = +0; for blocks of kAttentionBackwardKeys, ascending:
//        dq = dq + product of the block, of ds and k
// dk and dv: queries, and groups if there are several, are flattened with the
// groups major and cut in `leaves` leaves, or one. A leaf is cut where a group
// ends, and then in blocks of kAttentionQueries; in open order these are
// counted from the first query of the group.
//   leaf = +0; for its blocks, ascending:
//        leaf = leaf + product of the block, of ds and q, or of p * r and dout
// Leaves join in a binary tree as those of gemm.h.
//
// exp and tanh are at most 2 ulp off; results of exp below 2^-126 are 0. They
// are the same on every ISA, as is log, which is rounded from f64.
//
// Blocks of which no query in sight sees a key are left out, which changes no
// bit as long as k and v are finite. Then what a query gets, and with leaves >
// 0 what a leaf adds to dk and dv, depends on that query's, or leaf's, numbers
// only: not on which other queries, heads or batches there are, nor on strides
// or the number of threads. The payload of a NaN is unspecified.

#ifndef WEFT_RT_ATTENTION_ATTENTION_H
#define WEFT_RT_ATTENTION_ATTENTION_H

#include "contract/attention_reason.h"
#include "gemm.h"

namespace weft::rt {

constexpr int64_t kAttentionForwardKeys = 512;
constexpr int64_t kAttentionBackwardKeys = 512;
constexpr int64_t kAttentionQueries = 128;

/// Attention or its gradient as weft_rt_attention says. Neither of the reasons
/// of attention_reason.h may stand against it.
void attention(const weft_rt_attention &desc, void *const *buffers,
               int64_t queryStart, const ParallelFor &parallelFor);

/// As gemmReserveWorkspace, which a thread needs as well.
bool attentionReserveWorkspace();

} // namespace weft::rt

#endif // WEFT_RT_ATTENTION_ATTENTION_H
