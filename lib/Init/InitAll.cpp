// SPDX-License-Identifier: Apache-2.0

// The one file that includes upstream's InitAll headers.

#include "weft/InitAll.h"

#include "weft/Accumulation/Passes.h"
#include "weft/Attention/Passes.h"
#include "weft/Canonicalize/Passes.h"
#include "weft/Codegen/Fusion/Passes.h"
#include "weft/Codegen/Kernels/Passes.h"
#include "weft/Codegen/Planning/Passes.h"
#include "weft/Codegen/Program/Passes.h"
#include "weft/Communication/Passes.h"
#include "weft/Cost/ExternalModels.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"
#include "weft/Orders/Passes.h"
#include "weft/Partition/ExternalModels.h"
#include "weft/Partition/Passes.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Propagation/Passes.h"
#include "weft/Quantize/Passes.h"
#include "weft/Rules/ExternalModels.h"
#include "weft/Schedule/Passes.h"
#include "weft/Target/CUDA/CUDA.h"
#include "weft/Target/CUDA/Passes.h"
#include "weft/Target/Host/Host.h"
#include "weft/Target/Host/Pipelines.h"
#include "weft/Target/Null/Null.h"
#include "weft/Verify/Elements/Passes.h"
#include "weft/Verify/Plan/Passes.h"
#include "weft/Verify/Sums/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

void mlir::weft::registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<WeftDialect, rt::WeftRTDialect>();
  registerShardingRuleExternalModels(registry);
  registerPartitionExternalModels(registry);
  registerCostExternalModels(registry);
}

void mlir::weft::registerAllTargets() {
  registerCUDATarget();
  registerHostTarget();
  registerNullTarget();
}

void mlir::weft::registerAll(DialectRegistry &registry) {
  weft::registerAllDialects(registry);
  registerAllTargets();
  mlir::registerAllPasses();
  registerCanonicalizePasses();
  registerAttentionPasses();
  registerQuantizePasses();
  registerPropagationPasses();
  registerOrdersPasses();
  registerPartitionPasses();
  registerAccumulationPasses();
  registerCommunicationPasses();
  registerFusionPasses();
  registerWeftSchedulePasses();
  registerPlanningPasses();
  registerProgramPasses();
  registerKernelsPasses();
  registerCUDATargetPasses();
  registerVerifyElementsPasses();
  registerVerifySumsPasses();
  registerVerifyPlanPasses();
  registerWeftPipelines();
  registerCUDAPipelines();
  registerHostPipelines();
  registerVerifyPipelines();
}
