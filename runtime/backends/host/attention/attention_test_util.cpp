// SPDX-License-Identifier: Apache-2.0

// Cases with random shapes, strides and values, and comparisons between runs.

#include "attention_test_util.h"

#include "problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

namespace weft::rt::test {

using detail::kStrideOf;

namespace {

constexpr int kTensors = WEFT_RT_ATTENTION_NUM_BUFFERS;
constexpr int BIAS = WEFT_RT_ATTENTION_BIAS, MASK = WEFT_RT_ATTENTION_MASK,
              SEGQ = WEFT_RT_ATTENTION_Q_SEGMENTS,
              SEGK = WEFT_RT_ATTENTION_K_SEGMENTS,
              LOW = WEFT_RT_ATTENTION_LOW_SEEDS,
              HIGH = WEFT_RT_ATTENTION_HIGH_SEEDS;

/// Whether a tensor has dims of a role; those of scores may lack any.
bool hasRole(int tensor, int role) {
  const bool ofKeys = tensor == WEFT_RT_ATTENTION_K ||
                      tensor == WEFT_RT_ATTENTION_V || tensor == SEGK ||
                      tensor == WEFT_RT_ATTENTION_DK ||
                      tensor == WEFT_RT_ATTENTION_DV;
  const bool ofScores = tensor == BIAS || tensor == MASK;
  switch (role) {
  case WEFT_RT_ATTENTION_BATCH:
    return true;
  case WEFT_RT_ATTENTION_GROUP:
    return !ofKeys;
  case WEFT_RT_ATTENTION_QUERY:
    return !ofKeys;
  case WEFT_RT_ATTENTION_KEY:
    return ofKeys || ofScores;
  case WEFT_RT_ATTENTION_DEPTH:
    return tensor == WEFT_RT_ATTENTION_Q || tensor == WEFT_RT_ATTENTION_K ||
           tensor == WEFT_RT_ATTENTION_DQ || tensor == WEFT_RT_ATTENTION_DK;
  default:
    return tensor == WEFT_RT_ATTENTION_V || tensor == WEFT_RT_ATTENTION_OUT ||
           tensor == WEFT_RT_ATTENTION_DOUT || tensor == WEFT_RT_ATTENTION_DV;
  }
}

/// Whether a tensor may be the same for all of a dim that it could have.
bool mayLackDims(int tensor) { return tensor >= BIAS && tensor <= HIGH; }

int64_t bytesIn(weft_rt_type type) { return detail::bytesOfType(type); }

double uniform(Random &random) {
  return (double(random.below(1 << 20)) - (1 << 19)) * 0x1p-19;
}

void fill(Random &random, Case &c, int tensor) {
  std::vector<char> &data = c.data[tensor];
  const weft_rt_type type = c.typeOf(tensor);
  for (size_t i = 0; i < data.size() / size_t(bytesIn(type)); ++i)
    switch (tensor) {
    case MASK:
      data[i] = random.below(4) != 0;
      break;
    case SEGQ:
    case SEGK:
      reinterpret_cast<int32_t *>(data.data())[i] = int32_t(random.below(3));
      break;
    case LOW:
    case HIGH:
      reinterpret_cast<uint32_t *>(data.data())[i] =
          uint32_t(random.below(int64_t(1) << 32));
      break;
    default:
      writeAs(data.data(), type, int64_t(i), 2 * uniform(random));
    }
}

/// Gives a tensor a memory order, padding and, if allowed, broadcasts, and as
/// many elements.
void layOut(Random &random, Case &c, int tensor, bool anyOrder) {
  std::vector<int> order;
  for (int i = 0; i < c.desc.num_dims; ++i) {
    c.desc.dims[i].*kStrideOf[tensor] = 0;
    if (hasRole(tensor, c.desc.dims[i].role))
      order.push_back(i);
  }
  const bool mayLack = mayLackDims(tensor);
  const bool padded = anyOrder && random.below(3) == 0;
  if (anyOrder && random.below(2))
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[size_t(random.below(int64_t(i)))]);
  int64_t stride = padded ? 1 + random.below(2) : 1;
  for (size_t i = order.size(); i-- > 0;) {
    weft_rt_attention_dim &dim = c.desc.dims[order[i]];
    const bool isSequence = dim.role == WEFT_RT_ATTENTION_QUERY ||
                            dim.role == WEFT_RT_ATTENTION_KEY;
    if (anyOrder && mayLack && random.below(isSequence ? 6 : 2) == 0)
      continue;
    dim.*kStrideOf[tensor] = stride;
    stride = stride * std::max<int64_t>(1, dim.size) +
             (padded ? random.below(3) : 0);
  }
  c.data[tensor].assign(size_t((stride + 1) * bytesIn(c.typeOf(tensor))), 0);
}

void addDim(Case &c, int32_t role, int64_t size) {
  weft_rt_attention_dim &dim = c.desc.dims[c.desc.num_dims++];
  dim.role = role;
  dim.size = size;
}

void addTensors(Random &random, Case &c, bool anyOrder) {
  for (int tensor :
       {WEFT_RT_ATTENTION_Q, WEFT_RT_ATTENTION_K, WEFT_RT_ATTENTION_V,
        WEFT_RT_ATTENTION_OUT, WEFT_RT_ATTENTION_LSE}) {
    layOut(random, c, tensor, anyOrder);
    fill(random, c, tensor);
  }
}

Case emptyCase(weft_rt_type type) {
  Case c;
  c.desc.type = c.desc.type_bias = type;
  c.desc.type_dq = c.desc.type_dk = c.desc.type_dv = type;
  c.desc.scale = 1;
  c.desc.left = c.desc.right = -1;
  return c;
}

} // namespace

Case plainCase(Random &random, weft_rt_type type, Sizes sizes) {
  Case c = emptyCase(type);
  addDim(c, WEFT_RT_ATTENTION_BATCH, sizes.batches);
  addDim(c, WEFT_RT_ATTENTION_GROUP, sizes.groups);
  addDim(c, WEFT_RT_ATTENTION_QUERY, sizes.queries);
  addDim(c, WEFT_RT_ATTENTION_KEY, sizes.keys);
  addDim(c, WEFT_RT_ATTENTION_DEPTH, sizes.depth);
  addDim(c, WEFT_RT_ATTENTION_VALUE, sizes.value);
  addTensors(random, c, false);
  return c;
}

void addBias(Random &random, Case &c) {
  if (random.below(2))
    c.desc.type_bias = WEFT_RT_F32;
  layOut(random, c, BIAS, true);
  fill(random, c, BIAS);
}

void addMask(Random &random, Case &c, float fillValue) {
  c.desc.fill = fillValue;
  layOut(random, c, MASK, true);
  fill(random, c, MASK);
}

void addSegments(Random &random, Case &c) {
  for (int tensor : {SEGQ, SEGK}) {
    layOut(random, c, tensor, true);
    fill(random, c, tensor);
  }
}

void addDropout(Random &random, Case &c, float dropout) {
  c.desc.dropout = dropout;
  for (int tensor : {LOW, HIGH}) {
    layOut(random, c, tensor, true);
    fill(random, c, tensor);
  }
}

static void addExtras(Random &random, Case &c) {
  if (random.below(4) == 0)
    addBias(random, c);
  if (random.below(4) == 0)
    addMask(random, c,
            random.below(2) ? -1e9f : -std::numeric_limits<float>::infinity());
  if (random.below(4) == 0)
    addSegments(random, c);
  if (random.below(4) == 0)
    addDropout(random, c, float(random.below(4)) * 0.25f);
  if (random.below(4) == 0)
    c.desc.softcap = float(1 + random.below(5));
  if (random.below(12) == 0)
    c.desc.scale = -c.desc.scale;
}

static void addBounds(Random &random, Case &c, int64_t queries, int64_t keys) {
  if (random.below(2))
    c.desc.right = random.below(2) ? 0 : random.below(keys + 1);
  if (random.below(3) == 0)
    c.desc.left = random.below(2) ? random.below(9) : random.below(keys + 1);
  if (random.below(2))
    c.queryStart = random.below(2 * (queries + keys)) - queries - keys / 2;
}

Case randomCase(Random &random, weft_rt_type type, int64_t most) {
  constexpr int64_t sizes[] = {1, 2, 3, 5, 16, 17, 31, 64, 65, 128, 130};
  auto size = [&](int64_t limit) {
    int64_t value = sizes[random.below(int64_t(std::size(sizes)))];
    return value <= limit ? value : 1 + random.below(limit);
  };
  Case c = emptyCase(type);
  const int64_t queries = size(most), keys = size(most), depth = size(most / 2),
                value = random.below(2) ? depth : size(most / 2);
  std::vector<std::pair<int32_t, int64_t>> dims = {
      {WEFT_RT_ATTENTION_QUERY, queries},
      {WEFT_RT_ATTENTION_KEY, keys},
      {WEFT_RT_ATTENTION_DEPTH, depth},
      {WEFT_RT_ATTENTION_VALUE, value}};
  for (int64_t n = random.below(5); n > 0; --n)
    dims.push_back({int32_t(random.below(2)), 1 + random.below(2)});
  for (size_t i = dims.size(); i > 1; --i)
    std::swap(dims[i - 1], dims[size_t(random.below(int64_t(i)))]);
  for (auto [role, extent] : dims)
    addDim(c, role, extent);
  c.desc.scale = float(1 / std::sqrt(double(depth)));
  addTensors(random, c, true);
  addBounds(random, c, queries, keys);
  addExtras(random, c);
  return c;
}

void layOutAnew(Random &random, Case &c) {
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    if (!c.has(tensor))
      continue;
    Case old = c;
    std::vector<int64_t> from = offsetsOf(old, tensor);
    const bool mayLack = mayLackDims(tensor);
    if (mayLack)
      continue;
    layOut(random, c, tensor, true);
    std::vector<int64_t> to = offsetsOf(c, tensor);
    const size_t bytes = size_t(bytesIn(c.typeOf(tensor)));
    for (size_t i = 0; i < to.size(); ++i)
      std::copy_n(&old.data[tensor][size_t(from[i]) * bytes], bytes,
                  &c.data[tensor][size_t(to[i]) * bytes]);
  }
}

std::string textOf(const Case &c) {
  std::ostringstream out;
  const weft_rt_attention &desc = c.desc;
  out << (desc.backward ? "gradient" : "forward") << " types " << desc.type
      << ' ' << desc.type_bias << ' ' << desc.type_dq << ' ' << desc.type_dk
      << ' ' << desc.type_dv << " scale " << desc.scale << " softcap "
      << desc.softcap << " fill " << desc.fill << " dropout " << desc.dropout
      << " left " << desc.left << " right " << desc.right << " start "
      << c.queryStart << " leaves " << desc.leaves;
  for (int tensor : {BIAS, MASK, SEGQ})
    out << (c.has(tensor) ? " with " : " no ") << tensor;
  for (int i = 0; i < desc.num_dims; ++i) {
    out << " [" << "BGQKDV"[desc.dims[i].role] << ' ' << desc.dims[i].size
        << ':';
    for (int tensor = 0; tensor < kTensors; ++tensor)
      out << ' ' << desc.dims[i].*kStrideOf[tensor];
    out << ']';
  }
  return out.str();
}

void runCase(Case &c, const ParallelFor &parallelFor) {
  void *buffers[kTensors];
  for (int tensor = 0; tensor < kTensors; ++tensor)
    buffers[tensor] = c.has(tensor) ? c.data[tensor].data() : nullptr;
  const char *reason = attentionReason(c.desc);
  if (!reason)
    reason = attentionBuffersReason(c.desc, buffers);
  if (reason) {
    std::fprintf(stderr, "%s: %s\n", reason, textOf(c).c_str());
    std::abort();
  }
  attention(c.desc, buffers, c.queryStart, parallelFor);
}

Case gradientOf(Random &random, const Case &forward, weft_rt_type typeDq,
                weft_rt_type typeDk, weft_rt_type typeDv, int leaves) {
  Case c = forward;
  c.desc.backward = 1;
  c.desc.type_dq = typeDq;
  c.desc.type_dk = typeDk;
  c.desc.type_dv = typeDv;
  c.desc.leaves = leaves;
  for (int tensor : {WEFT_RT_ATTENTION_DOUT, WEFT_RT_ATTENTION_DQ,
                     WEFT_RT_ATTENTION_DK, WEFT_RT_ATTENTION_DV}) {
    layOut(random, c, tensor, true);
    fill(random, c, tensor);
  }
  return c;
}

std::vector<int> resultsOf(const Case &c) {
  if (c.desc.backward)
    return {WEFT_RT_ATTENTION_DQ, WEFT_RT_ATTENTION_DK, WEFT_RT_ATTENTION_DV};
  return {WEFT_RT_ATTENTION_OUT, WEFT_RT_ATTENTION_LSE};
}

/// Bits, except that all NaNs are alike.
static std::string compareElements(const Case &got, const Case &want,
                                   int tensor, const std::vector<int64_t> &from,
                                   const std::vector<int64_t> &to) {
  const weft_rt_type type = want.typeOf(tensor);
  const size_t bytes = size_t(bytesIn(type));
  for (size_t i = 0; i < to.size(); ++i) {
    const char *x = &got.data[tensor][size_t(from[i]) * bytes];
    const char *y = &want.data[tensor][size_t(to[i]) * bytes];
    if (std::equal(x, x + bytes, y))
      continue;
    const double a = readAs(x, type, 0), b = readAs(y, type, 0);
    if (std::isnan(a) && std::isnan(b))
      continue;
    std::ostringstream out;
    out.precision(9);
    out << "tensor " << tensor << ", element " << i << " is " << a << ", not "
        << b;
    return out.str();
  }
  return "";
}

std::string compareResults(const Case &got, const Case &want) {
  for (int tensor : resultsOf(want)) {
    std::string text = compareElements(
        got, want, tensor, offsetsOf(got, tensor), offsetsOf(want, tensor));
    if (!text.empty())
      return text;
  }
  return "";
}

static double distance(const std::vector<double> &x,
                       const std::vector<double> &y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (!(x[i] == y[i]))
      sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}

/// Rounds what plain code computed to the result's type.
static void roundTo(weft_rt_type type, std::vector<double> &values) {
  char bits[8];
  for (double &value : values) {
    writeAs(bits, type, 0, value);
    value = readAs(bits, type, 0);
  }
}

std::string compareWithReference(const Case &c, bool narrow) {
  for (int tensor : resultsOf(c)) {
    std::vector<double> got = elementsOf(c, tensor);
    std::vector<double> want = evaluateAttention<double>(c, tensor);
    std::vector<double> plain = evaluateAttention<float>(c, tensor, narrow);
    roundTo(c.typeOf(tensor), plain);
    const double size = distance(want, std::vector<double>(want.size(), 0.0));
    const double error = distance(got, want),
                 errorOfPlain = distance(plain, want);
    // A few numbers may by chance be off by more. A gradient may be the
    // difference of equal numbers, which plain code sums in one order.
    const double slack =
        (narrow ? 0x1p-10 : 0x1p-23) * (std::isfinite(size) ? size : 1) +
        (c.desc.backward
             ? 1e-6 * std::sqrt(double(c.data[WEFT_RT_ATTENTION_DOUT].size()))
             : 0);
    if (error <= 1.25 * errorOfPlain + slack)
      continue;
    std::ostringstream out;
    out << "tensor " << tensor << " is off by " << error << ", plain code by "
        << errorOfPlain << ", of " << size;
    return out.str();
  }
  return "";
}

static weft_rt_attention_dim &queryDim(Case &c) {
  for (int i = 0; i < c.desc.num_dims; ++i)
    if (c.desc.dims[i].role == WEFT_RT_ATTENTION_QUERY)
      return c.desc.dims[i];
  std::abort();
}

Case sliceOf(const Case &c, int64_t first, int64_t count) {
  Case slice = c;
  weft_rt_attention_dim &query = queryDim(slice);
  query.size = count;
  slice.queryStart += first;
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    std::vector<char> &data = slice.data[tensor];
    if (data.empty())
      continue;
    const int64_t skipped =
        first * (query.*kStrideOf[tensor]) * bytesIn(c.typeOf(tensor));
    data.erase(data.begin(), data.begin() + skipped);
  }
  return slice;
}

std::string compareSlice(const Case &whole, const Case &slice, int64_t first) {
  Case part = sliceOf(whole, first, queryDim(const_cast<Case &>(slice)).size);
  for (int tensor : resultsOf(whole)) {
    if (tensor == WEFT_RT_ATTENTION_DK || tensor == WEFT_RT_ATTENTION_DV)
      continue;
    std::vector<int64_t> offsets = offsetsOf(part, tensor);
    std::string text = compareElements(slice, part, tensor, offsets, offsets);
    if (!text.empty())
      return text;
  }
  return "";
}

ParallelFor threeThreads() {
  return {3, nullptr,
          [](void *, int64_t n, void (*body)(void *, int64_t), void *context) {
            std::vector<std::thread> threads;
            for (int64_t t = 0; t < 3; ++t)
              threads.emplace_back([=] {
                for (int64_t i = t; i < n; i += 3)
                  body(context, i);
              });
            for (std::thread &thread : threads)
              thread.join();
          }};
}

} // namespace weft::rt::test
