// SPDX-License-Identifier: Apache-2.0

// ptxas, as a process of its own: machine code for the architecture that the
// program names, beside the PTX that any later one takes.

#include "Architectures.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Support/OutputPath.h"
#include "weft/Support/RunProgram.h"
#include "weft/Support/TemporaryFile.h"
#include "weft/Target/CUDA/Passes.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Remarks.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

namespace mlir::weft {
#define GEN_PASS_DEF_ASSEMBLEPTXPASS
#include "weft/Target/CUDA/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

constexpr StringLiteral kCubin = "weft_cubin";

/// How long ptxas may take: a step of a large model takes seconds.
constexpr unsigned kMaxSeconds = 600;

/// What came of a run of ptxas: machine code, or why there is none.
struct Assembled {
  std::string cubin, problem;
};

Assembled fail(const Twine &what) { return {"", what.str()}; }

std::string readFile(StringRef path) {
  auto contents = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
  return contents ? (*contents)->getBuffer().str() : std::string();
}

/// The program on the path that the shell has, or where CUDA's packages put it.
llvm::ErrorOr<std::string> findAssembler() {
  auto found = llvm::sys::findProgramByName("ptxas");
  return found ? found
               : llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"});
}

/// Says whether these are bytes of an ELF file whose machine is CUDA's.
bool isCubin(StringRef bytes) {
  constexpr size_t kMachine = 18, kHeader = 64;
  return bytes.size() >= kHeader && bytes.starts_with(llvm::ELF::ElfMagic) &&
         llvm::support::endian::read16le(bytes.data() + kMachine) ==
             llvm::ELF::EM_CUDA;
}

Assembled runAssembler(StringRef program, StringRef architecture,
                       StringRef ptx) {
  auto failWithoutFile = [](std::error_code error) {
    return fail("cannot make a temporary file: " + error.message());
  };
  TemporaryFile text, code;
  if (std::error_code error = text.createInSystemFolder("ptx"))
    return failWithoutFile(error);
  if (std::error_code error = code.createInSystemFolder("cubin"))
    return failWithoutFile(error);
  std::string problem = writeOutputFile(
      text.getPath(), [&](llvm::raw_ostream &os) { os << ptx; });
  if (!problem.empty())
    return fail(problem);
  llvm::ErrorOr<ProgramResult> result = runProgram(
      program,
      {("-arch=" + architecture).str(), "-o", code.getPath(), text.getPath()},
      kMaxSeconds);
  if (!result)
    return failWithoutFile(result.getError());
  if (result->exitCode != 0)
    return fail("'" + program + "' failed for " + architecture +
                " with exit code " + Twine(result->exitCode) + ": " +
                result->said);
  std::string cubin = readFile(code.getPath());
  if (isCubin(cubin))
    return {cubin, ""};
  return fail("'" + program + "' wrote no machine code of GPUs for " +
              architecture);
}

Assembled assemble(StringRef architecture, StringRef ptx) {
  llvm::ErrorOr<std::string> program = findAssembler();
  if (!program)
    return fail("found no program 'ptxas' (" + program.getError().message() +
                ")");
  return runAssembler(*program, architecture, ptx);
}

struct AssemblePTXPass
    : public weft::impl::AssemblePTXPassBase<AssemblePTXPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void addImage(LLVM::GlobalOp ptx, StringRef cubin);
};

/// Adds the image, as the first form of each kernel that is in the PTX.
void AssemblePTXPass::addImage(LLVM::GlobalOp ptx, StringRef cubin) {
  OpBuilder builder(ptx);
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), cubin.size());
  LLVM::GlobalOp::create(builder, ptx.getLoc(), type, /*isConstant=*/true,
                         LLVM::Linkage::Internal, kCubin,
                         builder.getStringAttr(cubin));
  auto text = FlatSymbolRefAttr::get(ptx.getSymNameAttr());
  auto forms = builder.getArrayAttr(
      {FlatSymbolRefAttr::get(&getContext(), kCubin), text});
  for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>())
    if (kernel->getAttr(rt::WeftRTDialect::kImageAttr) == text)
      kernel->setAttr(rt::WeftRTDialect::kImageAttr, forms);
}

void AssemblePTXPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto ptx = module.lookupSymbol<LLVM::GlobalOp>(kPTXImage);
  auto bytes =
      ptx ? dyn_cast_or_null<StringAttr>(ptx.getValueOrNull()) : StringAttr();
  if (!bytes || module.lookupSymbol(kCubin))
    return;
  if (!lookupTarget(module))
    return signalPassFailure();
  StringAttr wanted = getTargetOption(module, kCubinOption);
  if (wanted && wanted == kCubinNever)
    return;
  // The zero that ends the text is not the assembler's.
  Assembled assembled =
      assemble(getArchitecture(module), bytes.getValue().rtrim('\0'));
  if (assembled.problem.empty())
    return addImage(ptx, assembled.cubin);
  if (wanted && wanted == kCubinAlways) {
    module.emitError("cannot make machine code of kernels: ")
        << assembled.problem;
    return signalPassFailure();
  }
  remark::missed(module.getLoc(), remark::RemarkOpts::name("ptxOnly").category(
                                      "weft-assemble-ptx"))
      << remark::add("kernels are PTX alone, which the driver compiles when "
                     "they are loaded: {0}",
                     assembled.problem);
}

} // namespace
