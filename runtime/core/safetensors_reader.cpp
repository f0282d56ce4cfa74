// SPDX-License-Identifier: Apache-2.0

// The header is checked in three steps: as JSON of the right form, each tensor
// by itself (type, shape and byte count agree), and all together (the ranges
// tile the data section).

#include "core/json.h"
#include "core/safetensors.h"
#include "core/types.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::rt {
namespace {

/// The largest header that the reference implementation accepts.
constexpr uint64_t maxHeaderBytes = 100'000'000;

/// A tensor as the header describes it, before its values are checked.
struct RawEntry {
  std::string name, dtype;
  std::vector<int64_t> shape, offsets;
};

bool readIntegers(JsonReader &json, std::vector<int64_t> &values) {
  if (!json.take('['))
    return false;
  if (json.takeIf(']'))
    return true;
  do {
    int64_t value;
    if (!json.integer(value))
      return false;
    values.push_back(value);
  } while (json.takeIf(','));
  return json.take(']');
}

bool readField(JsonReader &json, RawEntry &raw, std::set<std::string> &seen) {
  std::string key;
  if (!json.string(key) || !json.take(':'))
    return false;
  if (!seen.insert(key).second)
    return json.fail("two fields " + quote(key));
  if (key == "dtype")
    return json.string(raw.dtype);
  if (key == "shape")
    return readIntegers(json, raw.shape);
  if (key == "data_offsets")
    return readIntegers(json, raw.offsets);
  return json.fail("unknown field " + quote(key));
}

bool readEntry(JsonReader &json, RawEntry &raw) {
  std::set<std::string> seen;
  if (!json.take('{'))
    return false;
  if (!json.takeIf('}')) {
    do {
      if (!readField(json, raw, seen))
        return false;
    } while (json.takeIf(','));
    if (!json.take('}'))
      return false;
  }
  for (const char *field : {"dtype", "shape", "data_offsets"})
    if (!seen.count(field))
      return json.fail(std::string("no field '") + field + "'");
  return true;
}

/// Reads `__metadata__`, an object of strings, and forgets it.
bool skipMetadata(JsonReader &json) {
  if (!json.take('{'))
    return false;
  if (json.takeIf('}'))
    return true;
  do {
    std::string key, value;
    if (!json.string(key) || !json.take(':') || !json.string(value))
      return false;
  } while (json.takeIf(','));
  return json.take('}');
}

bool readHeader(JsonReader &json, std::vector<RawEntry> &entries) {
  std::set<std::string> names;
  if (!json.take('{'))
    return false;
  if (json.takeIf('}'))
    return json.finish();
  do {
    RawEntry raw;
    if (!json.string(raw.name) || !json.take(':'))
      return false;
    if (!names.insert(raw.name).second)
      return json.fail("duplicate tensor " + quote(raw.name));
    if (raw.name == "__metadata__") {
      if (!skipMetadata(json)) {
        json.failedIn("'__metadata__'");
        return false;
      }
      continue;
    }
    if (!readEntry(json, raw)) {
      json.failedIn("tensor " + quote(raw.name));
      return false;
    }
    entries.push_back(std::move(raw));
  } while (json.takeIf(','));
  return json.take('}') && json.finish();
}

/// Checks one tensor by itself; `where` begins the message.
Result<TensorEntry> checkEntry(RawEntry raw, int64_t dataBytes,
                               const std::string &where) {
  std::string what = where + "tensor " + quote(raw.name);
  std::optional<weft_rt_type> type = typeOfSafetensorsName(raw.dtype);
  if (!type)
    return invalid(what + " has unsupported dtype " + quote(raw.dtype));
  std::optional<int64_t> count =
      elementCount(raw.shape.data(), raw.shape.size());
  if (!count)
    return invalid(what + " has a shape whose product overflows");
  if (raw.offsets.size() != 2)
    return invalid(
        what + format(" has %zu data offsets, expected 2", raw.offsets.size()));
  int64_t begin = raw.offsets[0], end = raw.offsets[1];
  if (begin > end || end > dataBytes)
    return invalid(what + format(" has bytes %lld to %lld, outside the data of "
                                 "%lld bytes",
                                 (long long)begin, (long long)end,
                                 (long long)dataBytes));
  std::string typeText =
      tensorTypeName(*type, raw.shape.data(), raw.shape.size());
  if (bitWidth(*type) == 4 && *count % 2 != 0)
    return invalid(what + ": " + typeText + " does not fill whole bytes");
  if (end - begin != byteSize(*type, *count))
    return invalid(what + format(" has %lld bytes, expected %lld for %s",
                                 (long long)(end - begin),
                                 (long long)byteSize(*type, *count),
                                 typeText.c_str()));
  TensorEntry entry{std::move(raw.name), *type, std::move(raw.shape), begin,
                    end};
  return entry;
}

/// Checks that the ranges, in order, tile the data section.
Status checkCoverage(const std::vector<TensorEntry> &entries, int64_t dataBytes,
                     const std::string &where) {
  int64_t covered = 0;
  std::string before = "the header";
  for (const TensorEntry &entry : entries) {
    if (entry.begin != covered)
      return invalid(
          where + format("tensor %s begins at byte %lld, %s %s, which ends "
                         "at byte %lld",
                         quote(entry.name).c_str(), (long long)entry.begin,
                         entry.begin < covered ? "inside" : "not right after",
                         before.c_str(), (long long)covered));
    covered = entry.end;
    before = quote(entry.name);
  }
  if (covered != dataBytes)
    return invalid(where + format("%s ends at byte %lld, the last of all, but "
                                  "the data has %lld bytes",
                                  entries.empty()
                                      ? "the header"
                                      : ("tensor " + before).c_str(),
                                  (long long)covered, (long long)dataBytes));
  return Status();
}

/// Checks that what is true or false is 1 or 0: code takes other bytes for
/// either.
Status checkBools(const std::vector<TensorEntry> &entries, const uint8_t *data,
                  const std::string &where) {
  for (const TensorEntry &entry : entries) {
    if (entry.type != WEFT_RT_I1)
      continue;
    const uint8_t *end = data + entry.end;
    const uint8_t *found = std::find_if(data + entry.begin, end,
                                        [](uint8_t byte) { return byte > 1; });
    if (found != end)
      return invalid(where +
                     format("tensor %s has a byte %d, expected 0 or 1 in BOOL",
                            quote(entry.name).c_str(), int(*found)));
  }
  return Status();
}

Result<int64_t> readHeaderLength(const uint8_t *image, int64_t size,
                                 const std::string &where) {
  if (size < 8)
    return invalid(where + format("file has %lld bytes, too short for a header "
                                  "length",
                                  (long long)size));
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | image[i];
  if (length > maxHeaderBytes)
    return invalid(where + format("header length %llu exceeds the limit of "
                                  "%llu",
                                  (unsigned long long)length,
                                  (unsigned long long)maxHeaderBytes));
  if (int64_t(length) > size - 8)
    return invalid(where + format("header length %llu exceeds the %lld bytes "
                                  "that follow it",
                                  (unsigned long long)length,
                                  (long long)(size - 8)));
  return int64_t(length);
}

Status systemError(const char *action, const std::string &path) {
  return ioError(format("cannot %s %s: %s", action, quote(path).c_str(),
                        std::strerror(errno)));
}

} // namespace

Result<std::vector<TensorEntry>> parseSafetensors(const uint8_t *image,
                                                  int64_t size,
                                                  const std::string &file,
                                                  int64_t *dataStart) {
  std::string where = printable(file) + ": ";
  Result<int64_t> length = readHeaderLength(image, size, where);
  if (!length.ok())
    return length.status();
  *dataStart = 8 + *length;
  JsonReader json(reinterpret_cast<const char *>(image) + 8, *length);
  std::vector<RawEntry> raw;
  if (!readHeader(json, raw))
    return invalid(where + "header: " + json.error());
  std::vector<TensorEntry> entries;
  for (RawEntry &one : raw) {
    Result<TensorEntry> entry =
        checkEntry(std::move(one), size - *dataStart, where);
    if (!entry.ok())
      return entry.status();
    entries.push_back(std::move(*entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const TensorEntry &a, const TensorEntry &b) {
              return a.begin != b.begin ? a.begin < b.begin
                     : a.end != b.end   ? a.end < b.end
                                        : a.name < b.name;
            });
  WEFT_RT_RETURN_IF_ERROR(checkCoverage(entries, size - *dataStart, where));
  WEFT_RT_RETURN_IF_ERROR(checkBools(entries, image + *dataStart, where));
  return entries;
}

Result<std::unique_ptr<SafetensorsReader>>
SafetensorsReader::open(const std::string &path) {
  // Opening a FIFO would wait for somebody to write to it.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return systemError("open", path);
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return ioError("cannot read " + quote(path) + ": not a regular file");
  }
  std::unique_ptr<SafetensorsReader> reader(new SafetensorsReader());
  reader->size = info.st_size;
  if (info.st_size > 0) {
    void *map =
        mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    ::close(descriptor);
    if (map == MAP_FAILED)
      return systemError("map", path);
    reader->image = static_cast<const uint8_t *>(map);
  } else {
    ::close(descriptor);
  }
  Result<std::vector<TensorEntry>> entries =
      parseSafetensors(reader->image, reader->size, path, &reader->dataStart);
  if (!entries.ok())
    return entries.status();
  reader->entries = std::move(*entries);
  return reader;
}

SafetensorsReader::~SafetensorsReader() {
  if (image)
    munmap(const_cast<uint8_t *>(image), size);
}

void SafetensorsReader::release(const TensorEntry &entry) const {
  // Whole pages only; a page that neighbours share is read again.
  int64_t page = sysconf(_SC_PAGESIZE);
  int64_t begin = (dataStart + entry.begin + page - 1) / page * page;
  int64_t end = (dataStart + entry.end) / page * page;
  if (begin < end)
    (void)madvise(const_cast<uint8_t *>(image) + begin, end - begin,
                  MADV_DONTNEED);
}

const TensorEntry *SafetensorsReader::find(const std::string &name) const {
  for (const TensorEntry &entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

} // namespace weft::rt
