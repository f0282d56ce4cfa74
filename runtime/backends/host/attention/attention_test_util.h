// SPDX-License-Identifier: Apache-2.0

// Random attention, and comparisons of what attention makes of it.

#ifndef WEFT_RT_ATTENTION_ATTENTION_TEST_UTIL_H
#define WEFT_RT_ATTENTION_ATTENTION_TEST_UTIL_H

#include "attention_reference.h"
#include "gemm_test_util.h"

#include <string>

namespace weft::rt::test {

struct Sizes {
  int64_t queries, keys, depth, value;
  int64_t batches = 1, groups = 1;
};

/// Dense tensors in the order batch, group, sequence, head, without extras.
Case plainCase(Random &random, weft_rt_type type, Sizes sizes);
/// Any sizes, strides, bounds, and any of bias, mask, segments and softcap.
Case randomCase(Random &random, weft_rt_type type, int64_t most);

/// Adds tensors to a case, with broadcast dims, and fills them.
void addBias(Random &random, Case &c);
void addMask(Random &random, Case &c, float fill);
void addSegments(Random &random, Case &c);
void addDropout(Random &random, Case &c, float dropout);

/// The same case with new layouts: of all tensors, random ones.
void layOutAnew(Random &random, Case &c);

std::string textOf(const Case &c);

/// Runs the case as its descriptor says, into its own tensors.
void runCase(Case &c, const ParallelFor &parallelFor = {});
/// After the forward run: the gradient of random gradients of the outputs.
Case gradientOf(Random &random, const Case &forward, weft_rt_type typeDq,
                weft_rt_type typeDk, weft_rt_type typeDv, int leaves);

/// Which tensors a run writes.
std::vector<int> resultsOf(const Case &c);

/// Each returns "" or what differs.
/// Bits of all results; NaNs are alike.
std::string compareResults(const Case &got, const Case &want);
/// Errors against f64, compared with those of plain code in f32.
std::string compareWithReference(const Case &c, bool narrow);

/// The case for queries [first, first + count) alone.
Case sliceOf(const Case &c, int64_t first, int64_t count);
/// What the slice's results by query are in the whole.
std::string compareSlice(const Case &whole, const Case &slice, int64_t first);

/// Three threads, each every third piece.
ParallelFor threeThreads();

} // namespace weft::rt::test

#endif // WEFT_RT_ATTENTION_ATTENTION_TEST_UTIL_H
