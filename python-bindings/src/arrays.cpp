// SPDX-License-Identifier: Apache-2.0

// DLPack in both directions, for types that numpy does not know. numpy sees
// such an array as one of unsigned integers of the same width; the Python side
// names the type.

#include "bindings.h"

#include <nanobind/ndarray.h>

#include <vector>

namespace nb = nanobind;

namespace {

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

std::vector<size_t> shapeOf(const AnyArray &array) {
  std::vector<size_t> shape;
  for (size_t i = 0; i < array.ndim(); ++i)
    shape.push_back(array.shape(i));
  return shape;
}

std::vector<int64_t> stridesOf(const AnyArray &array) {
  std::vector<int64_t> strides;
  for (size_t i = 0; i < array.ndim(); ++i)
    strides.push_back(array.stride(i));
  return strides;
}

nb::dlpack::dtype makeType(nb::dlpack::dtype_code code, int bits) {
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
}

/// Returns (numpy array of unsigned integers, type code, bits). The memory is
/// shared, and kept as long as the result.
nb::tuple fromDLPack(AnyArray array) {
  nb::dlpack::dtype type = array.dtype();
  if (type.lanes != 1)
    throw nb::type_error("an array of vector elements is not supported");
  nb::capsule owner(new AnyArray(array), [](void *pointer) noexcept {
    delete static_cast<AnyArray *>(pointer);
  });
  std::vector<size_t> shape = shapeOf(array);
  std::vector<int64_t> strides = stridesOf(array);
  nb::ndarray<nb::numpy, nb::ro> view(
      const_cast<void *>(array.data()), shape.size(), shape.data(), owner,
      strides.data(), makeType(nb::dlpack::dtype_code::UInt, type.bits));
  return nb::make_tuple(view, type.code, type.bits);
}

/// The memory of a numpy array as an object that exports DLPack with the given
/// type of the same width.
nb::ndarray<nb::array_api> withType(nb::ndarray<nb::device::cpu> array,
                                    int code, int bits) {
  AnyArray constant(array);
  std::vector<size_t> shape = shapeOf(constant);
  std::vector<int64_t> strides = stridesOf(constant);
  nb::capsule owner(
      new nb::ndarray<nb::device::cpu>(array), [](void *pointer) noexcept {
        delete static_cast<nb::ndarray<nb::device::cpu> *>(pointer);
      });
  return nb::ndarray<nb::array_api>(
      array.data(), shape.size(), shape.data(), owner, strides.data(),
      makeType(static_cast<nb::dlpack::dtype_code>(code), bits));
}

} // namespace

void weft::python::bindArrays(nb::module_ &module) {
  module.def("from_dlpack", fromDLPack);
  module.def("with_type", withType);
}
