// SPDX-License-Identifier: Apache-2.0

// The certificate of a program whose results were proved not to depend on the
// sizes of mesh axes: which axes, by which orders, and a digest of the normal
// forms of all results. Programs with equal digests give equal bits.
//
// Example: weft_rt_program.certificate =
//   {"version": 1, "axes": ["tp"], "leaves": 8, "digest": "3fd5..."}
// Other members are for other readers.

#ifndef WEFT_RT_CORE_CERTIFICATE_H
#define WEFT_RT_CORE_CERTIFICATE_H

#include "core/status.h"
#include "weft-rt/abi.h"

#include <vector>

namespace weft::rt {

/// What a certificate says.
struct Certificate {
  std::vector<std::string> axes; ///< whose sizes do not matter
  int64_t leaves = 0;            ///< at most, of a reduction
  std::string digest;            ///< 64 hexadecimal digits
};

/// Reads a certificate's text, or says what is wrong with it.
Result<Certificate> parseCertificate(const std::string &text);

/// What the program's certificate says, for a person: "mesh, 8 leaves,
/// certificate 3fd5...", with names instead of "mesh" where they are not just
/// the mesh's axes; "none" for a program without one. The program has been
/// checked.
std::string invarianceName(const weft_rt_program &program);

/// The same as a JSON object; the program has a certificate.
std::string invarianceJson(const weft_rt_program &program);

} // namespace weft::rt

#endif // WEFT_RT_CORE_CERTIFICATE_H
