// SPDX-License-Identifier: Apache-2.0

// The certificate says nothing about meshes, schedules or processors, so that
// two artifacts that must agree have the same one.

#include "Certificate.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// Where in a source a reduction stands, without folders; empty if unknown.
static std::string getPlace(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  return (llvm::sys::path::filename(file.getFilename().getValue()) + ":" +
          Twine(file.getLine()))
      .str();
}

/// Arguments are bound by name.
static std::string getArgumentName(func::FuncOp func, unsigned index) {
  if (auto name =
          func.getArgAttrOfType<StringAttr>(index, WeftDialect::kNameAttr))
    return name.str();
  return ("argument" + Twine(index)).str();
}

/// The argument that a result is in the next step; empty if it is none.
static std::string getUpdated(func::FuncOp func, unsigned index) {
  auto alias =
      func.getResultAttrOfType<IntegerAttr>(index, WeftDialect::kAliasAttr);
  return alias ? getArgumentName(func, alias.getInt()) : "";
}

static std::string getResultName(func::FuncOp func, unsigned index) {
  if (auto name =
          func.getResultAttrOfType<StringAttr>(index, WeftDialect::kNameAttr))
    return name.str();
  return ("result" + Twine(index)).str();
}

/// What the program gives, step after step: forms speak of arguments by number.
static std::string getDigest(const LocalLifter &program, func::FuncOp func) {
  llvm::SHA256 digest;
  auto add = [&](StringRef word) {
    digest.update(std::to_string(word.size()) + ":");
    digest.update(word);
  };
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    add(getArgumentName(func, i));
  for (auto [i, form] : llvm::enumerate(program.getResults())) {
    add(getResultName(func, i));
    add(getUpdated(func, i));
    digest.update(form->digest);
  }
  return llvm::toHex(digest.final(), /*LowerCase=*/true);
}

std::string mlir::weft::proof::writeCertificate(const LocalLifter &program,
                                                func::FuncOp func,
                                                InvarianceAttr invariance) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("version", 1);
    json.attributeArray("axes", [&] {
      for (StringRef axis : invariance.getAxes().getAsValueRange<StringAttr>())
        json.value(axis);
    });
    json.attribute("leaves", invariance.getLeaves());
    json.attribute("digest", getDigest(program, func));
    json.attributeArray("arguments", [&] {
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        json.value(getArgumentName(func, i));
    });
    json.attributeArray("results", [&] {
      for (auto [i, form] : llvm::enumerate(program.getResults()))
        json.object([&] {
          json.attribute("name", getResultName(func, i));
          if (std::string updated = getUpdated(func, i); !updated.empty())
            json.attribute("updates", updated);
          json.attribute("form", digestToHex(form->digest));
        });
    });
    json.attributeArray("ops", [&] {
      for (const LiftedReduction &reduction : program.getReductions())
        json.object([&] {
          json.attribute("kind", reduction.form->name);
          if (std::string place = getPlace(reduction.op->getLoc());
              !place.empty())
            json.attribute("location", place);
          json.attribute("order", reduction.form->order.str());
          json.attribute("form", digestToHex(reduction.form->digest));
        });
    });
  });
  return text;
}
