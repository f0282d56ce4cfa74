// SPDX-License-Identifier: Apache-2.0

// weft-compile --diff-order: explains why two programs need not give the same
// bits, by their certificates. Nothing of them is run: the certificate is text
// in a section of its own. A module may have been edited since it was proved:
// it is proved again.

#include "DiffOrder.h"

#include "weft/Codegen/Program/Passes.h"
#include "weft/Compile/Compile.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Support/OutputPath.h"
#include "weft/Support/Printable.h"
#include "weft/Verify/Sums/Passes.h"

#include "weft-rt/abi.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// One reduction or result: what it is called, how it is done, its form, and
/// the argument that a result is in the next step.
struct Line {
  std::string name, order, form, updated;
};

struct Certificate {
  std::vector<std::string> arguments;
  std::vector<Line> results, reductions;
};

} // namespace

static std::string getText(const llvm::json::Object &object, StringRef key) {
  return object.getString(key).value_or("").str();
}

static std::optional<Certificate> parseCertificate(StringRef text) {
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json) {
    llvm::consumeError(json.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *root = json->getAsObject();
  const llvm::json::Array *results = root ? root->getArray("results") : nullptr;
  const llvm::json::Array *ops = root ? root->getArray("ops") : nullptr;
  if (!results || !ops || root->getInteger("version") != 1)
    return std::nullopt;
  Certificate certificate;
  if (const llvm::json::Array *arguments = root->getArray("arguments"))
    for (const llvm::json::Value &value : *arguments)
      certificate.arguments.push_back(value.getAsString().value_or("").str());
  for (const llvm::json::Value &value : *results)
    if (const llvm::json::Object *result = value.getAsObject())
      certificate.results.push_back({getText(*result, "name"), "",
                                     getText(*result, "form"),
                                     getText(*result, "updates")});
  for (const llvm::json::Value &value : *ops)
    if (const llvm::json::Object *op = value.getAsObject()) {
      std::string name = getText(*op, "kind"), place = getText(*op, "location");
      if (!place.empty())
        name += " at " + place;
      certificate.reductions.push_back(
          {name, getText(*op, "order"), getText(*op, "form"), ""});
    }
  return certificate;
}

/// What is proved of the text of a local module; empty if nothing is.
static std::string proveText(const llvm::MemoryBuffer &file) {
  MLIRContext context;
  prepareContext(context);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(file.getBuffer(), ParserConfig(&context));
  if (!module)
    return "";
  (*module)->removeAttr(WeftDialect::kCertificateAttr);
  PassManager pm(&context);
  pm.addPass(createVerifyInvariancePass());
  if (failed(pm.run(*module)))
    return "";
  auto text =
      (*module)->getAttrOfType<StringAttr>(WeftDialect::kCertificateAttr);
  return text ? text.str() : "";
}

/// Whether a file that was linked has the bytes that it had then. One that was
/// linked by hand, or stripped, does not say.
static bool hasItsChecksum(StringRef bytes) {
  if (!bytes.consume_back(WEFT_RT_FILE_MARK) || bytes.size() < 32)
    return true;
  StringRef declared = bytes.take_back(32);
  std::array<uint8_t, 32> found =
      llvm::SHA256::hash(llvm::arrayRefFromStringRef(bytes.drop_back(32)));
  return declared == llvm::toStringRef(found);
}

/// The certificate in a section of machine code, or of the text of a module;
/// empty if there is none.
static std::string findCertificate(const llvm::MemoryBuffer &file) {
  llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> object =
      llvm::object::ObjectFile::createObjectFile(file.getMemBufferRef());
  if (object) {
    for (const llvm::object::SectionRef &section : (*object)->sections()) {
      llvm::Expected<StringRef> name = section.getName();
      llvm::Expected<StringRef> contents = section.getContents();
      if (name && contents && *name == kCertificateSection)
        return contents->take_until([](char c) { return c == 0; }).str();
      llvm::consumeError(name.takeError());
      llvm::consumeError(contents.takeError());
    }
    return "";
  }
  llvm::consumeError(object.takeError());
  return proveText(file);
}

/// Reads a file's certificate, or says what is in the way.
static std::optional<Certificate> readCertificate(StringRef path) {
  PrintableStream said(llvm::errs());
  std::string problem = checkInputPath(path);
  if (!problem.empty()) {
    said << "weft-compile: " << problem << "\n";
    return std::nullopt;
  }
  auto file = llvm::MemoryBuffer::getFile(path);
  if (std::error_code error = file.getError()) {
    said << "weft-compile: cannot read '" << path << "': " << error.message()
         << "\n";
    return std::nullopt;
  }
  if (!hasItsChecksum((*file)->getBuffer())) {
    said << "weft-compile: '" << path
         << "' is damaged: it has another checksum than it says\n";
    return std::nullopt;
  }
  std::string text = findCertificate(**file);
  std::optional<Certificate> certificate;
  if (text.empty())
    said << "weft-compile: '" << path
         << "' has no certificate: it was not compiled with "
            "--invariant, or not proved\n";
  else if (!(certificate = parseCertificate(text)))
    said << "weft-compile: '" << path
         << "' has a certificate that cannot be read\n";
  return certificate;
}

static bool isSame(const Line &a, const Line &b) {
  return a.form == b.form && a.order == b.order;
}

/// Prints the first reduction that differs; false if there is none.
static bool printReduction(ArrayRef<Line> a, ArrayRef<Line> b, StringRef pathA,
                           StringRef pathB, raw_ostream &os) {
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size() || i >= b.size()) {
      const Line &more = i < a.size() ? a[i] : b[i];
      os << "differ: only " << (i < a.size() ? pathA : pathB)
         << " has reduction " << i << ", " << more.name << ": " << more.order
         << "\n";
      return true;
    }
    if (isSame(a[i], b[i]))
      continue;
    os << "differ: reduction " << i << ", " << a[i].name;
    if (a[i].name != b[i].name)
      os << " or " << b[i].name;
    if (a[i].order != b[i].order)
      os << ": " << a[i].order << " in " << pathA << ", " << b[i].order
         << " in " << pathB << "\n";
    else
      os << ": " << a[i].order
         << " in both, but of values that are computed differently\n";
    return true;
  }
  return false;
}

/// Prints how arguments or results are bound differently; false if they are
/// not.
static bool printInterface(const Certificate &a, const Certificate &b,
                           StringRef pathA, StringRef pathB, raw_ostream &os) {
  auto print = [&](const Twine &what, const Twine &valueA,
                   const Twine &valueB) {
    os << "differ: " << what << " " << valueA << " in " << pathA << ", "
       << valueB << " in " << pathB << "\n";
    return true;
  };
  auto quote = [](StringRef name) { return ("'" + name + "'").str(); };
  auto updates = [](StringRef name) {
    return name.empty() ? "updates no argument"
                        : "updates '" + name.str() + "'";
  };
  if (a.arguments.size() != b.arguments.size())
    return print("number of arguments:", Twine(a.arguments.size()),
                 Twine(b.arguments.size()));
  if (a.results.size() != b.results.size())
    return print("number of results:", Twine(a.results.size()),
                 Twine(b.results.size()));
  for (size_t i = 0; i < a.arguments.size(); ++i)
    if (a.arguments[i] != b.arguments[i])
      return print("argument " + Twine(i) + " is", quote(a.arguments[i]),
                   quote(b.arguments[i]));
  for (size_t i = 0; i < a.results.size(); ++i)
    if (a.results[i].name != b.results[i].name)
      return print("result " + Twine(i) + " is", quote(a.results[i].name),
                   quote(b.results[i].name));
  for (size_t i = 0; i < a.results.size(); ++i)
    if (a.results[i].updated != b.results[i].updated)
      return print("result " + quote(a.results[i].name),
                   updates(a.results[i].updated),
                   updates(b.results[i].updated));
  return false;
}

int mlir::weft::diffOrder(StringRef pathA, StringRef pathB) {
  PrintableStream os(llvm::outs());
  std::optional<Certificate> a = readCertificate(pathA);
  std::optional<Certificate> b = readCertificate(pathB);
  if (!a || !b)
    return 2;
  if (printInterface(*a, *b, pathA, pathB, os))
    return 1;
  for (auto [resultA, resultB] : llvm::zip(a->results, b->results)) {
    if (isSame(resultA, resultB))
      continue;
    if (!printReduction(a->reductions, b->reductions, pathA, pathB, os))
      os << "differ: result '" << resultA.name
         << "' is computed differently, from equal sums\n";
    return 1;
  }
  os << "equal\n";
  return 0;
}
