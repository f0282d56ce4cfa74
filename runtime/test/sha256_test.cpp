// SPDX-License-Identifier: Apache-2.0

// The examples of FIPS 180-4 and its test vectors, and messages in pieces.

#include "core/sha256.h"

#include <gtest/gtest.h>

using namespace weft::rt;

namespace {

std::string digestOf(const std::string &text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.finish();
}

TEST(Sha256, Standard) {
  EXPECT_EQ(digestOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495"
                          "991b7852b855");
  EXPECT_EQ(digestOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb"
                             "410ff61f20015ad");
  EXPECT_EQ(
      digestOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      digestOf("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
               "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(digestOf(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesDoNotMatter) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += char(i * 7);
  std::string expected = digestOf(text);
  for (size_t step : {1, 3, 55, 56, 63, 64, 65, 128, 299}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += step)
      hash.add(text.data() + at, std::min(step, text.size() - at));
    EXPECT_EQ(hash.finish(), expected) << step;
  }
}

/// Around the end of a block, where the length does or does not fit.
TEST(Sha256, LengthsDiffer) {
  EXPECT_EQ(digestOf(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(digestOf(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(digestOf(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

} // namespace
