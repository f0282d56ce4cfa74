// SPDX-License-Identifier: Apache-2.0

// Between files and a session: arguments are checked against a file and set
// from it, results are written to one, or told by their digests.

#ifndef WEFT_RT_TOOL_TENSORS_H
#define WEFT_RT_TOOL_TENSORS_H

#include "core/safetensors.h"
#include "weft-rt/session.h"

namespace weft::rt {

/// Checks that the file has just the program's arguments, with their types and
/// global shapes. Returns every problem, one a line; "" if there is none.
std::string checkInputs(const weft_rt_program &program,
                        const SafetensorsReader &file, const std::string &path);

/// Sets all arguments. The file must have passed checkInputs.
weft_rt_status setArguments(weft_rt_session *session,
                            const SafetensorsReader &file);

/// Writes the header for all results; returns the order of their bytes.
Result<std::vector<TensorEntry>> beginOutputs(const weft_rt_program &program,
                                              OutputFile &file);

/// The same order, without a file.
Result<std::vector<TensorEntry>> outputOrder(const weft_rt_program &program,
                                             const std::string &path);

/// Writes all results in the order that beginOutputs gave, and commits. Without
/// a file, in a job: gives this process' parts to who writes them.
Status writeResults(weft_rt_session *session,
                    const std::vector<TensorEntry> &order, OutputFile *file);

/// The SHA-256 of each result's bytes, as writeResults writes them, one a line,
/// by name: "digest loss 3f...". The last line, "digest-of-all 6b...", has that
/// of the lines before it. `isFirst`: else, in a job, this process gives its
/// parts, and nothing is told.
Result<std::string> resultDigests(weft_rt_session *session, bool isFirst);

} // namespace weft::rt

#endif // WEFT_RT_TOOL_TENSORS_H
