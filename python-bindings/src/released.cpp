// SPDX-License-Identifier: Apache-2.0

// The interpreter's lock, given up and taken back around calls that take long.

#include "bindings.h"

#include <unistd.h>

namespace {

bool isFinalizing() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

} // namespace

namespace weft::python {

Released::Released() : wasFinalizing(isFinalizing()) {
  state = PyEval_SaveThread();
}

Released::~Released() { restore(); }

void Released::restore() {
  // Who held the lock while the interpreter was ending is the one who ends it.
  while (!wasFinalizing && isFinalizing())
    pause();
  PyEval_RestoreThread(state);
}

int32_t Released::poll(void *released) {
  auto &self = *static_cast<Released *>(released);
  self.restore();
  int32_t outcome = PyErr_CheckSignals();
  self.state = PyEval_SaveThread();
  return outcome;
}

} // namespace weft::python
