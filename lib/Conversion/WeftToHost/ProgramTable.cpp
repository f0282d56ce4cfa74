// SPDX-License-Identifier: Apache-2.0

// Field order follows the structs of weft-rt/abi.h one by one.

#include "ProgramTable.h"
#include "BufferPlan.h"
#include "weft/Conversion/WeftToHost/Passes.h"

#include "weft-rt/abi.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Names of the collectives, in the order of weft_rt_collective_kind.
constexpr std::array<StringLiteral, 5> kKinds = {
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "permute"};

int getKind(StringRef name) {
  return llvm::find(kKinds, name) - kKinds.begin();
}

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
    SmallVector<int64_t> typeStrides = getBufferStrides(types[i]);
    for (auto [t, expr] : llvm::enumerate(mapList[i].getResults())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      sizes[dim] = types[i].getDimSize(t);
      strides[dim][i] = typeStrides[t];
      uses[dim] |= 1 << i;
    }
  }
  std::vector<Datum> dims;
  for (unsigned dim = 0; dim < numDims; ++dim) {
    if (sizes[dim] == 1)
      continue;
    int role = uses[dim] == 7   ? WEFT_RT_GEMM_BATCH
               : uses[dim] == 5 ? WEFT_RT_GEMM_M
               : uses[dim] == 6 ? WEFT_RT_GEMM_N
                                : WEFT_RT_GEMM_K;
    dims.push_back(Datum::record(
        {Datum::i32(role), Datum::i64(sizes[dim]), Datum::i64(strides[dim][0]),
         Datum::i64(strides[dim][1]), Datum::i64(strides[dim][2])}));
  }
  int64_t count = dims.size();
  if (count > WEFT_RT_GEMM_MAX_DIMS)
    return op.emitOpError("has ") << count << " dims, at most "
                                  << WEFT_RT_GEMM_MAX_DIMS << " are possible";
  while (dims.size() < WEFT_RT_GEMM_MAX_DIMS)
    dims.push_back(Datum::record({Datum::i32(0), Datum::i64(0), Datum::i64(0),
                                  Datum::i64(0), Datum::i64(0)}));
  std::vector<Datum> fields;
  for (MemRefType type : types) {
    FailureOr<int64_t> code = getTypeCode(op, type.getElementType());
    if (failed(code))
      return failure();
    fields.push_back(Datum::i32(*code));
  }
  auto order = op->getAttrOfType<OrderAttr>(WeftDialect::kOrderAttr);
  fields.push_back(Datum::i32(0));
  fields.push_back(Datum::i32(order ? order.getLeaves() : 0));
  fields.push_back(Datum::i32(order && order.getRounded()));
  fields.push_back(Datum::i32(count));
  fields.push_back(Datum::array(std::move(dims)));
  return data.add(Datum::record(std::move(fields)));
}

Datum ProgramTable::getAxisRef(AxisRefAttr axis) {
  int64_t index = *mesh.getAxisIndex(axis.getName());
  int64_t pre = axis.isWholeAxis() ? 1 : axis.getPreSize();
  return Datum::record({Datum::i32(index), Datum::i64(pre),
                        Datum::i64(*getAxisRefSize(mesh, axis))});
}

Datum ProgramTable::getAxisRefs(ArrayRef<AxisRefAttr> axes) {
  std::vector<Datum> refs;
  for (AxisRefAttr axis : axes)
    refs.push_back(getAxisRef(axis));
  return data.list(std::move(refs));
}

void ProgramTable::addChannel(ChannelOp op) {
  ArrayRef<AxisRefAttr> axes = op.getAxes().getAxes();
  channels.push_back(
      {op.getSymName().str(),
       Datum::record({data.text(op.getSymName()), Datum::i32(axes.size()),
                      getAxisRefs(axes)})});
}

FailureOr<int> ProgramTable::getChannel(rt::StartOp op) {
  auto channel = lookupChannel(op, op.getChannelAttr());
  if (!channel)
    return op.emitOpError("runs on ")
           << op.getChannelAttr() << ", which is no channel";
  Attribute axes = op.getParams().get("axes");
  if (channel.getAxesAttr() != axes)
    return op.emitOpError("is over ")
           << axes << ", but its channel " << op.getChannelAttr() << " is over "
           << channel.getAxesAttr();
  return llvm::find_if(
             channels,
             [&](auto &entry) { return entry.first == op.getChannel(); }) -
         channels.begin();
}

FailureOr<Datum> ProgramTable::getOperand(rt::StartOp op, unsigned i,
                                          int64_t groupSize) {
  auto in = cast<MemRefType>(op.getIns()[i].getType());
  auto out = cast<MemRefType>(op.getOuts()[i].getType());
  FailureOr<int64_t> code = getTypeCode(op, in.getElementType());
  if (failed(code))
    return failure();
  auto getDim = [&](StringRef name) -> int64_t {
    return cast<DenseI64ArrayAttr>(op.getParams().get(name))[i];
  };
  // [outer][extent][inner] around one dim of a shape.
  auto split = [](ArrayRef<int64_t> shape, int64_t dim, int64_t extent) {
    return getNumbers({getProduct(shape.take_front(dim)), extent,
                       getProduct(shape.drop_front(dim + 1))});
  };
  std::vector<Datum> first, second = getNumbers({0, 0, 0});
  if (op.getCollective() == "all_gather") {
    int64_t dim = getDim("dims");
    first = split(in.getShape(), dim, in.getDimSize(dim));
  } else if (op.getCollective() == "reduce_scatter") {
    int64_t dim = getDim("dims");
    first = split(out.getShape(), dim, out.getDimSize(dim));
  } else if (op.getCollective() == "all_to_all") {
    int64_t from = getDim("split_dims"), to = getDim("concat_dims");
    first = split(in.getShape(), from, in.getDimSize(from) / groupSize);
    second = split(out.getShape(), to, out.getDimSize(to) / groupSize);
  } else {
    first = getNumbers({1, in.getNumElements(), 1});
  }
  std::vector<Datum> fields = {Datum::i32(*code)};
  fields.insert(fields.end(), first.begin(), first.end());
  fields.insert(fields.end(), second.begin(), second.end());
  return Datum::record(std::move(fields));
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
  auto axes = cast<AxesAttr>(op.getParams().get("axes"));
  int kind = getKind(op.getCollective());
  FailureOr<int> channel = getChannel(op);
  if (failed(channel))
    return failure();
  int64_t groupSize = getNumShards(mesh, axes.getAxes());
  std::vector<Datum> operands;
  for (unsigned i = 0; i < op.getIns().size(); ++i) {
    FailureOr<Datum> operand = getOperand(op, i, groupSize);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  int64_t reduction = 0;
  if (auto attr = op.getParams().getAs<ReduceKindAttr>("kind"))
    reduction = static_cast<int64_t>(attr.getValue());
  std::vector<Datum> sources;
  if (auto attr = op.getParams().getAs<DenseI64ArrayAttr>("sources"))
    for (int64_t source : attr.asArrayRef())
      sources.push_back(Datum::i32(source));
  noteTraffic(op, kind, *channel, groupSize);
  int64_t count = operands.size();
  maxOperands = std::max(maxOperands, count);
  return data.add(Datum::record(
      {Datum::i32(kind), Datum::i32(reduction), Datum::i32(*channel),
       Datum::i32(count), data.list(std::move(operands)),
       data.list(std::move(sources)), data.text(name),
       Datum::i32(op.getParams().contains(WeftDialect::kOrderAttr))}));
}

/// Says whether a sharding is one of tensors of this rank on the mesh.
bool ProgramTable::isOf(ShardingAttr sharding, int64_t rank) {
  return static_cast<int64_t>(sharding.getDims().size()) == rank &&
         llvm::all_of(sharding.getDims(), [&](auto dim) {
           return llvm::all_of(dim.getAxes(), [&](AxisRefAttr axis) {
             return mesh && getAxisRefSize(mesh, axis);
           });
         });
}

FailureOr<Datum> ProgramTable::getTensor(DictionaryAttr entry, int64_t alias) {
  auto global =
      cast<RankedTensorType>(entry.getAs<TypeAttr>("global").getValue());
  auto local =
      cast<RankedTensorType>(entry.getAs<TypeAttr>("local").getValue());
  FailureOr<int64_t> code = getTypeCode(planned, local.getElementType());
  if (failed(code))
    return failure();
  auto name = entry.getAs<StringAttr>("name");
  auto sharding = entry.getAs<ShardingAttr>("sharding");
  if (sharding && !isOf(sharding, global.getRank()))
    return planned.emitOpError("has the sharding ")
           << sharding << " for " << global << ", expected one of its rank"
           << " with axes of the mesh " << mesh;
  std::vector<Datum> dims;
  for (int64_t dim = 0; dim < global.getRank(); ++dim) {
    ArrayRef<AxisRefAttr> axes;
    if (sharding)
      axes = sharding.getDims()[dim].getAxes();
    dims.push_back(Datum::record({Datum::i32(axes.size()), getAxisRefs(axes)}));
  }
  return Datum::record({data.text(name ? name.getValue() : ""),
                        Datum::i32(*code), Datum::i32(global.getRank()),
                        data.list(getNumbers(global.getShape())),
                        data.list(getNumbers(local.getShape())),
                        data.list(std::move(dims)), Datum::i32(alias)});
}

FailureOr<Datum> ProgramTable::getTensors(ArrayAttr entries, bool areResults) {
  auto results = planned->getAttrOfType<ArrayAttr>("weft_rt.results");
  auto getAlias = [](Attribute entry) -> int64_t {
    auto alias = cast<DictionaryAttr>(entry).getAs<IntegerAttr>("alias");
    return alias ? alias.getInt() : -1;
  };
  std::vector<Datum> tensors;
  llvm::StringSet<> names;
  for (auto [i, attr] : llvm::enumerate(entries)) {
    auto entry = cast<DictionaryAttr>(attr);
    int64_t alias = -1;
    if (areResults)
      alias = getAlias(entry);
    else
      for (auto [k, result] : llvm::enumerate(results))
        if (getAlias(result) == static_cast<int64_t>(i))
          alias = k;
    if (!entry.get("name")) {
      NamedAttrList named(entry);
      named.set("name", StringAttr::get(module.getContext(),
                                        (areResults ? "result" : "arg") +
                                            std::to_string(i)));
      entry = named.getDictionary(module.getContext());
    }
    auto name = entry.getAs<StringAttr>("name");
    if (name && !names.insert(name.getValue()).second)
      return planned.emitOpError("has two ")
             << (areResults ? "results" : "arguments") << " of the name "
             << name;
    FailureOr<Datum> tensor = getTensor(entry, alias);
    if (failed(tensor))
      return failure();
    tensors.push_back(*tensor);
  }
  return data.list(std::move(tensors));
}

LogicalResult ProgramTable::finish(ArrayRef<uint8_t> planHash,
                                   StringRef entrySymbol) {
  auto args = planned->getAttrOfType<ArrayAttr>("weft_rt.args");
  auto results = planned->getAttrOfType<ArrayAttr>("weft_rt.results");
  FailureOr<Datum> argList = getTensors(args, false);
  FailureOr<Datum> resultList = getTensors(results, true);
  if (failed(argList) || failed(resultList))
    return failure();
  std::vector<Datum> axes, channelList, trafficList, opList, hash;
  if (mesh)
    for (MeshAxisAttr axis : mesh.getAxes())
      axes.push_back(Datum::record(
          {data.text(axis.getName()), Datum::i64(axis.getSize())}));
  for (auto &[name, channel] : channels)
    channelList.push_back(channel);
  for (auto &[key, entry] : traffic)
    trafficList.push_back(Datum::record(
        {Datum::i32(key.first), data.text(channels[key.second].first),
         Datum::i64(entry.count), Datum::i64(entry.bytes)}));
  for (const std::string &name : ops)
    opList.push_back(Datum::record({data.text(name)}));
  for (uint8_t byte : planHash)
    hash.push_back(Datum::byte(static_cast<int8_t>(byte)));
  int64_t numAxes = axes.size(), numChannels = channelList.size(),
          numTraffic = trafficList.size(), numOps = opList.size();
  auto arenaBytes = planned->getAttrOfType<IntegerAttr>("weft_rt.arena_bytes");
  auto certificate =
      module->getAttrOfType<StringAttr>(WeftDialect::kCertificateAttr);
  data.define(
      "weft_program",
      Datum::record(
          {Datum::i32(WEFT_RT_ABI_VERSION), Datum::i32(sizeof(weft_rt_program)),
           data.text(planned.getSymName()),
           Datum::i32(mesh ? mesh.getNumRanks() : 1), Datum::i32(numAxes),
           data.list(std::move(axes)), Datum::i32(args.size()), *argList,
           Datum::i32(results.size()), *resultList, Datum::i32(numChannels),
           data.list(std::move(channelList)), Datum::i32(numTraffic),
           data.list(std::move(trafficList)), Datum::i32(numOps),
           data.list(std::move(opList)), Datum::i32(maxOperands),
           Datum::i64(arenaBytes.getInt()), Datum::array(std::move(hash)),
           certificate ? data.text(certificate.getValue(), kCertificateSection)
                       : Datum::pointer(""),
           // Where code is made, the processor and the checksum are
           // filled in.
           Datum::pointer(""), Datum::pointer(""),
           Datum::array(std::vector<Datum>(32, Datum::byte(0))),
           Datum::pointer(entrySymbol)}));
  return success();
}
