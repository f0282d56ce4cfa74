/* SPDX-License-Identifier: Apache-2.0 */

/* The compiler as a C library, libweft. C11, no other header of weft needed.
 *
 * Options are those of weft-compile's command line, as strings, of which
 * weft_get_option makes a list:
 *
 *   const char *arguments[] = {"-o", "step.so", "--mesh", "dp=2,tp=4"};
 *   weft_compile(text, strlen(text), "step.mlir", arguments, 4, report, NULL,
 *                NULL);
 *
 * Functions may be called from several threads at once. Nothing is kept
 * between calls. Text that a function returns is freed with weft_free.
 *
 * Each compilation runs in a process of its own, the program weft-worker that
 * lies beside the library: a module that makes the compiler run out of stack or
 * memory, or hits a defect of it, is an error, and takes nothing along. */

#ifndef WEFT_C_WEFT_H
#define WEFT_C_WEFT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

/* Values are the exit codes of weft-compile, as far as it has them. */
typedef enum weft_status {
  WEFT_OK = 0,
  /* An error in the input, or with a file: diagnostics say which. */
  WEFT_ERROR = 1,
  /* Wrong options: one diagnostic without a place says how. */
  WEFT_USAGE = 2,
  /* The caller's weft_poll ended the compilation: nothing was written. */
  WEFT_INTERRUPTED = 4
} weft_status;

typedef enum weft_severity {
  WEFT_SEVERITY_ERROR = 0,
  WEFT_SEVERITY_WARNING = 1,
  WEFT_SEVERITY_REMARK = 2,
  /* Belongs to the diagnostic before it. */
  WEFT_SEVERITY_NOTE = 3
} weft_severity;

/* Gets one diagnostic. `file` is NULL, and line and column are 0, if it has no
 * place in a file. The strings live until the function returns. It is called
 * on the thread that called weft_compile, when that is done. */
typedef void (*weft_report)(void *user, weft_severity severity,
                            const char *file, int line, int column,
                            const char *message);

/* Asked some 20 times a second, on the thread that called, while a compilation
 * runs; not 0 ends it. */
typedef int (*weft_poll)(void *user);

/* How the value of an option is written. */
typedef enum weft_option_kind {
  /* None: the flag alone is the opposite of the default, "on" or "off". */
  WEFT_OPTION_FLAG = 0,
  WEFT_OPTION_NUMBER = 1,
  /* As in "8GiB", or "none". */
  WEFT_OPTION_BYTES = 2,
  /* One of the choices. */
  WEFT_OPTION_CHOICE = 3,
  WEFT_OPTION_TEXT = 4,
  WEFT_OPTION_FILE = 5,
  /* With commas. */
  WEFT_OPTION_NAMES = 6,
  /* Names and values, as in "dp=2,tp=4". */
  WEFT_OPTION_PAIRS = 7,
  /* With commas; those of several such options add up. */
  WEFT_OPTION_WORDS = 8
} weft_option_kind;

/* An option of weft-compile. Strings live as long as the library; one that says
 * nothing is empty. */
typedef struct weft_option {
  /* The word of the command line, and the name where options have names:
   * "--memory-limit" and "memory_limit". */
  const char *flag, *name;
  weft_option_kind kind;
  /* What the help calls the value; in brackets if it may be left out. */
  const char *value;
  const char *default_value;
  /* With commas. */
  const char *choices;
  const char *group, *help;
} weft_option;

/* Returns the option at `index`, or NULL after the last one. */
WEFT_API const weft_option *weft_get_option(size_t index);

/* Returns weft's version, as in "0.1.0". Not to be freed. */
WEFT_API const char *weft_version(void);

/* Compiles `size` bytes of MLIR text or bytecode at `input`. `name` is what
 * diagnostics call it. The arguments have to name an output ("-o"); "-o -" is
 * refused: use weft_compile_to_text. `report` and `poll` may be NULL. */
WEFT_API weft_status weft_compile(const char *input, size_t size,
                                  const char *name,
                                  const char *const *arguments,
                                  size_t num_arguments, weft_report report,
                                  weft_poll poll, void *user);

/* As weft_compile, but returns the text of the phase that "--to" names in
 * `*text`, with `*text_size` bytes and a zero after them. Sets both to zero on
 * failure. The arguments must not name an output. */
WEFT_API weft_status weft_compile_to_text(
    const char *input, size_t size, const char *name,
    const char *const *arguments, size_t num_arguments, weft_report report,
    weft_poll poll, void *user, char **text, size_t *text_size);

/* What weft-worker does. Returns its exit code. */
WEFT_API int weft_worker_main(void);

/* Frees what a function above returned; NULL is fine. */
WEFT_API void weft_free(void *pointer);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_C_WEFT_H */
