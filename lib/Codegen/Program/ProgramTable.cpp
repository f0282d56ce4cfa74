// SPDX-License-Identifier: Apache-2.0

// Records are filled in by the names of weft-rt/abi.def.

#include "ProgramTable.h"

#include "AbiRecords.h"
#include "weft/Codegen/Program/Passes.h"

#include "weft/Target/Target.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

int64_t getProduct(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

std::vector<Datum> getNumbers(ArrayRef<int64_t> values) {
  std::vector<Datum> result;
  for (int64_t value : values)
    result.push_back(Datum::i64(value));
  return result;
}

} // namespace

ProgramTable::ProgramTable(ModuleOp module, func::FuncOp planned)
    : module(module), planned(planned), data(module) {
  for (MeshOp op : module.getOps<MeshOp>())
    mesh = op.getMesh();
  for (ChannelOp op : module.getOps<ChannelOp>())
    addChannel(op);
}

FailureOr<int64_t> ProgramTable::getTypeCode(Operation *op, Type element) {
  if (element.isInteger(1))
    return WEFT_RT_I1;
  bool isUnsigned = element.isUnsignedInteger();
  if (element.isInteger(8))
    return isUnsigned ? WEFT_RT_U8 : WEFT_RT_I8;
  if (element.isInteger(16))
    return isUnsigned ? WEFT_RT_U16 : WEFT_RT_I16;
  if (element.isInteger(32))
    return isUnsigned ? WEFT_RT_U32 : WEFT_RT_I32;
  if (element.isInteger(64) || element.isIndex())
    return isUnsigned ? WEFT_RT_U64 : WEFT_RT_I64;
  if (element.isF16())
    return WEFT_RT_F16;
  if (element.isBF16())
    return WEFT_RT_BF16;
  if (element.isF32())
    return WEFT_RT_F32;
  if (element.isF64())
    return WEFT_RT_F64;
  if (isa<Float8E4M3FNType>(element))
    return WEFT_RT_F8E4M3FN;
  if (isa<Float8E5M2Type>(element))
    return WEFT_RT_F8E5M2;
  if (isa<Float8E8M0FNUType>(element))
    return WEFT_RT_F8E8M0FNU;
  return op->emitError("the runtime has no element type ") << element;
}

FailureOr<std::string> ProgramTable::addGemm(rt::GemmOp op) {
  auto maps = op.getIndexingMaps().getAsValueRange<AffineMapAttr>();
  SmallVector<AffineMap> mapList(maps.begin(), maps.end());
  std::array<MemRefType, 3> types = {cast<MemRefType>(op.getLhs().getType()),
                                     cast<MemRefType>(op.getRhs().getType()),
                                     cast<MemRefType>(op.getOut().getType())};
  unsigned numDims = mapList[0].getNumDims();
  // strides[i][d]: of dim d in tensor i, 0 where it does not index.
  SmallVector<int64_t> sizes(numDims, 1);
  SmallVector<std::array<int64_t, 3>> strides(numDims, {0, 0, 0});
  SmallVector<unsigned> uses(numDims, 0);
  for (unsigned i = 0; i < 3; ++i) {
    SmallVector<int64_t> typeStrides = rt::getBufferStrides(types[i]);
    for (auto [t, expr] : llvm::enumerate(mapList[i].getResults())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      sizes[dim] = types[i].getDimSize(t);
      strides[dim][i] = typeStrides[t];
      uses[dim] |= 1 << i;
    }
  }
  record::weft_rt_gemm gemm;
  for (unsigned dim = 0; dim < numDims; ++dim) {
    if (sizes[dim] == 1)
      continue;
    int role = uses[dim] == 7   ? WEFT_RT_GEMM_BATCH
               : uses[dim] == 5 ? WEFT_RT_GEMM_M
               : uses[dim] == 6 ? WEFT_RT_GEMM_N
                                : WEFT_RT_GEMM_K;
    record::weft_rt_gemm_dim entry;
    entry.role = role;
    entry.size = sizes[dim];
    entry.stride_a = strides[dim][0];
    entry.stride_b = strides[dim][1];
    entry.stride_c = strides[dim][2];
    gemm.dims.push_back(entry);
  }
  gemm.num_dims = gemm.dims.size();
  if (gemm.num_dims > WEFT_RT_GEMM_MAX_DIMS)
    return op.emitOpError("has ") << gemm.num_dims << " dims, at most "
                                  << WEFT_RT_GEMM_MAX_DIMS << " are possible";
  std::array<int64_t *, 3> codes = {&gemm.type_a, &gemm.type_b, &gemm.type_c};
  for (auto [type, place] : llvm::zip(types, codes)) {
    FailureOr<int64_t> code = getTypeCode(op, type.getElementType());
    if (failed(code))
      return failure();
    *place = *code;
  }
  gemm.tf32 = mayUseTF32(op);
  if (auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr)) {
    gemm.leaves = order.getLeaves();
    gemm.rounded = order.getRounded();
  }
  return data.add(toDatum(gemm));
}

std::string ProgramTable::addCopy(rt::CopyOp op) {
  // Dense buffers are one dim.
  record::weft_rt_copy_dim all;
  all.size = op.getSource().getType().getNumElements();
  all.stride_source = all.stride_target = 1;
  record::weft_rt_copy copy;
  copy.element_bytes =
      rt::getElementBytes(op.getSource().getType().getElementType());
  copy.num_dims = 1;
  copy.dims.push_back(all);
  return data.add(toDatum(copy));
}

FailureOr<std::string> ProgramTable::addLaunch(rt::LaunchOp op) {
  FailureOr<int> kernel = getKernel(op);
  if (failed(kernel))
    return failure();
  SmallVector<int64_t> config = op.getConfig().getNumbers();
  record::weft_rt_launch launch;
  launch.kernel = *kernel;
  launch.num_config = config.size();
  launch.config = data.list(getNumbers(config));
  return data.add(toDatum(launch));
}

FailureOr<int> ProgramTable::getKernel(rt::LaunchOp op) {
  StringRef name = op.getKernel();
  for (auto [index, kernel] : llvm::enumerate(kernels))
    if (kernel.name == name)
      return index;
  if (!module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return op.emitOpError("launches @") << name << ", which is no llvm.func";
  kernels.push_back({name.str(), static_cast<int64_t>(op.getBuffers().size()),
                     static_cast<int64_t>(op.getScalars().size())});
  return kernels.size() - 1;
}

Datum ProgramTable::getAxisRef(AxisRefAttr axis) {
  int64_t index = *mesh.getAxisIndex(axis.getName());
  int64_t pre = axis.isWholeAxis() ? 1 : axis.getPreSize();
  record::weft_rt_axis_ref ref;
  ref.axis = index;
  ref.pre = pre;
  ref.size = *getAxisRefSize(mesh, axis);
  return toDatum(ref);
}

Datum ProgramTable::getAxisRefs(ArrayRef<AxisRefAttr> axes) {
  std::vector<Datum> refs;
  for (AxisRefAttr axis : axes)
    refs.push_back(getAxisRef(axis));
  return data.list(std::move(refs));
}

void ProgramTable::addChannel(ChannelOp op) {
  ArrayRef<AxisRefAttr> axes = op.getAxes().getAxes();
  record::weft_rt_channel channel;
  channel.name = data.text(op.getSymName());
  channel.num_axes = axes.size();
  channel.axes = getAxisRefs(axes);
  channels.push_back({op.getSymName().str(), toDatum(channel)});
}

int ProgramTable::getChannel(FlatSymbolRefAttr channel) {
  return llvm::find_if(
             channels,
             [&](auto &entry) { return entry.first == channel.getValue(); }) -
         channels.begin();
}

FailureOr<Datum> ProgramTable::getOperand(rt::StartOp op, unsigned i,
                                          int64_t groupSize) {
  auto in = cast<MemRefType>(op.getIns()[i].getType());
  auto out = cast<MemRefType>(op.getOuts()[i].getType());
  FailureOr<int64_t> code = getTypeCode(op, in.getElementType());
  if (failed(code))
    return failure();
  rt::CollectiveAttr collective = op.getCollective();
  record::weft_rt_operand operand;
  operand.type = *code;
  // [outer][extent][inner] around one dim of a shape.
  auto split = [&](ArrayRef<int64_t> shape, int64_t dim, int64_t extent) {
    operand.outer = getProduct(shape.take_front(dim));
    operand.extent = extent;
    operand.inner = getProduct(shape.drop_front(dim + 1));
  };
  if (op.getKind() == CollectiveKind::AllGather) {
    int64_t dim = collective.getDims()[i];
    split(in.getShape(), dim, in.getDimSize(dim));
  } else if (op.getKind() == CollectiveKind::ReduceScatter) {
    int64_t dim = collective.getDims()[i];
    split(out.getShape(), dim, out.getDimSize(dim));
  } else if (op.getKind() == CollectiveKind::AllToAll) {
    int64_t from = collective.getSplitDims()[i];
    int64_t to = collective.getConcatDims()[i];
    split(out.getShape(), to, out.getDimSize(to) / groupSize);
    operand.outer2 = operand.outer;
    operand.extent2 = operand.extent;
    operand.inner2 = operand.inner;
    split(in.getShape(), from, in.getDimSize(from) / groupSize);
  } else {
    operand.outer = operand.inner = 1;
    operand.extent = in.getNumElements();
  }
  return toDatum(operand);
}

/// Bytes as a rank receives them; see weft_rt_traffic.
void ProgramTable::noteTraffic(rt::StartOp op, int kind, int channel,
                               int64_t groupSize) {
  Traffic &entry = traffic[{kind, channel}];
  for (auto [in, out] : llvm::zip(op.getIns(), op.getOuts())) {
    auto getBytes = [](Value value) -> int64_t {
      return rt::getBufferBytes(cast<MemRefType>(value.getType()));
    };
    int64_t full = std::max(getBytes(in), getBytes(out));
    int64_t received = full / groupSize * (groupSize - 1);
    if (kind == WEFT_RT_ALL_REDUCE)
      received = 2 * full * (groupSize - 1) / groupSize;
    if (kind == WEFT_RT_PERMUTE)
      received = full;
    entry.bytes += received;
    ++entry.count;
  }
}

int ProgramTable::addOp(Operation *op, StringRef kind, StringRef fallback) {
  if (auto name = op->getAttrOfType<StringAttr>(WeftDialect::kOpNameAttr))
    ops.push_back(name.str());
  else if (!fallback.empty())
    ops.push_back(fallback.str());
  else
    ops.push_back((kind + " #" + Twine(unnamed[kind.str()]++)).str());
  return ops.size() - 1;
}

FailureOr<std::string> ProgramTable::addCollective(rt::StartOp op,
                                                   StringRef name) {
  rt::CollectiveAttr collective = op.getCollective();
  auto kind = static_cast<int>(op.getKind());
  int channel = getChannel(op.getChannelAttr());
  int64_t groupSize = getNumShards(mesh, collective.getAxes().getAxes());
  std::vector<Datum> operands;
  for (unsigned i = 0; i < op.getIns().size(); ++i) {
    FailureOr<Datum> operand = getOperand(op, i, groupSize);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  record::weft_rt_collective record;
  if (ReduceKindAttr attr = collective.getReduce())
    record.reduction = static_cast<int64_t>(attr.getValue());
  std::vector<Datum> sources;
  if (DenseI64ArrayAttr attr = collective.getSources())
    for (int64_t source : attr.asArrayRef())
      sources.push_back(Datum::i32(source));
  noteTraffic(op, kind, channel, groupSize);
  record.kind = kind;
  record.channel = channel;
  record.num_operands = operands.size();
  record.operands = data.list(std::move(operands));
  record.source_of = data.list(std::move(sources));
  record.name = data.text(name);
  record.tree = collective.getOrder() != nullptr;
  maxOperands = std::max(maxOperands, record.num_operands);
  return data.add(toDatum(record));
}

FailureOr<Datum> ProgramTable::getTensor(rt::TensorAttr tensor, StringRef name,
                                         int64_t alias) {
  RankedTensorType global = tensor.getGlobal(), local = tensor.getLocal();
  FailureOr<int64_t> code = getTypeCode(planned, local.getElementType());
  if (failed(code))
    return failure();
  std::vector<Datum> dims;
  for (int64_t dim = 0; dim < global.getRank(); ++dim) {
    ArrayRef<AxisRefAttr> axes;
    if (ShardingAttr sharding = tensor.getSharding())
      axes = sharding.getDims()[dim].getAxes();
    record::weft_rt_dim_sharding cut;
    cut.num_axes = axes.size();
    cut.axes = getAxisRefs(axes);
    dims.push_back(toDatum(cut));
  }
  record::weft_rt_tensor entry;
  entry.name = data.text(name);
  entry.type = *code;
  entry.rank = global.getRank();
  entry.shape = data.list(getNumbers(global.getShape()));
  entry.local_shape = data.list(getNumbers(local.getShape()));
  entry.sharding = data.list(std::move(dims));
  entry.alias = alias;
  entry.on_host = tensor.getHost();
  return toDatum(entry);
}

FailureOr<Datum> ProgramTable::getTensors(ArrayRef<rt::TensorAttr> list,
                                          bool areResults) {
  SmallVector<rt::TensorAttr> results = rt::getResults(planned);
  std::vector<Datum> tensors;
  llvm::StringSet<> names;
  for (auto [i, tensor] : llvm::enumerate(list)) {
    int64_t alias = areResults ? tensor.getAlias().value_or(-1) : -1;
    for (unsigned k = 0; !areResults && k < results.size(); ++k)
      if (results[k].getAlias() == static_cast<int64_t>(i))
        alias = k;
    std::string name =
        tensor.getName() ? tensor.getName().str()
                         : (areResults ? "result" : "arg") + std::to_string(i);
    if (!names.insert(name).second)
      return planned.emitOpError("has two ")
             << (areResults ? "results" : "arguments") << " of the name \""
             << name << "\"";
    FailureOr<Datum> datum = getTensor(tensor, name, alias);
    if (failed(datum))
      return failure();
    tensors.push_back(*datum);
  }
  return data.list(std::move(tensors));
}

/// Adds the images that an attribute names, all by the name of the last one,
/// as forms of one code, and gives the number of the first.
FailureOr<int64_t> ProgramTable::addImages(LLVM::LLVMFuncOp kernel,
                                           Attribute named) {
  SmallVector<Attribute> forms = {named};
  if (auto list = dyn_cast<ArrayAttr>(named))
    forms.assign(list.begin(), list.end());
  StringAttr shared = cast<FlatSymbolRefAttr>(forms.back()).getAttr();
  auto [it, isNew] = numberOfImage.try_emplace(named, images.size());
  if (!isNew)
    return it->second;
  for (Attribute form : forms) {
    auto name = cast<FlatSymbolRefAttr>(form);
    auto global = module.lookupSymbol<LLVM::GlobalOp>(name.getAttr());
    auto bytes = global ? dyn_cast_or_null<StringAttr>(global.getValueOrNull())
                        : StringAttr();
    if (!bytes)
      return kernel.emitOpError("has its code in ")
             << name << ", expected a constant string of bytes";
    record::weft_rt_image image;
    image.name = data.text(shared);
    image.data = Datum::pointer(name.getValue());
    image.size = bytes.size();
    images.push_back(toDatum(image));
  }
  return it->second;
}

/// Lists of images and kernels. A function that is only declared has its code
/// in the images that its attribute names, or nowhere.
LogicalResult ProgramTable::finishKernels(record::weft_rt_program &program) {
  std::vector<Datum> kernelList;
  for (const Kernel &kernel : kernels) {
    record::weft_rt_kernel_entry entry;
    entry.name = data.text(kernel.name);
    entry.image = -1;
    entry.num_buffers = kernel.numBuffers;
    entry.num_scalars = kernel.numScalars;
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name);
    function->removeAttr(rt::WeftRTDialect::kTakesAttr);
    Attribute image = function->getAttr(rt::WeftRTDialect::kImageAttr);
    if (!function.isExternal()) {
      entry.function = Datum::pointer(kernel.name);
    } else if (image) {
      FailureOr<int64_t> number = addImages(function, image);
      if (failed(number))
        return failure();
      entry.image = *number;
    }
    kernelList.push_back(toDatum(entry));
  }
  for (const Kernel &kernel : kernels)
    if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name);
        function.isExternal())
      function.erase();
  program.num_kernels = kernelList.size();
  program.kernels = data.list(std::move(kernelList));
  program.num_images = images.size();
  program.images = data.list(std::move(images));
  return success();
}

LogicalResult ProgramTable::finish(ArrayRef<uint8_t> planHash,
                                   StringRef entrySymbol) {
  const Target *target = lookupTarget(module);
  if (!target)
    return failure();
  record::weft_rt_program program;
  SmallVector<rt::TensorAttr> args = rt::getArgs(planned);
  SmallVector<rt::TensorAttr> results = rt::getResults(planned);
  FailureOr<Datum> argList = getTensors(args, false);
  FailureOr<Datum> resultList = getTensors(results, true);
  if (failed(argList) || failed(resultList) || failed(finishKernels(program)))
    return failure();
  std::vector<Datum> axes, channelList, trafficList, opList;
  if (mesh)
    for (MeshAxisAttr axis : mesh.getAxes()) {
      record::weft_rt_axis entry;
      entry.name = data.text(axis.getName());
      entry.size = axis.getSize();
      axes.push_back(toDatum(entry));
    }
  for (auto &[name, channel] : channels)
    channelList.push_back(channel);
  for (auto &[key, sum] : traffic) {
    record::weft_rt_traffic entry;
    entry.kind = key.first;
    entry.channel = data.text(channels[key.second].first);
    entry.count = sum.count;
    entry.bytes = sum.bytes;
    trafficList.push_back(toDatum(entry));
  }
  for (const std::string &name : ops) {
    record::weft_rt_op entry;
    entry.name = data.text(name);
    opList.push_back(toDatum(entry));
  }
  program.abi_version = WEFT_RT_ABI_VERSION;
  program.struct_size = sizeof(::weft_rt_program);
  program.name = data.text(planned.getSymName());
  program.backend = data.text(target->getBackend(module));
  program.num_ranks = mesh ? mesh.getNumRanks() : 1;
  program.num_axes = axes.size();
  program.axes = data.list(std::move(axes));
  program.num_args = args.size();
  program.args = *argList;
  program.num_results = results.size();
  program.results = *resultList;
  program.num_channels = channelList.size();
  program.channels = data.list(std::move(channelList));
  program.num_traffic = trafficList.size();
  program.traffic = data.list(std::move(trafficList));
  program.num_ops = opList.size();
  program.ops = data.list(std::move(opList));
  program.max_operands = maxOperands;
  program.num_events = numEvents;
  program.arena_bytes =
      planned->getAttrOfType<IntegerAttr>("weft_rt.arena_bytes").getInt();
  if (auto bytes = planned->getAttrOfType<IntegerAttr>(
          rt::WeftRTDialect::kHostBytesAttr))
    program.host_bytes = bytes.getInt();
  program.plan_hash.assign(planHash.begin(), planHash.end());
  if (auto certificate =
          module->getAttrOfType<StringAttr>(WeftDialect::kCertificateAttr))
    program.certificate =
        data.text(certificate.getValue(), kCertificateSection);
  // Where code is made, the processor and the checksum are filled in.
  program.entry = Datum::pointer(entrySymbol);
  data.define("weft_program", toDatum(program));
  return success();
}
