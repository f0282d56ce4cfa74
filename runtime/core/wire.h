// SPDX-License-Identifier: Apache-2.0

// What the processes of a job say to each other, as bytes: frames with a head
// of fixed size, and numbers and texts within them. Whatever arrives is checked
// before anything is made of it.

#ifndef WEFT_RT_CORE_WIRE_H
#define WEFT_RT_CORE_WIRE_H

#include <cstdint>
#include <optional>
#include <string>

namespace weft::rt {

/// Kinds of frames.
enum class FrameKind : uint32_t {
  Hello = 1,   // who connects, and for what
  Blob = 2,    // a process' part of an exchange
  Blobs = 3,   // all parts
  Failure = 4, // ends the job
  Message = 5, // for process 0
  Leave = 6,   // the process is done
  Data = 7     // what follows are so many bytes of a tensor
};

struct Frame {
  FrameKind kind;
  std::string content;
};

constexpr size_t frameHeadBytes = 16;
constexpr uint64_t mostFrameBytes = uint64_t(64) << 20;

/// The head of a frame whose content has so many bytes.
std::string frameHead(FrameKind kind, uint64_t bytes);

/// Reads a head; nothing if it is none.
std::optional<FrameKind> readFrameHead(const char *head, uint64_t &bytes);

std::string frameOf(FrameKind kind, const std::string &content);

/// Takes the first whole frame off the bytes that have arrived. Nothing: more
/// must arrive, or, with `isBad`, they are no frames, or larger than `most`.
std::optional<Frame> takeFrame(std::string &arrived, uint64_t most,
                               bool &isBad);

/// Puts numbers and texts into a frame's content.
class WireWriter {
public:
  void number(int64_t value);
  void text(const std::string &value);
  const std::string &bytes() const { return content; }

private:
  std::string content;
};

/// Reads them. After the first that is not there all are 0 and "".
class WireReader {
public:
  explicit WireReader(const std::string &content) : content(content) {}
  int64_t number();
  std::string text();
  /// Says whether all was there, and nothing more.
  bool isWhole() const { return isGood && at == content.size(); }
  bool isValid() const { return isGood; }

private:
  const std::string &content;
  size_t at = 0;
  bool isGood = true;
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_WIRE_H
