// SPDX-License-Identifier: Apache-2.0

// Text and checks of meshes, axes and shardings.

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;

#include "weft/Dialect/Weft/IR/WeftEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "weft/Dialect/Weft/IR/WeftAttrs.cpp.inc"

void WeftDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "weft/Dialect/Weft/IR/WeftAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    if (parser.parseString(&name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    axes.push_back(MeshAxisAttr::get(parser.getContext(), name, size));
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); },
                    parser.getContext(), axes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) {
    printer.printString(axis.getName());
    printer << "=" << axis.getSize();
  });
  printer << "]>";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes) {
  llvm::StringSet<> names;
  int64_t ranks = 1;
  for (MeshAxisAttr axis : axes) {
    if (axis.getName().empty())
      return emitError() << "mesh axis without a name";
    if (!names.insert(axis.getName()).second)
      return emitError() << "mesh axis '" << axis.getName()
                         << "' is declared twice";
    if (axis.getSize() <= 0)
      return emitError() << "mesh axis '" << axis.getName() << "' has size "
                         << axis.getSize() << ", expected at least 1";
    if (__builtin_mul_overflow(ranks, axis.getSize(), &ranks) ||
        ranks > (int64_t(1) << 24))
      return emitError() << "mesh has more than 2^24 ranks";
  }
  return success();
}

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (MeshAxisAttr axis : getAxes())
    ranks *= axis.getSize();
  return ranks;
}

std::optional<unsigned> MeshAttr::getAxisIndex(StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(getAxes()))
    if (axis.getName() == name)
      return index;
  return std::nullopt;
}

std::optional<int64_t> MeshAttr::getAxisSize(StringRef name) const {
  if (std::optional<unsigned> index = getAxisIndex(name))
    return getAxes()[*index].getSize();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

namespace {

FailureOr<AxisRefAttr> parseAxisRef(AsmParser &parser) {
  std::string name;
  int64_t pre = 1, size = 0;
  if (parser.parseString(&name))
    return failure();
  if (succeeded(parser.parseOptionalColon())) {
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseInteger(pre) ||
        parser.parseRParen() || parser.parseInteger(size))
      return failure();
    if (pre < 1 || size < 2) {
      parser.emitError(loc)
          << "sub-axis of '" << name << "' is (" << pre << ")" << size
          << ", expected a pre-size of at least 1 and a "
             "size of at least 2";
      return failure();
    }
  }
  return AxisRefAttr::get(parser.getContext(), name, pre, size);
}

void printAxisRef(AsmPrinter &printer, AxisRefAttr axis) {
  printer.printString(axis.getName());
  if (!axis.isWholeAxis())
    printer << ":(" << axis.getPreSize() << ")" << axis.getSize();
}

/// Parses `{"a", "b"}`; `?` may end the list if `isOpen` is given.
ParseResult parseAxisList(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes,
                          bool *isOpen = nullptr) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        if (isOpen && *isOpen)
          return parser.emitError(parser.getCurrentLocation(),
                                  "'?' must end the list of axes");
        if (isOpen && succeeded(parser.parseOptionalQuestion())) {
          *isOpen = true;
          return success();
        }
        FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
        if (failed(axis))
          return failure();
        axes.push_back(*axis);
        return success();
      });
}

void printAxisList(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes,
                   bool isOpen = false) {
  printer << "{";
  llvm::interleaveComma(axes, printer,
                        [&](AxisRefAttr axis) { printAxisRef(printer, axis); });
  if (isOpen)
    printer << (axes.empty() ? "?" : ", ?");
  printer << "}";
}

} // namespace

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisRef(printer, *this);
  printer << ">";
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  if (parser.parseLess() || parseAxisList(parser, axes) ||
      parser.parseGreater())
    return {};
  return AxesAttr::get(parser.getContext(), axes);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisList(printer, getAxes());
  printer << ">";
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  bool isOpen = false;
  if (parser.parseLess() || parseAxisList(parser, axes, &isOpen) ||
      parser.parseGreater())
    return {};
  return DimShardingAttr::get(parser.getContext(), axes, isOpen);
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisList(printer, getAxes(), getIsOpen());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

namespace {

ParseResult parsePartial(AsmParser &parser, ReduceKind &kind,
                         SmallVectorImpl<AxisRefAttr> &axes) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<ReduceKind> parsed = symbolizeReduceKind(keyword);
  if (!parsed)
    return parser.emitError(loc) << "unknown reduction '" << keyword << "'";
  kind = *parsed;
  return parseAxisList(parser, axes);
}

} // namespace

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> storage, partial;
  ReduceKind kind = ReduceKind::Sum;
  auto parseDim = [&]() -> ParseResult {
    SmallVector<AxisRefAttr> axes;
    bool isOpen = false;
    if (parseAxisList(parser, axes, &isOpen))
      return failure();
    dims.push_back(DimShardingAttr::get(parser.getContext(), axes, isOpen));
    return success();
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword) || parser.parseEqual())
      return {};
    if (keyword == "storage") {
      if (parseAxisList(parser, storage))
        return {};
    } else if (keyword == "partial") {
      if (parsePartial(parser, kind, partial))
        return {};
    } else {
      parser.emitError(loc)
          << "expected 'storage' or 'partial', got '" << keyword << "'";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return ShardingAttr::get(parser.getContext(), mesh, dims, storage, kind,
                           partial);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer, [&](DimShardingAttr dim) {
    printAxisList(printer, dim.getAxes(), dim.getIsOpen());
  });
  printer << "]";
  if (!getStorage().empty()) {
    printer << ", storage = ";
    printAxisList(printer, getStorage());
  }
  if (!getPartial().empty()) {
    printer << ", partial = " << stringifyReduceKind(getPartialKind()) << " ";
    printAxisList(printer, getPartial());
  }
  printer << ">";
}

ShardingAttr ShardingAttr::getReplicated(FlatSymbolRefAttr mesh, int64_t rank) {
  MLIRContext *ctx = mesh.getContext();
  SmallVector<DimShardingAttr> dims(rank, DimShardingAttr::get(ctx, {}, false));
  return get(ctx, mesh, dims, {}, ReduceKind::Sum, {});
}

//===----------------------------------------------------------------------===//
// Checks against a mesh
//===----------------------------------------------------------------------===//

MeshAttr mlir::weft::lookupMesh(Operation *op, FlatSymbolRefAttr symbol) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, symbol);
  return mesh ? mesh.getMesh() : MeshAttr();
}

ChannelOp mlir::weft::lookupChannel(Operation *op, FlatSymbolRefAttr symbol) {
  return SymbolTable::lookupNearestSymbolFrom<ChannelOp>(op, symbol);
}

RankedTensorType mlir::weft::getTensorType(Type type) {
  auto future = dyn_cast<FutureType>(type);
  return future ? future.getTensor() : cast<RankedTensorType>(type);
}

std::optional<int64_t> mlir::weft::getAxisRefSize(MeshAttr mesh,
                                                  AxisRefAttr axis) {
  std::optional<int64_t> whole = mesh.getAxisSize(axis.getName());
  if (!whole || axis.isWholeAxis())
    return whole;
  if (axis.getPreSize() > *whole || axis.getSize() > *whole ||
      *whole % (axis.getPreSize() * axis.getSize()) != 0)
    return std::nullopt;
  return axis.getSize();
}

int64_t mlir::weft::getNumShards(MeshAttr mesh, ArrayRef<AxisRefAttr> axes) {
  int64_t shards = 1;
  for (AxisRefAttr axis : axes)
    shards *= getAxisRefSize(mesh, axis).value_or(1);
  return shards;
}

namespace {

/// The part of an axis that a reference covers: coordinates are compared by
/// the strides [low, high) of the mixed-radix digits that it holds.
struct AxisSpan {
  StringRef name;
  int64_t low, high;
  bool overlaps(const AxisSpan &other) const {
    return name == other.name && low < other.high && other.low < high;
  }
};

/// The span of a reference that fits the mesh, or an empty one.
AxisSpan getSpan(MeshAttr mesh, AxisRefAttr axis) {
  int64_t size = getAxisRefSize(mesh, axis).value_or(0);
  return {axis.getName(), axis.getPreSize(), axis.getPreSize() * size};
}

/// Says whether the spans that dimensions use, put together, hold all of
/// `span`: a storage axis may be cut over several dimensions.
bool isCovered(AxisSpan span, ArrayRef<AxisSpan> used) {
  if (llvm::none_of(
          used, [&](const AxisSpan &other) { return other.name == span.name; }))
    return false;
  for (bool grows = true; grows && span.low < span.high;) {
    grows = false;
    for (const AxisSpan &other : used)
      if (other.name == span.name && other.low <= span.low &&
          span.low < other.high) {
        span.low = other.high;
        grows = true;
      }
  }
  return span.low >= span.high;
}

/// Checks one list of axes; adds their spans to `used`.
LogicalResult verifyAxes(Operation *op, MeshAttr mesh,
                         ArrayRef<AxisRefAttr> axes, StringRef what,
                         SmallVectorImpl<AxisSpan> &used) {
  for (AxisRefAttr axis : axes) {
    std::optional<int64_t> whole = mesh.getAxisSize(axis.getName());
    if (!whole)
      return op->emitOpError(what)
             << ": unknown axis '" << axis.getName() << "' in mesh " << mesh;
    std::optional<int64_t> size = getAxisRefSize(mesh, axis);
    if (!size)
      return op->emitOpError(what)
             << ": sub-axis (" << axis.getPreSize() << ")" << axis.getSize()
             << " does not divide axis '" << axis.getName() << "' of size "
             << *whole;
    AxisSpan span{axis.getName(), axis.getPreSize(), axis.getPreSize() * *size};
    // A whole axis of size 1 holds no digit, yet naming it twice is an error.
    if (axis.isWholeAxis() && *size == 1)
      span.high = 2;
    for (const AxisSpan &other : used)
      if (span.overlaps(other))
        return op->emitOpError(what)
               << ": axis '" << axis.getName() << "' is used twice";
    used.push_back(span);
  }
  return success();
}

} // namespace

LogicalResult mlir::weft::verifySharding(Operation *op, ShardingAttr sharding,
                                         Type type, StringRef what) {
  MeshAttr mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return op->emitOpError(what) << ": unknown mesh " << sharding.getMesh();
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t rank = tensor ? tensor.getRank() : 0;
  if (sharding.getRank() != rank)
    return op->emitOpError(what)
           << ": sharding has " << sharding.getRank()
           << " dimensions, but the value has " << rank << " (" << type << ")";
  SmallVector<AxisSpan> used;
  for (DimShardingAttr dim : sharding.getDims())
    if (failed(verifyAxes(op, mesh, dim.getAxes(), what, used)))
      return failure();
  for (AxisRefAttr axis : sharding.getStorage())
    if (!isCovered(getSpan(mesh, axis), used))
      return op->emitOpError(what)
             << ": storage axis '" << axis.getName() << "' shards no dimension";
  return verifyAxes(op, mesh, sharding.getPartial(), what, used);
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

LogicalResult OrderAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t leaves, int64_t lanes, bool) {
  if (leaves < 1)
    return emitError() << "an order needs at least one leaf, got " << leaves;
  if (lanes < 1 || !llvm::isPowerOf2_64(lanes))
    return emitError() << "the lanes of an order are a power of two, got "
                       << lanes;
  return success();
}

LogicalResult
InvarianceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       ArrayAttr axes, int64_t leaves) {
  if (leaves < 1)
    return emitError() << "invariance needs at least one leaf, got " << leaves;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (!isa<StringAttr>(axis))
      return emitError() << "expected the name of an axis, got " << axis;
    if (llvm::is_contained(axes.getValue().take_front(i), axis))
      return emitError() << "axis " << axis << " is listed twice";
  }
  return success();
}

bool InvarianceAttr::hasAxis(StringRef name) const {
  return llvm::is_contained(getAxes().getAsValueRange<StringAttr>(), name);
}
