/* SPDX-License-Identifier: Apache-2.0 */

/* The C API, from C: text, wrong options, errors with their place; then a file
 * for each argument. */

#include "weft-c/Weft.h"

#include <stdio.h>
#include <string.h>

static const char *good = "weft.mesh @mesh = <[\"dp\"=1]>\n"
                          "func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
                          "  %0 = math.exp %x : tensor<8xf32>\n"
                          "  return %0 : tensor<8xf32>\n"
                          "}\n";
static const char *bad = "func.func @f(%x: tensor<?xf32>) {\n"
                         "  return\n"
                         "}\n";

static void report(void *user, weft_severity severity, const char *file,
                   int line, int column, const char *message) {
  ++*(int *)user;
  printf("%s:%d:%d: severity %d: %s\n", file ? file : "-", line, column,
         (int)severity, message);
}

static void to_text(const char *what, const char *input,
                    const char *const *arguments, size_t num_arguments) {
  int reports = 0;
  char *text;
  size_t size;
  weft_status status =
      weft_compile_to_text(input, strlen(input), "f.mlir", arguments,
                           num_arguments, report, NULL, &reports, &text, &size);
  printf("%s: status %d, %d reports, %s\n", what, (int)status, reports,
         text ? (strlen(text) == size ? "text" : "wrong size") : "no text");
  weft_free(text);
}

/* The list ends, and says of each option what a caller needs. */
static void list_options(void) {
  size_t count = 0;
  for (const weft_option *o; (o = weft_get_option(count)); ++count)
    if (strcmp(o->name, "partials") == 0)
      printf("%s: kind %d, value %s, default %s, choices %s, group '%s', %s\n",
             o->flag, (int)o->kind, o->value, o->default_value, o->choices,
             o->group, o->help);
  printf("%s options, and then %s\n", count > 20 ? "many" : "few",
         weft_get_option(count) || weft_get_option((size_t)-1) ? "more"
                                                               : "none");
}

int main(int argc, char **argv) {
  const char *global[] = {"--to", "global"};
  const char *unknown[] = {"--unknown"};
  const char *named[] = {"-o", "x.mlir"};
  const char *standard[] = {"-o", "-"};
  int reports = 0;

  printf("version %s\n", weft_version());
  list_options();
  to_text("good", good, NULL, 0);
  to_text("global", good, global, 2);
  to_text("bad", bad, NULL, 0);
  to_text("unknown", good, unknown, 1);
  to_text("named", good, named, 2);
  printf("standard: status %d\n",
         (int)weft_compile(good, strlen(good), "f.mlir", standard, 2, report,
                           NULL, &reports));
  for (int i = 1; i < argc; ++i) {
    const char *output[] = {"-o", argv[i]};
    printf("file: status %d\n",
           (int)weft_compile(good, strlen(good), "f.mlir", output, 2, report,
                             NULL, &reports));
  }
  return 0;
}
