// SPDX-License-Identifier: Apache-2.0

// Loops that reduce in a declared order (OrderAttr): leaves one after the
// other, their values in an array, from which a tree of additions makes the
// result. There are two forms.
//
// By rows: each result by itself, walking what it reduces. The terms of a block
// of elements are computed first, into a small array, by a loop that carries
// nothing and so becomes vector code. Then they are added one by one; or, with
// lanes, as vectors to a vector of accumulators, one lane each. The same code
// for whole and for partial blocks: the rest of the array holds the identity.
//
// By columns, where what lies next to each other are different results: for a
// tile of results, terms are added to arrays of accumulators, one for each leaf
// (or lane), along the tile.

#include "KernelLoops.h"
#include "weft/Codegen/Fusion/Orders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::weft {

namespace {

using Values = SmallVector<Value>;

/// Elements whose terms are computed at once.
constexpr int64_t kBlock = 64;
/// Shorter runs without lanes are computed element by element.
constexpr int64_t kMinBlock = 8;
/// Accumulators of a tile: what stays in the first-level cache.
constexpr int64_t kTileBytes = 16 << 10;

/// A result of the phase.
struct Sum {
  const Member *member;
  OpResult result;
  Combiner combiner;
  Type element;
  /// Arrays: of the leaves, and of a block's terms or of the lanes.
  Value leaves, terms;
};

} // namespace

/// Emits one phase.
class OrderedNest {
public:
  OrderedNest(LoopEmitter &emitter, const Phase &phase);
  void emit() { emitParallel(0); }

private:
  void emitParallel(unsigned depth);
  // Rows.
  void emitRow();
  Values emitRowLeaf(Value leaf);
  void emitBlocks(Value base, int64_t length, Values &carried);
  void emitBlock(Value base, int64_t length, Values &carried);
  Value halve(Sum &sum, Value vector);
  // Columns.
  void emitColumns();
  void emitTile();
  void emitColumnStep();
  void joinLanes(Value leaf);
  void emitAlongTile(llvm::function_ref<void(Value place)> body);
  // Both.
  void emitLeaf(Value leaf, Values &carried);
  void emitDims(unsigned depth, Values &carried);
  void emitRun(Value base, int64_t length, Values &carried);
  void emitStep(Values &carried);
  void delinearize(Value flat, unsigned numDims);
  Values emitTerms();
  Value joinLeaves(Sum &sum, int64_t first, int64_t count,
                   llvm::function_ref<Value(int64_t)> load);
  void finish(Sum &sum, Value tree);

  Values emitLoop(Value lower, Value upper, int64_t step, ValueRange carried,
                  llvm::function_ref<void(Value, Values &)> body);
  Value allocate(Type element, int64_t count);
  Value combine(Sum &sum, Value a, Value b);
  Value identity(Sum &sum, int64_t lanes);
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value multiply(Value a, int64_t b) {
    return b == 1 ? a : arith::MulIOp::create(builder, loc, a, number(b));
  }
  Value number(int64_t value) { return emitInt(builder, loc, value); }
  Value load(Type type, Value array, Value place);
  void store(Value value, Value array, Value place);

  LoopEmitter &emitter;
  const Phase &phase;
  const ReductionOrder &order;
  OpBuilder &builder;
  Location loc;
  SmallVectorImpl<Value> &index;
  SmallVector<Sum> sums;
  SmallVector<int> parallel;
  SmallVector<int64_t> sizes;
  int64_t count = 1;
  /// The dim along which tiles of columns lie, or -1.
  int column = -1;
  int64_t tile = 0;
  Value tileBegin, tileEnd;
  /// The place of the accumulators that a step of columns adds to.
  Value accumulators;
};

OrderedNest::OrderedNest(LoopEmitter &emitter, const Phase &phase)
    : emitter(emitter), phase(phase), order(*phase.order),
      builder(emitter.builder), loc(emitter.loc), index(emitter.index) {
  for (int dim : phase.loops)
    if (!llvm::is_contained(order.dims, dim))
      parallel.push_back(dim);
  for (int dim : order.dims) {
    sizes.push_back(emitter.shape.sizes[dim]);
    count *= sizes.back();
  }
  int64_t numArrays = order.leaves + (order.lanes > 1 ? order.lanes : 0);
  bool byColumns = !parallel.empty() && phase.loops.back() == parallel.back();
  int64_t columnBytes = 0;
  for (unsigned i : phase.members) {
    const Member &member = emitter.shape.members[i];
    if (!member.isReduction())
      continue;
    auto op =
        cast<linalg::LinalgOp>(linalg::GenericOp(member.op).getOperation());
    for (OpResult result : op->getResults()) {
      Type element = getElementTypeOrSelf(result.getType());
      sums.push_back({&member, result,
                      *getCombiner(op, result.getResultNumber()), element,
                      Value(), Value()});
      columnBytes +=
          numArrays * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    }
  }
  if (byColumns) {
    column = parallel.pop_back_val();
    tile = std::max<int64_t>(kTileBytes / columnBytes / 16, 1) * 16;
    tile = std::min(tile, emitter.shape.sizes[column]);
  }
  int64_t width = byColumns ? tile : 1;
  int64_t numTerms = byColumns ? order.lanes * tile : kBlock + order.lanes;
  for (Sum &sum : sums) {
    sum.leaves = allocate(sum.element, order.leaves * width);
    if (!byColumns || order.lanes > 1)
      sum.terms = allocate(sum.element, numTerms);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value OrderedNest::allocate(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  LLVM::LLVMFuncOp func = emitter.kernel.func;
  builder.setInsertionPointToStart(&func.getBody().front());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AllocaOp::create(builder, loc, pointer, getMemoryType(element),
                                number(count), /*alignment=*/64);
}

/// A scalar's or vector's type as LLVM has it.
static Type getLLVMType(Type type) {
  Type memory = getMemoryType(getElementTypeOrSelf(type));
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(memory)) : memory;
}

/// The same bits as another type.
static Value castBits(OpBuilder &builder, Location loc, Type type,
                      Value value) {
  return type == value.getType()
             ? value
             : arith::BitcastOp::create(builder, loc, type, value);
}

Value OrderedNest::load(Type type, Value array, Value place) {
  auto vector = dyn_cast<VectorType>(type);
  Type element = vector ? vector.getElementType() : type;
  Value address = emitAddress(builder, loc, array, element, place);
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  Value bits =
      LLVM::LoadOp::create(builder, loc, getLLVMType(type), address, alignment);
  return castBits(builder, loc, type, bits);
}

void OrderedNest::store(Value value, Value array, Value place) {
  Type element = getElementTypeOrSelf(value.getType());
  Value address = emitAddress(builder, loc, array, element, place);
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  Value bits = castBits(builder, loc, getLLVMType(value.getType()), value);
  LLVM::StoreOp::create(builder, loc, bits, address, alignment);
}

/// a + b: what was there first is in front.
Value OrderedNest::combine(Sum &sum, Value a, Value b) {
  OperationState state(loc, sum.combiner.op->getName(), {a, b}, a.getType());
  return builder.create(state)->getResult(0);
}

/// The identity, or a vector of it.
Value OrderedNest::identity(Sum &sum, int64_t lanes) {
  TypedAttr value = sum.combiner.identity;
  if (lanes > 1)
    value = DenseElementsAttr::get(VectorType::get(lanes, sum.element),
                                   Attribute(value));
  return arith::ConstantOp::create(builder, loc, value);
}

Values OrderedNest::emitLoop(Value lower, Value upper, int64_t step,
                             ValueRange carried,
                             function_ref<void(Value, Values &)> body) {
  auto loop =
      scf::ForOp::create(builder, loc, lower, upper, number(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Values values(loop.getRegionIterArgs());
  body(loop.getInductionVar(), values);
  if (!values.empty())
    scf::YieldOp::create(builder, loc, values);
  return Values(loop.getResults());
}

/// Computes all members for the current point, and gives what is to be added.
Values OrderedNest::emitTerms() {
  Values terms;
  SmallVector<LoopEmitter::Store> stores;
  for (unsigned i : phase.members) {
    const Member &member = emitter.shape.members[i];
    if (member.isReduction())
      emitter.emitTerms(member, terms);
    else
      emitter.emitMember(member, {}, stores);
  }
  emitter.emitStores(stores);
  return terms;
}

//===----------------------------------------------------------------------===//
// The walk of a leaf
//===----------------------------------------------------------------------===//

/// Sets the first dims from their flattened index.
void OrderedNest::delinearize(Value flat, unsigned numDims) {
  for (unsigned i = numDims; i-- > 1;) {
    Value size = number(sizes[i]);
    index[order.dims[i]] = arith::RemUIOp::create(builder, loc, flat, size);
    flat = arith::DivUIOp::create(builder, loc, flat, size);
  }
  if (numDims > 0)
    index[order.dims[0]] = flat;
}

/// A leaf is some steps of one dim, each with all of the dims after it; the
/// dims in front of it stay the same, unless the leaf ends within a run of the
/// dim.
void OrderedNest::emitLeaf(Value leaf, Values &carried) {
  int64_t length = count / order.leaves, part = 1;
  if (length == 0)
    return;
  unsigned inner = sizes.size();
  while (inner > 0 && length % (part * sizes[inner - 1]) == 0)
    part *= sizes[--inner];
  if (inner == 0)
    return emitDims(0, carried);
  unsigned cut = inner - 1;
  int64_t steps = length / part;
  Value first = multiply(leaf, steps);
  bool isLast = inner == sizes.size();
  if (sizes[cut] % steps == 0) {
    delinearize(first, inner);
    Value base = index[order.dims[cut]];
    if (isLast)
      return emitRun(base, steps, carried);
    carried = emitLoop(number(0), number(steps), 1, carried,
                       [&](Value step, Values &values) {
                         index[order.dims[cut]] = add(base, step);
                         emitDims(inner, values);
                       });
    return;
  }
  carried = emitLoop(number(0), number(steps), 1, carried,
                     [&](Value step, Values &values) {
                       delinearize(add(first, step), inner);
                       isLast ? emitStep(values) : emitDims(inner, values);
                     });
}

void OrderedNest::emitDims(unsigned depth, Values &carried) {
  Value zero = number(0);
  if (depth + 1 == sizes.size())
    return emitRun(zero, sizes[depth], carried);
  carried = emitLoop(zero, number(sizes[depth]), 1, carried,
                     [&](Value step, Values &values) {
                       index[order.dims[depth]] = step;
                       emitDims(depth + 1, values);
                     });
}

/// Walks elements of the last dim.
void OrderedNest::emitRun(Value base, int64_t length, Values &carried) {
  if (column < 0 && (order.lanes > 1 || length >= kMinBlock))
    return emitBlocks(base, length, carried);
  carried = emitLoop(
      number(0), number(length), 1, carried, [&](Value step, Values &values) {
        index[order.dims.back()] = add(base, step);
        if (order.lanes > 1)
          accumulators =
              multiply(arith::AndIOp::create(builder, loc, step,
                                             number(order.lanes - 1)),
                       tile);
        emitStep(values);
      });
}

void OrderedNest::emitStep(Values &carried) {
  if (column >= 0)
    return emitColumnStep();
  Values terms = emitTerms();
  for (auto [i, sum] : llvm::enumerate(sums))
    carried[i] = combine(sum, carried[i], terms[i]);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Walks elements of the last dim, the first of which is in the first lane.
void OrderedNest::emitBlocks(Value base, int64_t length, Values &carried) {
  int64_t block = std::max(kBlock, order.lanes);
  int64_t whole = length / block * block;
  if (whole > 0)
    carried = emitLoop(number(0), number(whole), block, carried,
                       [&](Value step, Values &values) {
                         emitBlock(add(base, step), block, values);
                       });
  if (whole < length)
    emitBlock(add(base, number(whole)), length - whole, carried);
}

void OrderedNest::emitBlock(Value base, int64_t length, Values &carried) {
  int64_t lanes = order.lanes;
  if (length % lanes != 0)
    for (Sum &sum : sums)
      store(identity(sum, lanes), sum.terms, number(length / lanes * lanes));
  emitLoop(number(0), number(length), 1, {}, [&](Value step, Values &) {
    index[order.dims.back()] = add(base, step);
    Values terms = emitTerms();
    for (auto [i, sum] : llvm::enumerate(sums))
      store(terms[i], sum.terms, step);
  });
  if (lanes == 1) {
    carried = emitLoop(
        number(0), number(length), 1, carried, [&](Value step, Values &values) {
          for (auto [i, sum] : llvm::enumerate(sums))
            values[i] =
                combine(sum, values[i], load(sum.element, sum.terms, step));
        });
    return;
  }
  for (auto [i, sum] : llvm::enumerate(sums))
    for (int64_t first = 0; first < length; first += lanes)
      carried[i] = combine(
          sum, carried[i],
          load(VectorType::get(lanes, sum.element), sum.terms, number(first)));
}

/// Joins the lanes: each with the one half of them away.
Value OrderedNest::halve(Sum &sum, Value vector) {
  auto getBits = [&] {
    return castBits(builder, loc, getLLVMType(vector.getType()), vector);
  };
  for (int32_t half = order.lanes / 2; half > 0; half /= 2) {
    Value bits = getBits();
    auto getPart = [&](int32_t first) {
      auto places = llvm::to_vector(llvm::seq<int32_t>(first, first + half));
      Value part =
          LLVM::ShuffleVectorOp::create(builder, loc, bits, bits, places);
      return castBits(builder, loc, VectorType::get(half, sum.element), part);
    };
    Value low = getPart(0);
    vector = combine(sum, low, getPart(half));
  }
  Value first =
      LLVM::ExtractElementOp::create(builder, loc, getBits(), number(0));
  return castBits(builder, loc, sum.element, first);
}

Values OrderedNest::emitRowLeaf(Value leaf) {
  Values carried;
  for (Sum &sum : sums)
    carried.push_back(identity(sum, order.lanes));
  emitLeaf(leaf, carried);
  if (order.lanes > 1)
    for (auto [i, sum] : llvm::enumerate(sums))
      carried[i] = halve(sum, carried[i]);
  return carried;
}

void OrderedNest::emitRow() {
  if (order.leaves == 1) {
    Values values = emitRowLeaf({});
    for (auto [i, sum] : llvm::enumerate(sums))
      finish(sum, values[i]);
    return;
  }
  emitLoop(number(0), number(order.leaves), 1, {}, [&](Value leaf, Values &) {
    Values values = emitRowLeaf(leaf);
    for (auto [i, sum] : llvm::enumerate(sums))
      store(values[i], sum.leaves, leaf);
  });
  for (Sum &sum : sums)
    finish(sum, joinLeaves(sum, 0, order.leaves, [&](int64_t leaf) {
             return load(sum.element, sum.leaves, number(leaf));
           }));
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Visits the results of a tile, with their places in arrays of accumulators.
void OrderedNest::emitAlongTile(function_ref<void(Value place)> body) {
  emitLoop(tileBegin, tileEnd, 1, {}, [&](Value position, Values &) {
    index[column] = position;
    body(arith::SubIOp::create(builder, loc, position, tileBegin));
  });
}

void OrderedNest::emitColumnStep() {
  emitAlongTile([&](Value place) {
    Values terms = emitTerms();
    Value at = add(accumulators, place);
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value array = order.lanes > 1 ? sum.terms : sum.leaves;
      Value old = load(sum.element, array, at);
      store(combine(sum, old, terms[i]), array, at);
    }
  });
}

/// Joins the lanes of each result to its leaf.
void OrderedNest::joinLanes(Value leaf) {
  Value row = multiply(leaf, tile);
  emitAlongTile([&](Value place) {
    for (Sum &sum : sums) {
      Values lanes;
      for (int64_t lane = 0; lane < order.lanes; ++lane)
        lanes.push_back(
            load(sum.element, sum.terms, add(place, number(lane * tile))));
      for (int64_t half = order.lanes / 2; half > 0; half /= 2)
        for (int64_t lane = 0; lane < half; ++lane)
          lanes[lane] = combine(sum, lanes[lane], lanes[lane + half]);
      store(lanes[0], sum.leaves, add(row, place));
    }
  });
}

void OrderedNest::emitTile() {
  auto clear = [&](int64_t numElements) {
    emitLoop(number(0), number(numElements), 1, {}, [&](Value at, Values &) {
      for (Sum &sum : sums)
        store(identity(sum, 1), order.lanes > 1 ? sum.terms : sum.leaves, at);
    });
  };
  if (order.lanes == 1)
    clear(order.leaves * tile);
  emitLoop(number(0), number(order.leaves), 1, {}, [&](Value leaf, Values &) {
    if (order.lanes > 1)
      clear(order.lanes * tile);
    else
      accumulators = multiply(leaf, tile);
    Values none;
    emitLeaf(leaf, none);
    if (order.lanes > 1)
      joinLanes(leaf);
  });
  emitAlongTile([&](Value place) {
    for (Sum &sum : sums)
      finish(sum, joinLeaves(sum, 0, order.leaves, [&](int64_t leaf) {
               return load(sum.element, sum.leaves,
                           add(place, number(leaf * tile)));
             }));
  });
}

void OrderedNest::emitColumns() {
  bool isCut = column == emitter.shape.cutDim;
  Value lower = isCut ? emitter.kernel.begin : number(0);
  Value upper =
      isCut ? emitter.kernel.end : number(emitter.shape.sizes[column]);
  emitLoop(lower, upper, tile, {}, [&](Value begin, Values &) {
    tileBegin = begin;
    tileEnd =
        arith::MinSIOp::create(builder, loc, add(begin, number(tile)), upper);
    emitTile();
  });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Value OrderedNest::joinLeaves(Sum &sum, int64_t first, int64_t count,
                              function_ref<Value(int64_t)> load) {
  if (count == 1)
    return load(first);
  int64_t split = llvm::bit_ceil(uint64_t(count)) / 2;
  Value left = joinLeaves(sum, first, split, load);
  Value right = joinLeaves(sum, first + split, count - split, load);
  return combine(sum, left, right);
}

/// Adds the init, and stores the result. A tree of sums starts from +0 and so
/// is never -0: adding a zero to it would change nothing.
void OrderedNest::finish(Sum &sum, Value tree) {
  Value init = emitter.emitInit(*sum.member, sum.result);
  Attribute constant;
  bool isIdentity = matchPattern(init, m_Constant(&constant)) &&
                    (constant == sum.combiner.identity ||
                     (isa<arith::AddFOp>(sum.combiner.op) &&
                      matchPattern(init, m_AnyZeroFloat())));
  Value value = isIdentity ? tree : combine(sum, init, tree);
  if (emitter.shape.isRowScalar(sum.result))
    emitter.scalars.map(sum.result, value);
  emitter.forEachPlace(*sum.member, sum.result, [&](Value address) {
    emitStore(builder, loc, value, address);
  });
}

void OrderedNest::emitParallel(unsigned depth) {
  if (depth == parallel.size())
    return column >= 0 ? emitColumns() : emitRow();
  Values none;
  emitter.emitForLoop(
      parallel[depth], {},
      [&](SmallVectorImpl<Value> &) { emitParallel(depth + 1); }, none);
}

void LoopEmitter::emitOrderedPhase(const Phase &phase) {
  OrderedNest(*this, phase).emit();
}

} // namespace mlir::weft
