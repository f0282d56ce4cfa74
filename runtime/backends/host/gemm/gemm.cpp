// SPDX-License-Identifier: Apache-2.0

// The entry point cuts C into rectangles for the threads. How C is cut cannot
// change a result, only who computes it.

#include "gemm.h"

#include "blocked.h"
#include "isa.h"
#include "kernels.h"
#include "plan.h"

#include <algorithm>
#include <utility>

namespace weft::rt {

using namespace detail;

namespace {

/// C cut into batch x m x n pieces.
struct Job {
  Plan plan;
  const KernelSet *kernels;
  const char *a, *b;
  char *c;
  int64_t batchPieces = 1, mPieces = 1, nPieces = 1;

  int64_t pieces() const { return batchPieces * mPieces * nPieces; }
};

struct Range {
  int64_t begin, end;
};

Range pieceOf(int64_t size, int64_t pieces, int64_t index, int64_t multiple) {
  int64_t units = (size + multiple - 1) / multiple;
  return {std::min(size, units * index / pieces * multiple),
          std::min(size, units * (index + 1) / pieces * multiple)};
}

void runPiece(void *context, int64_t index) {
  const Job &job = *static_cast<const Job *>(context);
  const Plan &plan = job.plan;
  Range n =
      pieceOf(plan.n.size, job.nPieces, index % job.nPieces, job.kernels->cols);
  index /= job.nPieces;
  Range m =
      pieceOf(plan.m.size, job.mPieces, index % job.mPieces, job.kernels->rows);
  Range batch =
      pieceOf(plan.batch.size, job.batchPieces, index / job.mPieces, 1);
  for (int64_t i = batch.begin; i < batch.end; ++i) {
    int64_t a, b, c;
    fillOffsets(plan.batch, &Dim::a, i, 1, &a);
    fillOffsets(plan.batch, &Dim::b, i, 1, &b);
    fillOffsets(plan.batch, &Dim::c, i, 1, &c);
    computeRectangle(plan, *job.kernels, {m.begin, m.end, n.begin, n.end},
                     job.a + a * typeBytes(plan.typeA),
                     job.b + b * typeBytes(plan.typeB),
                     job.c + c * typeBytes(plan.typeC));
  }
}

/// About two pieces per thread. Batches are free to cut; columns cost repeated
/// packing of A, rows of B, so the longer side is cut.
void cutForThreads(Job &job, int threads) {
  const Plan &plan = job.plan;
  constexpr double worthAThread = 1e6; // multiplications
  double work = double(plan.batch.size) * double(plan.m.size) *
                double(plan.n.size) * double(std::max<int64_t>(1, plan.k.size));
  int64_t wanted =
      std::min<int64_t>(2 * int64_t(threads), int64_t(work / worthAThread));
  if (wanted < 2)
    return;
  job.batchPieces = std::min(plan.batch.size, wanted);
  int64_t rest = (wanted + job.batchPieces - 1) / job.batchPieces;
  int64_t mTiles = plan.m.size / (2 * job.kernels->rows);
  int64_t nTiles = plan.n.size / (2 * job.kernels->cols);
  bool cutRows = plan.m.size > plan.n.size;
  int64_t &first = cutRows ? job.mPieces : job.nPieces;
  int64_t &second = cutRows ? job.nPieces : job.mPieces;
  first = std::clamp<int64_t>(cutRows ? mTiles : nTiles, 1, rest);
  rest = rest / first;
  second = std::clamp<int64_t>(cutRows ? nTiles : mTiles, 1, rest);
}

} // namespace

void gemm(const weft_rt_gemm &desc, const void *a, const void *b, void *c,
          const ParallelFor &parallelFor) {
  Job job;
  job.plan = makePlan(desc);
  if (job.plan.batch.size == 0 || job.plan.m.size == 0 || job.plan.n.size == 0)
    return;
  if (job.plan.swapped)
    std::swap(a, b);
  job.kernels = &selectKernels(job.plan, activeIsa());
  job.a = static_cast<const char *>(a);
  job.b = static_cast<const char *>(b);
  job.c = static_cast<char *>(c);
  if (parallelFor.run && parallelFor.numThreads > 1)
    cutForThreads(job, parallelFor.numThreads);
  if (job.pieces() > 1)
    parallelFor.run(parallelFor.ctx, job.pieces(), runPiece, &job);
  else
    runPiece(&job, 0);
}

} // namespace weft::rt
