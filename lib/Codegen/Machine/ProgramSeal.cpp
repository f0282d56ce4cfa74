// SPDX-License-Identifier: Apache-2.0

// Machine code says in the program's table for which processor it is, and the
// table gets its checksum: both are known only here, where code is made.
//
// Bytes for the checksum are spelled as weft-rt/abi.h says; the runtime spells
// them from the table in memory, this file from LLVM's constants.

#include "CompileParts.h"

#include "weft-rt/abi.h"

#include "llvm/IR/Constants.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// What the code generator makes use of, beyond every x86-64 processor.
constexpr StringLiteral kFeatures[] = {
    "aes",          "avx",          "avx2",       "avx512bf16",
    "avx512bitalg", "avx512bw",     "avx512cd",   "avx512dq",
    "avx512f",      "avx512fp16",   "avx512ifma", "avx512vbmi",
    "avx512vbmi2",  "avx512vl",     "avx512vnni", "avx512vpopcntdq",
    "avxifma",      "avxneconvert", "avxvnni",    "avxvnniint16",
    "avxvnniint8",  "bmi",          "bmi2",       "cx16",
    "egpr",         "f16c",         "fma",        "fma4",
    "gfni",         "lzcnt",        "movbe",      "pclmul",
    "popcnt",       "sahf",         "sha",        "sse3",
    "sse4.1",       "sse4.2",       "sse4a",      "ssse3",
    "tbm",          "vaes",         "vpclmulqdq", "xop"};

/// The last fields of the table.
enum LastField { kEntry = 1, kChecksum, kFeatureList, kCpu };
static_assert(offsetof(weft_rt_program, entry) + sizeof(weft_rt_entry) ==
                      sizeof(weft_rt_program) &&
                  offsetof(weft_rt_program, checksum) + 32 ==
                      offsetof(weft_rt_program, entry) &&
                  offsetof(weft_rt_program, features) + sizeof(char *) ==
                      offsetof(weft_rt_program, checksum) &&
                  offsetof(weft_rt_program, cpu) + sizeof(char *) ==
                      offsetof(weft_rt_program, features),
              "the fields that are filled in here have moved");

std::string getFeatures(const llvm::TargetMachine &machine) {
  std::string list;
  if (machine.getTargetTriple().isX86())
    for (StringRef name : kFeatures)
      if (machine.getMCSubtargetInfo()->checkFeatures(("+" + name).str()))
        list += (list.empty() ? "" : ",") + name.str();
  return list;
}

/// Of a list; a long one is a struct of rows and a rest.
uint64_t countElements(llvm::Type *list) {
  if (auto *both = llvm::dyn_cast<llvm::StructType>(list)) {
    uint64_t count = 0;
    for (llvm::Type *part : both->elements())
      count += countElements(part);
    return count;
  }
  uint64_t count = list->getArrayNumElements();
  llvm::Type *element = list->getArrayElementType();
  return element->isArrayTy() ? count * countElements(element) : count;
}

/// Spells constants as bytes; false where an address leads to no constant.
class Speller {
public:
  explicit Speller(const llvm::DataLayout &layout) : layout(layout) {}

  bool add(const llvm::Constant *value) {
    if (auto *number = llvm::dyn_cast<llvm::ConstantInt>(value)) {
      addNumber(number->getZExtValue(), number->getBitWidth() / 8);
      return true;
    }
    if (value->getType()->isPointerTy())
      return addPointer(value->stripPointerCasts());
    return addParts(value);
  }

  StringRef getBytes() const { return bytes; }

private:
  void addNumber(uint64_t value, unsigned numBytes) {
    for (unsigned i = 0; i < numBytes; ++i)
      bytes += static_cast<char>(
          value >> 8 * (layout.isLittleEndian() ? i : numBytes - 1 - i));
  }

  bool addParts(const llvm::Constant *value) {
    llvm::Type *type = value->getType();
    uint64_t count = type->isArrayTy() ? type->getArrayNumElements()
                                       : type->getStructNumElements();
    for (uint64_t i = 0; i < count; ++i) {
      const llvm::Constant *part = value->getAggregateElement(i);
      if (!part || !add(part))
        return false;
    }
    return true;
  }

  bool addPointer(const llvm::Constant *target) {
    if (llvm::isa<llvm::ConstantPointerNull>(target)) {
      bytes += '\0';
      return true;
    }
    if (llvm::isa<llvm::Function>(target)) {
      bytes += '\2';
      return true;
    }
    auto *global = llvm::dyn_cast<llvm::GlobalVariable>(target);
    if (!global || !global->hasInitializer() ||
        !(global->getValueType()->isArrayTy() ||
          global->getValueType()->isStructTy()))
      return false;
    bytes += '\1';
    const llvm::Constant *list = global->getInitializer();
    addNumber(countElements(global->getValueType()), 8);
    auto *text = llvm::dyn_cast<llvm::ConstantDataArray>(list);
    if (!text || !text->isString())
      return addParts(list);
    bytes += text->getAsString();
    return true;
  }

  const llvm::DataLayout &layout;
  std::string bytes;
};

llvm::Constant *makeString(llvm::Module &module, StringRef text) {
  auto *value = llvm::ConstantDataArray::getString(module.getContext(), text);
  auto *global = new llvm::GlobalVariable(
      module, value->getType(), /*isConstant=*/true,
      llvm::GlobalValue::PrivateLinkage, value, "weft_cpu");
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global;
}

} // namespace

LogicalResult mlir::weft::sealProgram(ModuleOp source, llvm::Module &module,
                                      const llvm::TargetMachine &machine) {
  llvm::GlobalVariable *table = module.getNamedGlobal("weft_program");
  if (!table || !table->hasInitializer())
    return success();
  auto *type = llvm::dyn_cast<llvm::StructType>(table->getValueType());
  unsigned count = type ? type->getNumElements() : 0;
  std::vector<llvm::Constant *> fields;
  for (unsigned i = 0; i < count; ++i)
    fields.push_back(table->getInitializer()->getAggregateElement(i));
  auto isPlace = [&](LastField field, llvm::Type *expected) {
    return count >= field && type->getElementType(count - field) == expected;
  };
  llvm::Type *pointer = llvm::PointerType::get(module.getContext(), 0);
  auto *hashType =
      llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 32);
  if (!isPlace(kEntry, pointer) || !isPlace(kChecksum, hashType) ||
      !isPlace(kFeatureList, pointer) || !isPlace(kCpu, pointer))
    return source.emitError("has a weft_program that is no table of a program");
  fields[count - kCpu] = makeString(module, machine.getTargetCPU());
  fields[count - kFeatureList] = makeString(module, getFeatures(machine));
  fields[count - kChecksum] = llvm::Constant::getNullValue(hashType);
  Speller speller(module.getDataLayout());
  if (!speller.add(llvm::ConstantStruct::get(type, fields)))
    return source.emitError("has a weft_program with an address that leads to "
                            "no constant");
  auto hash =
      llvm::SHA256::hash(llvm::arrayRefFromStringRef(speller.getBytes()));
  fields[count - kChecksum] = llvm::ConstantDataArray::get(
      module.getContext(), ArrayRef<uint8_t>(hash));
  table->setInitializer(llvm::ConstantStruct::get(type, fields));
  return success();
}
