// SPDX-License-Identifier: Apache-2.0

// SHA-256 (FIPS 180-4), for names of contents that are equal if and only if the
// bytes are.
//
//   Sha256 hash;
//   hash.add("ab", 2);
//   hash.add("c", 1);
//   hash.finish();  // "ba7816bf 8f01cfea ..." without the blanks

#ifndef WEFT_RT_CORE_SHA256_H
#define WEFT_RT_CORE_SHA256_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::rt {

/// Bytes as lower-case hexadecimal digits.
std::string hexText(const uint8_t *bytes, size_t count);

/// The digest of bytes that come in any number of pieces.
class Sha256 {
public:
  void add(const void *data, size_t count);

  /// The digest of all bytes so far, as 64 digits. Call it once, at the end.
  std::string finish();

private:
  void addBlock(const uint8_t *block);

  static constexpr size_t blockBytes = 64;
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t pending[blockBytes]; // the bytes past the last whole block
  uint64_t total = 0;
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_SHA256_H
