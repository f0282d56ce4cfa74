// SPDX-License-Identifier: Apache-2.0

// The function's border, constants, and what they have in common.

#include "LocalLifter.h"
#include "Uninterpreted.h"
#include "weft/Analysis/QuietDiagnostics.h"
#include "weft/Analysis/Traffic.h"
#include "weft/Rules/ShardingConversion.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

int64_t mlir::weft::proof::countChunks(const LocalDim &dim) {
  if (!dim.chunk)
    return 1;
  // Chunks past the end count; of those before it, ranks need not hold all at
  // once.
  int64_t held = *llvm::max_element(*dim.chunk) + 1;
  return dim.size == kAnySize || dim.extent == 0
             ? held
             : std::max(held, (dim.size + dim.extent - 1) / dim.extent);
}

int64_t mlir::weft::proof::getPaddedSize(const LocalDim &dim) {
  return countChunks(dim) * dim.extent;
}

bool mlir::weft::proof::hasPadding(const LocalDim &dim) {
  return dim.size != kAnySize && dim.size < getPaddedSize(dim);
}

bool mlir::weft::proof::holdsPadding(const LocalDim &dim) {
  if (dim.size == kAnySize)
    return false;
  int64_t last = dim.chunk ? *llvm::max_element(*dim.chunk) : 0;
  return (last + 1) * dim.extent > dim.size;
}

bool mlir::weft::proof::fitsChunks(const LocalDim &dim, int64_t size) {
  int64_t chunks = dim.chunk ? *llvm::max_element(*dim.chunk) + 1 : 1;
  return size > 0 && chunks > 0 &&
         int64_t(llvm::divideCeil(size, chunks)) == dim.extent;
}

bool mlir::weft::proof::takeSize(LocalDim &dim, int64_t size) {
  if (dim.size == size)
    return true;
  if (!dim.isGuess || size < 0 || size > dim.size)
    return false;
  dim.size = size;
  // What lies between the two sizes is not known to be that.
  dim.padding = nullptr;
  return true;
}

void mlir::weft::proof::forgetElements(LocalDim &dim) {
  dim.padding = nullptr;
  dim.isConstant = false;
  dim.likeness = nullptr;
}

bool mlir::weft::proof::holds(const LocalDim &dim, RankVector chunk) {
  return dim.chunk == chunk ||
         (dim.chunk && chunk &&
          llvm::all_of(llvm::zip_equal(*dim.chunk, *chunk), [&](auto chunks) {
            auto [own, other] = chunks;
            return areAlike(dim.likeness, own, other);
          }));
}

std::string mlir::weft::proof::describeRanks(RankVector vector) {
  constexpr size_t kMaxShown = 8;
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  ArrayRef<int64_t> shown(*vector);
  llvm::interleaveComma(shown.take_front(kMaxShown), os);
  os << (shown.size() > kMaxShown ? ", ...]" : "]");
  return text;
}

RankVector LocalLifter::intern(std::vector<int64_t> values) {
  return &*vectors.insert(std::move(values)).first;
}

RankVector LocalLifter::uniform(int64_t value) {
  RankVector &vector = uniforms[value];
  if (!vector)
    vector = intern(std::vector<int64_t>(numRanks, value));
  return vector;
}

RankVector LocalLifter::perRank(function_ref<int64_t(int64_t rank)> value) {
  std::vector<int64_t> values;
  values.reserve(numRanks);
  for (int64_t rank = 0; rank < numRanks; ++rank)
    values.push_back(value(rank));
  return intern(std::move(values));
}

std::optional<int64_t> LocalLifter::getUniform(RankVector vector) {
  if (!llvm::all_equal(*vector))
    return std::nullopt;
  return vector->front();
}

void LocalLifter::fix(LocalDim &dim) {
  if (dim.size == kAnySize) {
    dim.isConstant = !dim.chunk;
    dim.size = getPaddedSize(dim);
    dim.isGuess = !isGlobal;
  }
  if (!dim.chunk)
    dim.chunk = uniform(0);
}

/// Makes sure that every rank has all of a dimension and nothing else.
LogicalResult LocalLifter::fixWhole(Operation *op, LocalDim &dim,
                                    StringRef what) {
  fix(dim);
  if (countChunks(dim) == 1 && dim.extent == dim.size)
    return success();
  return op->emitOpError(what)
         << " of size " << dim.size << ", of which a rank has " << dim.extent
         << " elements";
}

SmallVector<int64_t> LocalLifter::getSizes(ArrayRef<LocalDim> dims) {
  return llvm::map_to_vector(dims,
                             [](const LocalDim &dim) { return dim.size; });
}

FailureOr<LocalValue> LocalLifter::getUncombined(Operation *op, Value value) {
  const LocalValue &tensor = getTensor(value);
  if (tensor.contribution.kind != Contribution::Whole)
    return op->emitOpError("computes with a contribution: one of ")
               << tensor.contribution.parts << " parts of "
               << tensor.form->str(),
           failure();
  return tensor;
}

FailureOr<LocalValue> LocalLifter::getWhole(Operation *op, Value value,
                                            StringRef what) {
  FailureOr<LocalValue> tensor = getUncombined(op, value);
  if (failed(tensor))
    return failure();
  for (LocalDim &dim : tensor->dims)
    if (failed(fixWhole(op, dim, what)))
      return failure();
  return tensor;
}

LogicalResult LocalLifter::setTensor(Operation *op, Value result,
                                     LocalValue value) {
  // A part of a tensor that is known from elsewhere.
  if (forms.isOfReals() && value.form->shape.size() == value.dims.size())
    for (auto [dim, size] : llvm::zip(value.dims, value.form->shape))
      if (dim.chunk && dim.size == kAnySize && size != kAnySize &&
          fitsChunks(dim, size))
        dim.size = size;
  made.push_back({value.form, op});
  tensors[result] = std::move(value);
  return success();
}

Operation *LocalLifter::getOrigin(const Form *form) const {
  if (origins.empty())
    for (auto [form, op] : made)
      origins.try_emplace(form, op);
  return origins.lookup(form);
}

AxisList LocalLifter::getAxes(AxesAttr axes) const {
  return toAxes(axes.getAxes(), mesh);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LocalLifter::LocalLifter(FormTable &forms, func::FuncOp func, const Mesh &mesh,
                         bool isReference)
    : forms(forms), func(func), mesh(mesh), isReference(isReference),
      isGlobal(isReference && !dependsOnRank(func)), numRanks(mesh.numRanks()) {
}

/// How an argument or result rests: its global shape and chunks.
SmallVector<LocalDim, 4> LocalLifter::getBorderDims(DictionaryAttr attrs,
                                                    RankedTensorType type) {
  auto getAttr = [&](StringRef name) {
    return attrs ? attrs.get(name) : Attribute();
  };
  RankedTensorType global = type;
  if (auto attr =
          dyn_cast_if_present<TypeAttr>(getAttr(WeftDialect::kGlobalTypeAttr)))
    global = cast<RankedTensorType>(attr.getValue());
  Sharding sharding = Sharding::replicated(type.getRank());
  if (auto attr = dyn_cast_if_present<ShardingAttr>(
          getAttr(WeftDialect::kShardingAttr));
      attr && mesh.numAxes() > 0)
    sharding = toSharding(attr, mesh);
  SmallVector<LocalDim, 4> dims;
  for (int64_t i = 0; i < type.getRank(); ++i)
    dims.push_back(
        {global.getDimSize(i), type.getDimSize(i), perRank([&](int64_t rank) {
           return mesh.groupIndex(rank, sharding.dims[i]);
         })});
  return dims;
}

/// Only what has a static shape, or none, can be followed.
static bool isFollowed(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.hasStaticShape() &&
           tensor.getElementType().isIntOrIndexOrFloat();
  return type.isIntOrIndexOrFloat();
}

/// Fails if the type of an argument or result cannot be followed.
LogicalResult LocalLifter::checkBorder(StringRef what, unsigned index,
                                       Type type) {
  if (!isFollowed(type))
    return func.emitOpError(what) << " #" << index << " has type " << type
                                  << ", which cannot be followed";
  return success();
}

/// Arguments are told apart by their number: names are for people.
LogicalResult LocalLifter::liftArguments() {
  for (BlockArgument arg : func.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (failed(checkBorder("argument", index, arg.getType())))
      return failure();
    Form form{FormKind::Argument, "argument",
              std::to_string(arg.getArgNumber())};
    form.element = getElementTypeOrSelf(arg.getType());
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (!type) {
      scalars[arg].form = forms.get(std::move(form));
      continue;
    }
    LocalValue value;
    value.dims = getBorderDims(func.getArgAttrDict(arg.getArgNumber()), type);
    form.shape = getSizes(value.dims);
    value.form = forms.get(std::move(form));
    tensors[arg] = std::move(value);
  }
  return success();
}

/// The first dim that is not what rests at the border; nullopt if all are.
static std::optional<unsigned> findMisfit(LocalValue value,
                                          ArrayRef<LocalDim> border) {
  for (auto [d, dim] : llvm::enumerate(value.dims))
    if ((dim.chunk && !holds(dim, border[d].chunk)) ||
        (dim.size != kAnySize && !takeSize(dim, border[d].size)))
      return d;
  return std::nullopt;
}

/// An error of a result: at the op that makes it if nobody says where the
/// function returns, as in one that a frontend has made.
static InFlightDiagnostic emitResultError(func::ReturnOp op, Value result) {
  Location loc = op.getLoc();
  Operation *maker = result.getDefiningOp();
  if (maker && !loc->findInstanceOf<FileLineColLoc>())
    loc = maker->getLoc();
  return emitError(loc) << "'" << op->getName() << "' op ";
}

LogicalResult LocalLifter::liftReturn(func::ReturnOp op) {
  for (auto [i, result] : llvm::enumerate(op.getOperands())) {
    if (failed(checkBorder("result", i, result.getType())))
      return failure();
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type) {
      BodyLifter body(*this, {});
      FailureOr<const Form *> form = body.getForm(op, result);
      if (failed(form))
        return failure();
      results.push_back(*form);
      continue;
    }
    LocalValue value = getTensor(result);
    if (value.form->kind == FormKind::Undefined)
      return emitResultError(op, result)
             << "uses elements that nothing has defined";
    if (value.contribution.kind != Contribution::Whole)
      return emitResultError(op, result)
             << "result #" << i << " is a contribution: one of "
             << value.contribution.parts << " parts of " << value.form->str();
    SmallVector<LocalDim, 4> dims =
        getBorderDims(func.getResultAttrDict(i), type);
    std::optional<unsigned> wrong = findMisfit(value, dims);
    if (wrong)
      for (LocalValue &regrouped : findRegrouped(op, result))
        if (!findMisfit(regrouped, dims)) {
          value = std::move(regrouped);
          wrong.reset();
          break;
        }
    if (wrong)
      return emitResultError(op, result)
             << "result #" << i << " has dim " << *wrong << " of size "
             << value.dims[*wrong].size << " in chunks "
             << describeRanks(value.dims[*wrong].chunk) << ", expected size "
             << dims[*wrong].size << " in chunks "
             << describeRanks(dims[*wrong].chunk);
    results.push_back(value.form);
  }
  return success();
}

/// The form of a constant that is no splat.
static Form makeConstant(DenseElementsAttr attr, Operation *op) {
  ArrayRef<char> data = attr.getRawData();
  auto hash = llvm::SHA256::hash(
      {reinterpret_cast<const uint8_t *>(data.data()), data.size()});
  Form form{FormKind::Tensor, kDenseConstant.str()};
  form.details = digestToHex(
      StringRef(reinterpret_cast<const char *>(hash.data()), hash.size()));
  llvm::append_range(form.shape, attr.getType().getShape());
  form.element = attr.getElementType();
  form.op = op;
  return form;
}

/// Splats are the same everywhere, other constants are whole.
LogicalResult LocalLifter::liftConstant(Operation *op, Attribute attr) {
  Value result = op->getResult(0);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type) {
    BodyLifter body(*this, {});
    if (failed(body.lift(op)))
      return failure();
    scalars[result] = *body.get(op, result);
    return success();
  }
  LocalValue value;
  if (auto splat = dyn_cast<SplatElementsAttr>(attr)) {
    value.form = forms.getConstant(splat.getSplatValue<Attribute>(),
                                   type.getElementType());
    for (int64_t extent : type.getShape())
      value.dims.push_back({kAnySize, extent});
    return setTensor(op, result, std::move(value));
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense || isa<DenseStringElementsAttr>(attr))
    return op->emitOpError("is a constant that cannot be followed");
  for (int64_t extent : type.getShape())
    value.dims.push_back({extent, extent, uniform(0)});
  Form form = makeConstant(dense, op);
  const Form *folded = isReference ? nullptr : forms.getFolded(form);
  bool isKnown = forms.find(form);
  if (folded && isKnown)
    addWay(result, folded, value);
  value.form = folded && !isKnown ? folded : forms.get(std::move(form));
  return setTensor(op, result, std::move(value));
}

/// The value with another form is another way to see it.
void LocalLifter::addWay(Value result, const Form *form, LocalValue value) {
  std::vector<LocalValue> &ways = otherWays[result];
  value.form = form;
  if (llvm::none_of(ways, [&](auto &way) { return way.form == form; }))
    ways.push_back(std::move(value));
}

/// An op that gives a constant another shape may be a constant itself where
/// nothing is cut. The reference notes what constant that would be; in a rank's
/// program the result is seen as a part of the constant that the reference has
/// of that shape.
LogicalResult LocalLifter::foldConstant(Operation *op, LogicalResult lifted) {
  if (failed(lifted))
    return failure();
  Value result = op->getResult(0);
  LocalValue value = getTensor(result);
  if (isReference) {
    DenseElementsAttr constant;
    auto type = cast<RankedTensorType>(result.getType());
    if (type.hasStaticShape() &&
        matchPattern(op->getOperand(0), m_Constant(&constant)) &&
        !constant.isSplat() && !isa<DenseStringElementsAttr>(constant))
      forms.noteFolded(makeConstant(constant.reshape(type), op), value.form);
    return success();
  }
  const Form *source = getTensor(op->getOperand(0)).form;
  if (!isDenseConstant(*source))
    return success();
  Form constant = *source;
  constant.shape = getSizes(value.dims);
  constant.digest.clear();
  const Form *known = forms.find(constant);
  if (!known)
    return success();
  if (value.form->isOfReference)
    addWay(result, known, value);
  else
    value.form = known;
  return setTensor(op, result, std::move(value));
}

/// A tensor of one element: undefined, or a scalar's value.
LogicalResult LocalLifter::liftUniform(Operation *op, const Form *form) {
  LocalValue value;
  value.form = form;
  for (int64_t extent :
       cast<RankedTensorType>(op->getResultTypes()[0]).getShape())
    value.dims.push_back({kAnySize, extent});
  return setTensor(op, op->getResult(0), std::move(value));
}

/// An op with scalar results.
LogicalResult LocalLifter::liftScalar(Operation *op) {
  BodyLifter body(*this, {});
  if (failed(body.lift(op)))
    return failure();
  for (Value result : op->getResults())
    scalars[result] = *body.get(op, result);
  return success();
}

LogicalResult LocalLifter::liftOther(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  if (select && isa<TensorType>(select.getType()) &&
      select.getCondition().getType().isInteger(1))
    return liftSelect(select);
  bool isScalar = llvm::all_of(op->getResultTypes(), [](Type type) {
    return type.isIntOrIndexOrFloat();
  });
  if (isScalar && op->getNumRegions() == 0 && op->getNumResults() > 0)
    return liftScalar(op);
  if (forms.isOfReals())
    return liftUninterpreted(op);
  return op->emitOpError("is not known to the proof (lib/Verify/Sums): it may "
                         "have an order that cannot be followed");
}

/// An op that is not known: some function of tensors that each rank has all of.
LogicalResult LocalLifter::liftUninterpreted(Operation *op) {
  if (dependsOnRank(op))
    return op->emitOpError("has collectives or indices of ranks inside, which "
                           "cannot be followed");
  llvm::SetVector<Value> captured;
  Form form{FormKind::Tensor, op->getName().getStringRef().str(),
            describeOp(op, captured)};
  SmallVector<Value> operands(op->getOperands());
  llvm::append_range(operands, captured);
  for (Value operand : operands) {
    FailureOr<const Form *> whole = getWholeForm(
        op, operand,
        "is not known to the proof (lib/Verify/Sums), which takes it for a "
        "function of whole tensors: it has an operand with a dimension");
    if (failed(whole))
      return failure();
    form.operands.push_back(*whole);
  }
  for (OpResult result : op->getResults()) {
    Form one = form;
    one.details += " result " + std::to_string(result.getResultNumber());
    (void)setWhole(op, result, std::move(one));
  }
  return success();
}

LogicalResult LocalLifter::liftOp(Operation *op) {
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
      collapse && liftNestedGathers(collapse))
    return success();
  if (auto gather = dyn_cast<AllGatherOp>(op); gather && !isReference)
    liftUnitGathers(gather);
  auto isInside = [&](Value result) { return inside.contains(result); };
  if (op->getNumResults() > 0 && llvm::all_of(op->getResults(), isInside))
    return success();
  if (isStacked(op) ||
      (isa<tensor::ExpandShapeOp>(op) && inside.contains(op->getOperand(0))))
    return success();
  if (!liftRegrouped(op) && failed(liftAsIs(op)))
    return failure();
  carryWays(op);
  return success();
}

/// Whether an op's result may be seen in each way in which its operands are,
/// whatever that is told by.
static bool isMovement(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, OptimizationBarrierOp>(op) ||
         getCollectiveKind(op);
}

/// Whether it may be seen so if the one-rank program makes it, too.
static bool isElementwise(Operation *op) {
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  return isa<tensor::ConcatOp, tensor::PadOp, tensor::InsertSliceOp>(op) ||
         (linalg && linalg.getNumReductionLoops() == 0);
}

/// What is moved, or computed element by element, may be seen in each way in
/// which its operands were: which one is right may be known only of what is
/// made of it.
void LocalLifter::carryWays(Operation *op) {
  auto mayDiffer = [&](Value operand) { return otherWays.contains(operand); };
  auto isStack = [&](Value result) { return stacks.contains(result); };
  if (isGlobal || llvm::none_of(op->getOperands(), mayDiffer) ||
      (!isMovement(op) && !isElementwise(op)) ||
      llvm::any_of(op->getResults(), isStack))
    return;
  llvm::MapVector<Value, std::vector<LocalValue>> operands;
  for (Value operand : op->getOperands())
    if (auto it = otherWays.find(operand); it != otherWays.end() &&
                                           !it->second.empty() &&
                                           !stacks.contains(operand))
      operands[operand] = it->second;
  if (operands.empty())
    return;
  constexpr size_t kMaxWays = 8;
  SmallVector<std::pair<Value, LocalValue>> own;
  DenseMap<Value, std::vector<LocalValue>> made;
  for (Value result : op->getResults())
    if (auto it = tensors.find(result); it != tensors.end()) {
      own.push_back({result, it->second});
      made[result] = otherWays.lookup(result);
    }
  auto isNew = [&](Value result, const LocalValue &value) {
    auto isSame = [&](const LocalValue &other) {
      return other.form == value.form &&
             llvm::all_of(llvm::zip_equal(other.dims, value.dims),
                          [](auto dims) {
                            auto &[a, b] = dims;
                            return a.size == b.size && a.chunk == b.chunk;
                          });
    };
    return !llvm::any_of(made[result], isSame) &&
           llvm::none_of(own, [&](auto &entry) {
             return entry.first == result && isSame(entry.second);
           });
  };
  // One operand in another way, or each in its first, second, ... one.
  SmallVector<SmallVector<std::pair<Value, const LocalValue *>>> choices;
  size_t most = 0;
  for (auto &[operand, ways] : operands) {
    for (const LocalValue &way : ways)
      choices.push_back({{operand, &way}});
    most = std::max(most, ways.size());
  }
  if (operands.size() > 1)
    for (size_t i = 0; i < most; ++i) {
      choices.emplace_back();
      for (auto &[operand, ways] : operands)
        choices.back().push_back(
            {operand, &ways[std::min(i, ways.size() - 1)]});
    }
  QuietDiagnostics quiet(op->getContext());
  size_t numReductions = reductions.size(), numDeclared = declared.size();
  for (const auto &choice : choices) {
    SmallVector<std::pair<Value, LocalValue>> before;
    for (auto [operand, way] : choice) {
      before.push_back({operand, tensors.at(operand)});
      tensors[operand] = *way;
    }
    int64_t others = forms.countOthers();
    if (succeeded(liftAsIs(op)) &&
        (isMovement(op) || forms.countOthers() == others))
      for (auto &[result, value] : own)
        if (const LocalValue &other = getTensor(result);
            made[result].size() < kMaxWays && isNew(result, other))
          made[result].push_back(other);
    for (auto &[operand, value] : before)
      tensors[operand] = std::move(value);
  }
  for (auto &[result, value] : own) {
    tensors[result] = value;
    otherWays[result] = std::move(made[result]);
  }
  reductions.truncate(numReductions);
  declared.truncate(numDeclared);
}

/// Whether the one-rank program has all tensors that an op gives.
bool LocalLifter::hasKnownForms(Operation *op) const {
  return llvm::all_of(op->getResults(), [&](Value result) {
    auto it = tensors.find(result);
    return it != tensors.end() && it->second.form->isOfReference;
  });
}

/// A reshape that is no op on a rank may stand before this op in the one-rank
/// program. Each way to see an operand is right; one that gives forms that are
/// known is of use. False if there is only one, or none of use.
bool LocalLifter::liftRegrouped(Operation *op) {
  // The results of a function say what is expected; loops are followed once.
  if (isGlobal || isa<func::ReturnOp>(op) ||
      (op->getNumRegions() > 0 && !isa<linalg::LinalgOp, tensor::PadOp>(op)))
    return false;
  struct Operand {
    Value value;
    std::vector<LocalValue> ways;
  };
  std::vector<Operand> operands;
  constexpr size_t kMaxWays = 64;
  size_t count = 1;
  for (Value value :
       llvm::SmallSetVector<Value, 4>(op->operand_begin(), op->operand_end())) {
    auto it = tensors.find(value);
    if (it == tensors.end())
      continue;
    std::vector<LocalValue> ways =
        isReference ? otherWays.lookup(value) : findRegrouped(op, value);
    if (ways.empty() || count * (ways.size() + 1) > kMaxWays)
      continue;
    ways.insert(ways.begin(), it->second);
    count *= ways.size();
    operands.push_back({value, std::move(ways)});
  }
  if (count == 1)
    return false;
  QuietDiagnostics quiet(op->getContext());
  size_t numReductions = reductions.size(), numDeclared = declared.size();
  bool isDone = false;
  for (size_t way = 0; way < count && !isDone; ++way) {
    size_t left = way;
    for (const Operand &operand : operands) {
      tensors[operand.value] = operand.ways[left % operand.ways.size()];
      left /= operand.ways.size();
    }
    int64_t others = forms.countOthers();
    reductions.truncate(numReductions);
    declared.truncate(numDeclared);
    // What is only masked is known, although its elements are read nowhere
    // else.
    isDone = succeeded(liftAsIs(op)) &&
             (forms.countOthers() == others || (way == 0 && hasKnownForms(op)));
  }
  for (Operand &operand : operands)
    tensors[operand.value] = std::move(operand.ways.front());
  if (!isDone) {
    reductions.truncate(numReductions);
    declared.truncate(numDeclared);
  }
  return isDone;
}

LogicalResult LocalLifter::liftAsIs(Operation *op) {
  for (Type type : op->getResultTypes())
    if (!isFollowed(type))
      return op->emitOpError("makes a value of type ")
             << type << ", which cannot be followed";
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)))
    return liftConstant(op, constant);
  if (getCollectiveKind(op))
    return liftCollective(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](func::ReturnOp op) { return liftReturn(op); })
      .Case([&](linalg::LinalgOp op) { return liftLinalg(op); })
      .Case([&](MatmulOp op) { return liftMatmul(op); })
      .Case([&](scf::ForOp op) { return liftFor(op); })
      .Case([&](scf::WhileOp op) { return liftWhile(op); })
      .Case([&](scf::IfOp op) { return liftIf(op); })
      .Case([&](TakeOp op) { return liftTake(op); })
      .Case([&](AttentionOp op) { return liftAttention(op, op.getStart()); })
      .Case(
          [&](AttentionGradOp op) { return liftAttention(op, op.getStart()); })
      .Case([&](ScatterAddOp op) { return liftScatterAdd(op); })
      .Case([&](tensor::ExtractSliceOp op) { return liftExtractSlice(op); })
      .Case([&](tensor::InsertSliceOp op) { return liftInsertSlice(op); })
      .Case([&](tensor::PadOp op) { return liftPad(op); })
      .Case([&](tensor::ConcatOp op) { return liftConcat(op); })
      .Case([&](tensor::CollapseShapeOp op) {
        return foldConstant(op, liftCollapse(op));
      })
      .Case([&](tensor::ExpandShapeOp op) {
        return foldConstant(op, liftExpand(op));
      })
      // A copy: the table may grow, and move what is in it.
      .Case([&](tensor::CastOp op) {
        return setTensor(op, op, LocalValue(getTensor(op.getSource())));
      })
      .Case([&](OptimizationBarrierOp op) {
        for (auto [input, result] : llvm::zip(op.getInputs(), op.getResults()))
          if (failed(setTensor(op, result, LocalValue(getTensor(input)))))
            return failure();
        return success();
      })
      .Case([&](ShardOp op) -> LogicalResult {
        if (!isReference)
          return op.emitOpError("is an op of global programs");
        return setTensor(op, op, LocalValue(getTensor(op.getInput())));
      })
      .Case([&](tensor::EmptyOp op) {
        Form form{FormKind::Undefined, "undefined"};
        form.element = op.getType().getElementType();
        return liftUniform(op, forms.get(std::move(form)));
      })
      .Case([&](tensor::SplatOp op) {
        BodyLifter body(*this, {});
        FailureOr<const Form *> form = body.getForm(op, op.getInput());
        return failed(form) ? failure() : liftUniform(op, *form);
      })
      .Case([&](tensor::FromElementsOp op) -> LogicalResult {
        Form form{FormKind::Tensor, "from_elements"};
        if (failed(addWhole(op, op.getElements(), form)))
          return failure();
        return form.operands.size() == 1 ? liftUniform(op, form.operands[0])
                                         : setWhole(op, op, std::move(form));
      })
      .Default([&](Operation *op) { return liftOther(op); });
}

LogicalResult LocalLifter::run() {
  size_t numOps = func.getBody().front().getOperations().size();
  tensors.reserve(numOps);
  made.reserve(numOps);
  if (isReference)
    forms.reserve(numOps);
  if (failed(liftArguments()))
    return failure();
  for (Operation &op : func.getBody().front())
    if (failed(liftOp(&op)))
      return failure();
  if (isReference)
    forms.endReference();
  return success();
}
