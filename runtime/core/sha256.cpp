// SPDX-License-Identifier: Apache-2.0

// The standard's text in code: words are big-endian, the last block ends with
// the message's length in bits.

#include "core/sha256.h"

#include <algorithm>
#include <cstring>

namespace weft::rt {
namespace {

/// The first 32 bits of the fractions of the cube roots of the first 64 primes.
constexpr uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotate(uint32_t x, int count) {
  return x >> count | x << (32 - count);
}

uint32_t readWord(const uint8_t *at) {
  return uint32_t(at[0]) << 24 | uint32_t(at[1]) << 16 | uint32_t(at[2]) << 8 |
         at[3];
}

void writeWord(uint8_t *at, uint32_t word) {
  for (int i = 0; i < 4; ++i)
    at[i] = uint8_t(word >> (24 - 8 * i));
}

/// The message schedule of a block.
void expand(const uint8_t *block, uint32_t *words) {
  for (int i = 0; i < 16; ++i)
    words[i] = readWord(block + 4 * i);
  for (int i = 16; i < 64; ++i) {
    uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
               words[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
}

} // namespace

std::string hexText(const uint8_t *bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

void Sha256::addBlock(const uint8_t *block) {
  uint32_t words[64];
  expand(block, words);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; ++i) {
    uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                     ((e & f) ^ (~e & g)) + constants[i] + words[i];
    uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                      ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += sums[i];
}

void Sha256::add(const void *data, size_t count) {
  auto *from = static_cast<const uint8_t *>(data);
  size_t held = total % blockBytes;
  total += count;
  if (held > 0) {
    size_t taken = std::min(count, blockBytes - held);
    std::memcpy(pending + held, from, taken);
    from += taken;
    count -= taken;
    if (held + taken < blockBytes)
      return;
    addBlock(pending);
  }
  for (; count >= blockBytes; from += blockBytes, count -= blockBytes)
    addBlock(from);
  if (count > 0)
    std::memcpy(pending, from, count);
}

std::string Sha256::finish() {
  uint64_t bits = total * 8;
  const uint8_t end[blockBytes] = {0x80};
  size_t held = total % blockBytes;
  add(end, held < 56 ? 56 - held : 120 - held);
  uint8_t length[8];
  writeWord(length, uint32_t(bits >> 32));
  writeWord(length + 4, uint32_t(bits));
  add(length, sizeof(length));
  uint8_t digest[32];
  for (int i = 0; i < 8; ++i)
    writeWord(digest + 4 * i, state[i]);
  return hexText(digest, sizeof(digest));
}

} // namespace weft::rt
