// SPDX-License-Identifier: Apache-2.0

// The stand-in for libcublasLt.so.13: a plain loop, with sums in f64 that are
// rounded once.

#include "emulated.h"

#include "core/float_formats.h"

#include <cstring>
#include <map>
#include <memory>
#include <vector>

using namespace weft::rt::cuda;

namespace weft::rt::cuda {
struct LtContext {};
/// A descriptor's attributes, and what it was created with.
struct LtOpaque {
  std::map<int, int64_t> attributes;
  int type = 0, scale = 0;
  int64_t rows = 0, columns = 0, ld = 0;

  int64_t get(int attribute, int64_t otherwise) const {
    auto found = attributes.find(attribute);
    return found == attributes.end() ? otherwise : found->second;
  }
};
} // namespace weft::rt::cuda

namespace {

constexpr int invalidValue = 7;

double load(int type, const void *data, int64_t at) {
  switch (type) {
  case lt::r32F:
    return static_cast<const float *>(data)[at];
  case lt::r64F:
    return static_cast<const double *>(data)[at];
  case lt::r16F:
    return weft::rt::Float16::load(static_cast<const uint16_t *>(data)[at]);
  default:
    return weft::rt::BFloat16::load(static_cast<const uint16_t *>(data)[at]);
  }
}

void store(int type, void *data, int64_t at, double value) {
  switch (type) {
  case lt::r32F:
    static_cast<float *>(data)[at] = float(value);
    return;
  case lt::r64F:
    static_cast<double *>(data)[at] = value;
    return;
  case lt::r16F:
    static_cast<uint16_t *>(data)[at] = weft::rt::Float16::store(float(value));
    return;
  default:
    static_cast<uint16_t *>(data)[at] = weft::rt::BFloat16::store(float(value));
  }
}

/// A product, with all that it was asked with.
struct Matmul {
  LtOpaque operation, layoutA, layoutB, layoutC;
  const void *a, *b;
  void *c;
  double alpha, beta;

  void run() const {
    int64_t batch = layoutC.get(lt::layoutBatchCount, 1);
    bool transposesA = operation.get(lt::descTransA, 0) != 0,
         transposesB = operation.get(lt::descTransB, 0) != 0;
    int64_t depth = transposesA ? layoutA.rows : layoutA.columns;
    for (int64_t i = 0; i < batch; ++i)
      for (int64_t row = 0; row < layoutC.rows; ++row)
        for (int64_t column = 0; column < layoutC.columns; ++column) {
          double sum = 0;
          for (int64_t k = 0; k < depth; ++k)
            sum += factor(at(layoutA, a, i, row, k, transposesA)) *
                   factor(at(layoutB, b, i, k, column, transposesB));
          int64_t place = placeOf(layoutC, i, row, column);
          double old = beta == 0 ? 0 : load(layoutC.type, c, place);
          store(layoutC.type, c, place, alpha * sum + beta * old);
        }
  }

  /// As the product takes it: with 10 bits after the point in TF32.
  double factor(double value) const {
    if (operation.type != lt::compute32FFastTF32)
      return value;
    auto narrow = float(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof(bits));
    bits &= ~uint32_t(0x1fff);
    std::memcpy(&narrow, &bits, sizeof(bits));
    return narrow;
  }

  static int64_t placeOf(const LtOpaque &layout, int64_t batch, int64_t row,
                         int64_t column) {
    return batch * layout.get(lt::layoutBatchStride, 0) + column * layout.ld +
           row;
  }

  static double at(const LtOpaque &layout, const void *data, int64_t batch,
                   int64_t row, int64_t column, bool isTransposed) {
    return load(layout.type, data,
                isTransposed ? placeOf(layout, batch, column, row)
                             : placeOf(layout, batch, row, column));
  }
};

int setAttribute(LtOpaque *on, int attribute, const void *value, size_t bytes) {
  int64_t number = 0;
  if (bytes > sizeof(number))
    return invalidValue;
  std::memcpy(&number, value, bytes);
  on->attributes[attribute] = number;
  return 0;
}

} // namespace

extern "C" {

int cublasLtCreate(LtContext **context) {
  FAIL_IF_TOLD();
  *context = new LtContext;
  return 0;
}

int cublasLtDestroy(LtContext *context) {
  delete context;
  return 0;
}

int cublasLtMatmulDescCreate(LtOpaque **made, int compute, int scale) {
  FAIL_IF_TOLD();
  *made = new LtOpaque;
  (*made)->type = compute;
  (*made)->scale = scale;
  return 0;
}

int cublasLtMatmulDescSetAttribute(LtOpaque *on, int attribute,
                                   const void *value, size_t bytes) {
  FAIL_IF_TOLD();
  return setAttribute(on, attribute, value, bytes);
}

int cublasLtMatmulDescDestroy(LtOpaque *made) {
  delete made;
  return 0;
}

int cublasLtMatrixLayoutCreate(LtOpaque **made, int type, uint64_t rows,
                               uint64_t columns, int64_t ld) {
  FAIL_IF_TOLD();
  if (ld < int64_t(rows))
    return invalidValue;
  *made = new LtOpaque;
  (*made)->type = type;
  (*made)->rows = int64_t(rows);
  (*made)->columns = int64_t(columns);
  (*made)->ld = ld;
  return 0;
}

int cublasLtMatrixLayoutSetAttribute(LtOpaque *on, int attribute,
                                     const void *value, size_t bytes) {
  FAIL_IF_TOLD();
  return setAttribute(on, attribute, value, bytes);
}

int cublasLtMatrixLayoutDestroy(LtOpaque *made) {
  delete made;
  return 0;
}

int cublasLtMatmulPreferenceCreate(LtOpaque **made) {
  FAIL_IF_TOLD();
  *made = new LtOpaque;
  return 0;
}

int cublasLtMatmulPreferenceSetAttribute(LtOpaque *on, int attribute,
                                         const void *value, size_t bytes) {
  FAIL_IF_TOLD();
  return setAttribute(on, attribute, value, bytes);
}

int cublasLtMatmulPreferenceDestroy(LtOpaque *made) {
  delete made;
  return 0;
}

int cublasLtMatmulAlgoGetHeuristic(LtContext *, LtOpaque *, LtOpaque *,
                                   LtOpaque *, LtOpaque *, LtOpaque *,
                                   LtOpaque *preference, int,
                                   LtHeuristicResult *result, int *count) {
  FAIL_IF_TOLD();
  // Split-K must be off, and no alignment may be taken for granted.
  if (preference->get(lt::reductionSchemeMask, -1) != lt::reductionNone ||
      preference->get(lt::alignmentA, 0) == 0)
    return invalidValue;
  *result = LtHeuristicResult();
  *count = 1;
  return 0;
}

int cublasLtMatmul(LtContext *, LtOpaque *operation, const void *alpha,
                   const void *a, LtOpaque *layoutA, const void *b,
                   LtOpaque *layoutB, const void *beta, const void *c,
                   LtOpaque *layoutC, void *d, LtOpaque *, const LtAlgo *,
                   void *, size_t, CUstream_st *stream) {
  FAIL_IF_TOLD();
  if (c != d)
    return invalidValue;
  auto *matmul =
      new Matmul{*operation, *layoutA, *layoutB, *layoutC, a, b, d, 0, 0};
  matmul->alpha = load(operation->scale, alpha, 0);
  matmul->beta = load(operation->scale, beta, 0);
  return emulatedEnqueue(
      stream, [](void *context) { static_cast<Matmul *>(context)->run(); },
      matmul, [](void *context) { delete static_cast<Matmul *>(context); });
}

} // extern "C"
