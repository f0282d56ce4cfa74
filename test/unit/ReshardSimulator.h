// SPDX-License-Identifier: Apache-2.0

// Runs reshard plans on simulated ranks. Every rank holds a dense local array.
// Valid elements are numbers that name their global index (and, in a partial
// state, the rank's contribution); what lies past the end of a dimension is
// NaN. Steps move and combine elements as abi.h describes the collectives, and
// what each rank receives from others is counted.
//
// Where order matters, contributions are joined two by two by a function that
// neither commutes nor associates, in the tree that Reshard.h describes.
//
// Example: 5 elements over ["a"=2] are 100, 200, 300 on rank 0 and 400, 500,
// NaN on rank 1.

#ifndef WEFT_TEST_UNIT_RESHARDSIMULATOR_H
#define WEFT_TEST_UNIT_RESHARDSIMULATOR_H

#include "weft/Sharding/Reshard.h"

#include <string>
#include <vector>

namespace mlir::weft::test {

using Shape = llvm::SmallVector<int64_t, 4>;

/// A dense row-major array.
struct Array {
  Shape shape;
  std::vector<double> data;

  explicit Array(Shape shape = {});
  /// Returns the part-th of `parts` equal parts along a dimension.
  Array part(int64_t dim, int64_t part, int64_t parts) const;
  /// Returns the array with another extent: cut, or longer by NaNs.
  Array resized(int64_t dim, int64_t extent) const;
};

/// Joins arrays of one shape along a dimension.
Array concat(llvm::ArrayRef<Array> arrays, int64_t dim);

class Simulator {
public:
  /// Fills the ranks with a tensor in the given sharding.
  Simulator(const Mesh &mesh, Shape globalShape, const Sharding &sharding,
            bool isOrdered = false);

  /// Executes a step. Returns what is wrong with it, or an empty text.
  std::string execute(const ReshardStep &step);

  /// Compares all ranks with what they hold in a sharding, where each chunk has
  /// the current local extent. Returns the first difference, or an empty text.
  std::string check(const Sharding &sharding) const;

private:
  /// A global element of a rank in a sharding: combined contributions.
  double expected(const Sharding &sharding, int64_t rank,
                  int64_t element) const;
  /// Returns the row-major global index of a local element; -1 for padding.
  int64_t globalElement(const Sharding &sharding, int64_t rank,
                        int64_t local) const;
  std::vector<int64_t> group(int64_t rank, llvm::ArrayRef<AxisRef> axes) const;
  /// Returns what a rank holds after a step, and counts what it receives.
  Array run(const ReshardStep &step, int64_t rank, int64_t &received) const;
  Array reduce(Reduction kind, llvm::ArrayRef<Array> arrays) const;
  double join(Reduction kind, llvm::ArrayRef<double> contributions) const;

  const Mesh &mesh;
  Shape globalShape;
  Sharding loaded;
  bool isOrdered;
  std::vector<Array> ranks;
};

} // namespace mlir::weft::test

#endif // WEFT_TEST_UNIT_RESHARDSIMULATOR_H
