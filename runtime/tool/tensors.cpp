// SPDX-License-Identifier: Apache-2.0

// Inputs are cut straight from the mapped file; results go through one buffer
// as large as the largest.

#include "tool/tensors.h"

#include "core/sha256.h"
#include "core/types.h"

#include <algorithm>
#include <map>
#include <memory>
#include <new>

namespace weft::rt {
namespace {

const weft_rt_tensor *findArgument(const weft_rt_program &program,
                                   const std::string &name) {
  for (int32_t i = 0; i < program.num_args; ++i)
    if (name == program.args[i].name)
      return &program.args[i];
  return nullptr;
}

std::string argumentType(const weft_rt_tensor &tensor) {
  return tensorTypeName(tensor.type, tensor.shape, tensor.rank);
}

/// The type that compiled code has for a file's: its integers have no sign.
weft_rt_type signlessType(weft_rt_type type) {
  switch (type) {
  case WEFT_RT_U8:
    return WEFT_RT_I8;
  case WEFT_RT_U16:
    return WEFT_RT_I16;
  case WEFT_RT_U32:
    return WEFT_RT_I32;
  case WEFT_RT_U64:
    return WEFT_RT_I64;
  default:
    return type;
  }
}

bool fits(const TensorEntry &entry, const weft_rt_tensor &argument) {
  return signlessType(entry.type) == signlessType(argument.type) &&
         std::equal(entry.shape.begin(), entry.shape.end(), argument.shape,
                    argument.shape + argument.rank);
}

/// Joins results one after the other in one buffer; without one, gives what
/// this process has of them.
class ResultReader {
public:
  explicit ResultReader(weft_rt_session *session) : session(session) {}

  /// Makes room for results of up to `bytes`.
  Status reserve(int64_t bytes) {
    buffer.reset(new (std::nothrow) char[bytes]);
    if (!buffer)
      return Status(
          WEFT_RT_NO_MEMORY,
          format("cannot allocate %lld bytes for results", (long long)bytes));
    return Status();
  }

  /// Where the last byte is not full, its other bits are zeros.
  Status read(int32_t index, int64_t bytes) {
    if (buffer && bytes > 0)
      buffer[bytes - 1] = 0;
    weft_rt_status status =
        weft_rt_session_get_result(session, index, buffer.get(), bytes);
    if (status != WEFT_RT_OK)
      return Status(status, weft_rt_last_error());
    return Status();
  }

  const char *data() const { return buffer.get(); }

private:
  weft_rt_session *session;
  std::unique_ptr<char[]> buffer;
};

std::string entryType(const TensorEntry &entry) {
  return tensorTypeName(entry.type, entry.shape.data(), entry.shape.size());
}

} // namespace

std::string checkInputs(const weft_rt_program &program,
                        const SafetensorsReader &file,
                        const std::string &path) {
  std::string problems;
  for (int32_t i = 0; i < program.num_args; ++i) {
    const weft_rt_tensor &argument = program.args[i];
    const TensorEntry *entry = file.find(argument.name);
    if (!entry)
      problems += format("%s: tensor %s is missing, expected %s\n",
                         printable(path).c_str(), quote(argument.name).c_str(),
                         argumentType(argument).c_str());
    else if (!fits(*entry, argument))
      problems +=
          format("%s: tensor %s is %s, expected %s\n", printable(path).c_str(),
                 quote(argument.name).c_str(), entryType(*entry).c_str(),
                 argumentType(argument).c_str());
  }
  for (const TensorEntry &entry : file.tensors())
    if (!findArgument(program, entry.name))
      problems += format("%s: tensor %s is not an argument of %s\n",
                         printable(path).c_str(), quote(entry.name).c_str(),
                         quote(program.name).c_str());
  return problems;
}

weft_rt_status setArguments(weft_rt_session *session,
                            const SafetensorsReader &file) {
  const weft_rt_program *program = weft_rt_session_program(session);
  for (int32_t i = 0; i < program->num_args; ++i) {
    const TensorEntry *entry = file.find(program->args[i].name);
    weft_rt_status status = weft_rt_session_set_argument(
        session, i, file.data(*entry), entry->end - entry->begin);
    if (status != WEFT_RT_OK)
      return status;
    file.release(*entry);
  }
  return WEFT_RT_OK;
}

namespace {

std::vector<TensorEntry> entriesOf(const weft_rt_program &program) {
  std::vector<TensorEntry> entries;
  for (int32_t i = 0; i < program.num_results; ++i) {
    const weft_rt_tensor &result = program.results[i];
    TensorEntry entry;
    entry.name = result.name;
    entry.type = result.type;
    entry.shape.assign(result.shape, result.shape + result.rank);
    entries.push_back(std::move(entry));
  }
  return entries;
}

} // namespace

Result<std::vector<TensorEntry>> beginOutputs(const weft_rt_program &program,
                                              OutputFile &file) {
  return beginSafetensors(file, entriesOf(program));
}

Result<std::vector<TensorEntry>> outputOrder(const weft_rt_program &program,
                                             const std::string &path) {
  return layOutSafetensors(entriesOf(program), path);
}

Status writeResults(weft_rt_session *session,
                    const std::vector<TensorEntry> &order, OutputFile *file) {
  int64_t largest = 1;
  for (const TensorEntry &entry : order)
    largest = std::max(largest, entry.end - entry.begin);
  ResultReader reader(session);
  if (file)
    WEFT_RT_RETURN_IF_ERROR(reader.reserve(largest));
  for (const TensorEntry &entry : order) {
    int64_t bytes = entry.end - entry.begin;
    WEFT_RT_RETURN_IF_ERROR(reader.read(
        weft_rt_session_find_result(session, entry.name.c_str()), bytes));
    if (file)
      WEFT_RT_RETURN_IF_ERROR(file->append(reader.data(), bytes));
  }
  return file ? file->commit() : Status();
}

Result<std::string> resultDigests(weft_rt_session *session, bool isFirst) {
  const weft_rt_program &program = *weft_rt_session_program(session);
  std::map<std::string, int32_t> byName;
  int64_t largest = 1;
  for (int32_t i = 0; i < program.num_results; ++i) {
    byName[program.results[i].name] = i;
    largest = std::max(largest, weft_rt_tensor_bytes(&program.results[i]));
  }
  ResultReader reader(session);
  if (isFirst)
    WEFT_RT_RETURN_IF_ERROR(reader.reserve(largest));
  std::string text;
  for (const auto &[name, index] : byName) {
    int64_t bytes = weft_rt_tensor_bytes(&program.results[index]);
    WEFT_RT_RETURN_IF_ERROR(reader.read(index, bytes));
    if (!isFirst)
      continue;
    Sha256 hash;
    hash.add(reader.data(), bytes);
    text += "digest " + printable(name) + " " + hash.finish() + "\n";
  }
  if (!isFirst)
    return text;
  Sha256 all;
  all.add(text.data(), text.size());
  return text + "digest-of-all " + all.finish() + "\n";
}

} // namespace weft::rt
