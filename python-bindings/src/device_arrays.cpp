// SPDX-License-Identifier: Apache-2.0

// DLPack capsules of arrays in the memory of devices, in both directions.
// nanobind's own arrays ask for them without a stream, and know no versions; so
// the structs of dlpack.h are declared here as far as they are needed.

#include "bindings.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

constexpr const char *plainName = "dltensor", *plainUsed = "used_dltensor",
                     *versionedName = "dltensor_versioned",
                     *versionedUsed = "used_dltensor_versioned";
constexpr uint64_t readOnlyFlag = 1;

struct DeviceRef {
  int32_t type, id;
};

struct ElementType {
  uint8_t code, bits;
  uint16_t lanes;
};

/// DLTensor.
struct Tensor {
  void *data;
  DeviceRef device;
  int32_t rank;
  ElementType type;
  int64_t *shape, *strides; // strides in elements; null: dense
  uint64_t byteOffset;
};

/// DLManagedTensor.
struct Managed {
  Tensor tensor;
  void *context;
  void (*deleter)(Managed *);
};

/// DLManagedTensorVersioned.
struct Versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(Versioned *);
  uint64_t flags;
  Tensor tensor;
};

/// An array of another library. Its memory is kept as long as this.
class Taken {
public:
  /// Takes over what the capsule has.
  explicit Taken(nb::handle capsule) {
    PyObject *given = capsule.ptr();
    if (PyCapsule_IsValid(given, versionedName)) {
      versioned =
          static_cast<Versioned *>(PyCapsule_GetPointer(given, versionedName));
      PyCapsule_SetName(given, versionedUsed);
      if (versioned->major == 1)
        tensor = versioned->tensor;
    } else if (PyCapsule_IsValid(given, plainName)) {
      managed = static_cast<Managed *>(PyCapsule_GetPointer(given, plainName));
      PyCapsule_SetName(given, plainUsed);
      tensor = managed->tensor;
    } else {
      throw nb::type_error("__dlpack__ gave no DLPack capsule that is unused");
    }
  }
  /// A deleter may be Python's, and this may go while an exception is on its
  /// way.
  ~Taken() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (managed && managed->deleter)
      managed->deleter(managed);
    if (versioned && versioned->deleter)
      versioned->deleter(versioned);
    PyErr_Restore(type, value, trace);
  }
  Taken(const Taken &) = delete;

  /// Of a version whose layout is not known nothing else may be asked.
  std::pair<uint32_t, uint32_t> version() const {
    return versioned ? std::pair(versioned->major, versioned->minor)
                     : std::pair(0u, 0u);
  }
  std::pair<int32_t, int32_t> device() const {
    return {tensor.device.type, tensor.device.id};
  }
  nb::tuple type() const {
    return nb::make_tuple(tensor.type.code, tensor.type.bits,
                          tensor.type.lanes);
  }
  std::vector<int64_t> shape() const {
    return {tensor.shape, tensor.shape + tensor.rank};
  }
  bool isReadOnly() const {
    return versioned && (versioned->flags & readOnlyFlag);
  }

  /// Says whether elements lie one after the other, the last dim innermost.
  bool isDense() const {
    int64_t expected = 1;
    for (int32_t dim = tensor.rank - 1; dim >= 0 && tensor.strides; --dim) {
      if (tensor.shape[dim] == 0)
        return true;
      if (tensor.shape[dim] != 1 && tensor.strides[dim] != expected)
        return false;
      expected *= tensor.shape[dim];
    }
    return true;
  }
  uintptr_t address() const {
    return reinterpret_cast<uintptr_t>(tensor.data) +
           uintptr_t(tensor.byteOffset);
  }

private:
  Managed *managed = nullptr;
  Versioned *versioned = nullptr;
  Tensor tensor = {};
};

/// What is given away, and the object that keeps its memory.
template <typename Form> struct Given {
  Form form = {};
  PyObject *owner = nullptr;
  std::vector<int64_t> shape, strides;

  static void destroy(Form *form) {
    PyGILState_STATE state = PyGILState_Ensure();
    auto *given = static_cast<Given *>(form->context);
    Py_DECREF(given->owner);
    delete given;
    PyGILState_Release(state);
  }
};

/// Frees what nobody has taken.
template <typename Form> void dropCapsule(PyObject *capsule) {
  const char *name = PyCapsule_GetName(capsule);
  if (!name || std::strncmp(name, "used_", 5) == 0)
    return;
  auto *form = static_cast<Form *>(PyCapsule_GetPointer(capsule, name));
  if (form)
    form->deleter(form);
}

template <typename Form>
nb::object makeCapsule(const char *name, uintptr_t address, DeviceRef device,
                       ElementType type, const std::vector<int64_t> &shape,
                       nb::handle owner) {
  auto given = std::make_unique<Given<Form>>();
  given->shape = shape;
  given->strides.assign(shape.size(), 1);
  for (size_t dim = shape.size(); dim > 1; --dim)
    given->strides[dim - 2] = given->strides[dim - 1] * shape[dim - 1];
  given->form.tensor = {reinterpret_cast<void *>(address),
                        device,
                        int32_t(shape.size()),
                        type,
                        given->shape.data(),
                        given->strides.data(),
                        0};
  given->form.deleter = Given<Form>::destroy;
  given->form.context = given.get();
  PyObject *capsule = PyCapsule_New(&given->form, name, dropCapsule<Form>);
  if (!capsule)
    throw nb::python_error();
  given->owner = owner.inc_ref().ptr();
  given.release();
  return nb::steal(capsule);
}

/// The capsule of a dense array; of the versioned form if that is asked for.
nb::object give(uintptr_t address, std::pair<int32_t, int32_t> device, int code,
                int bits, const std::vector<int64_t> &shape, nb::handle owner,
                bool isVersioned) {
  DeviceRef place = {device.first, device.second};
  ElementType type = {uint8_t(code), uint8_t(bits), 1};
  if (!isVersioned)
    return makeCapsule<Managed>(plainName, address, place, type, shape, owner);
  nb::object capsule =
      makeCapsule<Versioned>(versionedName, address, place, type, shape, owner);
  auto *form = static_cast<Versioned *>(
      PyCapsule_GetPointer(capsule.ptr(), versionedName));
  form->major = 1;
  return capsule;
}

} // namespace

void weft::python::bindDeviceArrays(nb::module_ &module) {
  nb::class_<Taken>(module, "DeviceTensor")
      .def(nb::init<nb::handle>())
      .def_prop_ro("version", &Taken::version)
      .def_prop_ro("device", &Taken::device)
      .def_prop_ro("type", &Taken::type)
      .def_prop_ro("shape", &Taken::shape)
      .def_prop_ro("is_read_only", &Taken::isReadOnly)
      .def_prop_ro("is_dense", &Taken::isDense)
      .def_prop_ro("address", &Taken::address);
  module.def("give_dlpack", &give);
}
