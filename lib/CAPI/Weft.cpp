// SPDX-License-Identifier: Apache-2.0

// The C functions: strings in, strings out, diagnostics through a callback. The
// work is done by a process of its own.

#include "weft-c/Weft.h"

#include "Worker.h"

#include "weft/Support/Version.h"

#include <cstdlib>
#include <cstring>

using namespace mlir::weft;

namespace {

Request makeRequest(const char *input, size_t size, const char *name,
                    const char *const *arguments, size_t numArguments,
                    bool toText) {
  Request request{std::string(input, size), name, {}, toText};
  request.arguments.assign(arguments, arguments + numArguments);
  return request;
}

void deliver(const Outcome &outcome, weft_report report, void *user) {
  if (!report)
    return;
  for (const Report &one : outcome.reports)
    report(user, one.severity, one.file.empty() ? nullptr : one.file.c_str(),
           one.line, one.column, one.message.c_str());
}

} // namespace

const char *weft_version(void) { return getVersion().data(); }

weft_status weft_compile(const char *input, size_t size, const char *name,
                         const char *const *arguments, size_t num_arguments,
                         weft_report report, weft_poll poll, void *user) {
  Outcome outcome = compileInWorker(
      makeRequest(input, size, name, arguments, num_arguments, false), poll,
      user);
  deliver(outcome, report, user);
  return outcome.status;
}

weft_status weft_compile_to_text(const char *input, size_t size,
                                 const char *name, const char *const *arguments,
                                 size_t num_arguments, weft_report report,
                                 weft_poll poll, void *user, char **text,
                                 size_t *text_size) {
  *text = nullptr;
  *text_size = 0;
  Outcome outcome = compileInWorker(
      makeRequest(input, size, name, arguments, num_arguments, true), poll,
      user);
  deliver(outcome, report, user);
  if (outcome.status != WEFT_OK)
    return outcome.status;
  *text = static_cast<char *>(std::malloc(outcome.text.size() + 1));
  if (!*text) {
    Outcome full;
    full.reports.push_back({WEFT_SEVERITY_ERROR, name, 1, 1,
                            "no memory for a text of " +
                                std::to_string(outcome.text.size()) +
                                " bytes"});
    deliver(full, report, user);
    return WEFT_ERROR;
  }
  std::memcpy(*text, outcome.text.c_str(), outcome.text.size() + 1);
  *text_size = outcome.text.size();
  return WEFT_OK;
}

void weft_free(void *pointer) { std::free(pointer); }
