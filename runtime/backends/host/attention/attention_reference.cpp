// SPDX-License-Identifier: Apache-2.0

// Plain loops over all queries and keys.

#include "attention_reference.h"

#include "contract/attention_formulas.h"
#include "gemm_reference.h"
#include "problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::rt::test {

using detail::kStrideOf;

weft_rt_type Case::typeOf(int tensor) const {
  std::vector<void *> none(WEFT_RT_ATTENTION_NUM_BUFFERS);
  return detail::Problem(desc, none.data(), 0).typeOf(tensor);
}

static bool isIn(int tensor, const weft_rt_attention_dim &dim) {
  return dim.*kStrideOf[tensor] != 0;
}

/// Calls body(offset) for each index of the dims that the tensor has.
template <class Body> static void walk(const Case &c, int tensor, Body body) {
  int64_t count = 1;
  for (int i = 0; i < c.desc.num_dims; ++i)
    if (isIn(tensor, c.desc.dims[i]))
      count *= c.desc.dims[i].size;
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat, offset = 0;
    for (int i = c.desc.num_dims; i-- > 0;) {
      const weft_rt_attention_dim &dim = c.desc.dims[i];
      if (!isIn(tensor, dim))
        continue;
      offset += rest % dim.size * (dim.*kStrideOf[tensor]);
      rest /= dim.size;
    }
    body(offset);
  }
}

std::vector<int64_t> offsetsOf(const Case &c, int tensor) {
  std::vector<int64_t> offsets;
  walk(c, tensor, [&](int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

/// Reads any type, I1 and I32 included.
static double readElement(const Case &c, int tensor, int64_t offset) {
  const char *data = c.data[tensor].data();
  switch (c.typeOf(tensor)) {
  case WEFT_RT_I1:
    return data[offset];
  case WEFT_RT_I32:
    return reinterpret_cast<const int32_t *>(data)[offset];
  default:
    return readAs(data, c.typeOf(tensor), offset);
  }
}

std::vector<double> elementsOf(const Case &c, int tensor) {
  std::vector<double> elements;
  walk(c, tensor, [&](int64_t offset) {
    elements.push_back(readElement(c, tensor, offset));
  });
  return elements;
}

namespace {

template <class Number> class Evaluation {
public:
  Evaluation(const Case &c, int result, bool narrow)
      : c(c), result(result), narrow(narrow) {
    for (int i = 0; i < c.desc.num_dims; ++i)
      if (c.desc.dims[i].role >= WEFT_RT_ATTENTION_QUERY)
        dim[c.desc.dims[i].role] = &c.desc.dims[i];
    for (int tensor = 0; tensor < WEFT_RT_ATTENTION_NUM_BUFFERS; ++tensor)
      if (c.has(tensor))
        readAll(tensor);
  }

  std::vector<double> run();

private:
  int64_t size(int role) const { return dim[role]->size; }
  int64_t offset(int tensor, int role, int64_t index) const {
    return index * (dim[role]->*kStrideOf[tensor]);
  }
  /// An element at indices of two of the inner roles.
  Number at(int tensor, int role, int64_t i, int other, int64_t j) const {
    return values[tensor][size_t(base[tensor] + offset(tensor, role, i) +
                                 offset(tensor, other, j))];
  }
  void add(int tensor, int role, int64_t i, int other, int64_t j,
           Number value) {
    if (tensor == result)
      sums[size_t(base[tensor] + offset(tensor, role, i) +
                  offset(tensor, other, j))] += value;
  }
  Number product(int a, int64_t i, int b, int64_t j, int over) const;
  bool sees(int64_t i, int64_t j) const;
  Number retained(int64_t i, int64_t j) const;
  void scoreQuery(int64_t i);
  void forwardQuery(int64_t i);
  void backwardQuery(int64_t i);
  Number rounded(Number value) const;
  void readAll(int tensor);

  const Case &c;
  const int result;
  const bool narrow;
  const weft_rt_attention_dim *dim[6] = {};
  int64_t base[WEFT_RT_ATTENTION_NUM_BUFFERS];
  std::vector<Number> values[WEFT_RT_ATTENTION_NUM_BUFFERS];
  std::vector<Number> sums;
  std::vector<Number> score, slope; // of one query
};

constexpr int Q = WEFT_RT_ATTENTION_Q, K = WEFT_RT_ATTENTION_K,
              V = WEFT_RT_ATTENTION_V, OUT = WEFT_RT_ATTENTION_OUT,
              LSE = WEFT_RT_ATTENTION_LSE, DOUT = WEFT_RT_ATTENTION_DOUT,
              DQ = WEFT_RT_ATTENTION_DQ, DK = WEFT_RT_ATTENTION_DK,
              DV = WEFT_RT_ATTENTION_DV;
constexpr int QUERY = WEFT_RT_ATTENTION_QUERY, KEY = WEFT_RT_ATTENTION_KEY,
              DEPTH = WEFT_RT_ATTENTION_DEPTH, VALUE = WEFT_RT_ATTENTION_VALUE;

template <class Number> void Evaluation<Number>::readAll(int tensor) {
  for (int64_t offset : offsetsOf(c, tensor)) {
    if (size_t(offset) >= values[tensor].size())
      values[tensor].resize(size_t(offset) + 1);
    values[tensor][size_t(offset)] = Number(readElement(c, tensor, offset));
  }
}

template <class Number> Number Evaluation<Number>::rounded(Number value) const {
  if (!narrow)
    return value;
  char bits[2];
  writeAs(bits, WEFT_RT_BF16, 0, double(value));
  return Number(readAs(bits, WEFT_RT_BF16, 0));
}

template <class Number>
Number Evaluation<Number>::product(int a, int64_t i, int b, int64_t j,
                                   int over) const {
  Number sum = 0;
  for (int64_t d = 0; d < size(over); ++d)
    sum += at(a, QUERY, i, over, d) * at(b, b == OUT ? QUERY : KEY, j, over, d);
  return sum;
}

template <class Number>
bool Evaluation<Number>::sees(int64_t i, int64_t j) const {
  const int64_t p = c.queryStart + i;
  if ((c.desc.left >= 0 && j < p - c.desc.left) ||
      (c.desc.right >= 0 && j > p + c.desc.right))
    return false;
  constexpr int ofQueries = WEFT_RT_ATTENTION_Q_SEGMENTS,
                ofKeys = WEFT_RT_ATTENTION_K_SEGMENTS;
  return !c.has(ofQueries) ||
         at(ofQueries, QUERY, i, QUERY, 0) == at(ofKeys, KEY, j, KEY, 0);
}

/// What the weight of a key is multiplied by.
template <class Number>
Number Evaluation<Number>::retained(int64_t i, int64_t j) const {
  if (c.desc.dropout == 0)
    return 1;
  auto seed = [&](int tensor) {
    const int64_t place = base[tensor] + offset(tensor, QUERY, i);
    return reinterpret_cast<const uint32_t *>(c.data[tensor].data())[place];
  };
  RandomWords<uint32_t> words = {uint32_t(j / 32 * 16 + j % 16), 0};
  threefry(seed(WEFT_RT_ATTENTION_LOW_SEEDS),
           seed(WEFT_RT_ATTENTION_HIGH_SEEDS), words);
  const uint32_t bits = j % 32 < 16 ? words.first : words.second;
  return double(bits) < std::floor(double(c.desc.dropout) * 0x1p32)
             ? Number(0)
             : Number(1 / (1 - Number(c.desc.dropout)));
}

/// Scores, and what their gradients are multiplied by.
template <class Number> void Evaluation<Number>::scoreQuery(int64_t i) {
  const Number cap = c.desc.softcap;
  for (int64_t j = 0; j < size(KEY); ++j) {
    Number &s = score[size_t(j)], &g = slope[size_t(j)];
    s = product(Q, i, K, j, DEPTH) * Number(c.desc.scale);
    g = Number(c.desc.scale);
    if (cap != 0) {
      Number t = std::tanh(s / cap);
      s = cap * t;
      g *= 1 - t * t;
    }
    if (c.has(WEFT_RT_ATTENTION_BIAS))
      s += at(WEFT_RT_ATTENTION_BIAS, QUERY, i, KEY, j);
    if (c.has(WEFT_RT_ATTENTION_MASK) &&
        at(WEFT_RT_ATTENTION_MASK, QUERY, i, KEY, j) == 0) {
      s = c.desc.fill;
      g = 0;
    }
    if (!sees(i, j))
      s = -std::numeric_limits<Number>::infinity();
  }
}

template <class Number> void Evaluation<Number>::forwardQuery(int64_t i) {
  constexpr Number none = -std::numeric_limits<Number>::infinity();
  Number max = none, sum = 0;
  for (Number s : score)
    max = std::max(max, s);
  if (max == none) {
    add(LSE, QUERY, i, QUERY, 0, none);
    return;
  }
  for (Number &s : score)
    sum += s = std::exp(s - max);
  add(LSE, QUERY, i, QUERY, 0, max + std::log(sum));
  for (int64_t j = 0; j < size(KEY); ++j)
    for (int64_t d = 0; d < size(VALUE); ++d)
      add(OUT, QUERY, i, VALUE, d,
          rounded(score[size_t(j)] / sum * retained(i, j)) *
              at(V, KEY, j, VALUE, d));
}

template <class Number> void Evaluation<Number>::backwardQuery(int64_t i) {
  const Number lse = at(LSE, QUERY, i, QUERY, 0);
  if (lse == -std::numeric_limits<Number>::infinity())
    return;
  const Number delta = product(DOUT, i, OUT, i, VALUE);
  // An lse of such a size has lost the logarithm of the sum.
  Number max = lse, sum = 1;
  if (std::abs(lse) > 256) {
    max = -std::numeric_limits<Number>::infinity(), sum = 0;
    for (int64_t j = 0; j < size(KEY); ++j)
      if (sees(i, j))
        max = std::max(max, score[size_t(j)]);
    for (int64_t j = 0; j < size(KEY); ++j)
      if (sees(i, j))
        sum += std::exp(score[size_t(j)] - max);
  }
  for (int64_t j = 0; j < size(KEY); ++j) {
    if (!sees(i, j))
      continue;
    const Number p = std::exp(score[size_t(j)] - max) / sum;
    const Number r = retained(i, j);
    const Number dp = product(DOUT, i, V, j, VALUE) * r;
    const Number ds = rounded(p * (dp - delta) * slope[size_t(j)]);
    for (int64_t d = 0; d < size(VALUE); ++d)
      add(DV, KEY, j, VALUE, d, rounded(p * r) * at(DOUT, QUERY, i, VALUE, d));
    for (int64_t d = 0; d < size(DEPTH); ++d) {
      add(DQ, QUERY, i, DEPTH, d, ds * at(K, KEY, j, DEPTH, d));
      add(DK, KEY, j, DEPTH, d, ds * at(Q, QUERY, i, DEPTH, d));
    }
  }
}

template <class Number> std::vector<double> Evaluation<Number>::run() {
  std::vector<int64_t> offsets = offsetsOf(c, result);
  for (int64_t offset : offsets)
    if (size_t(offset) >= sums.size())
      sums.resize(size_t(offset) + 1);
  score.resize(size_t(size(KEY)));
  slope.resize(size_t(size(KEY)));
  int64_t heads = 1;
  for (int i = 0; i < c.desc.num_dims; ++i)
    if (c.desc.dims[i].role < QUERY)
      heads *= c.desc.dims[i].size;
  for (int64_t head = 0; head < heads; ++head) {
    std::fill(std::begin(base), std::end(base), 0);
    int64_t rest = head;
    for (int i = c.desc.num_dims; i-- > 0;) {
      const weft_rt_attention_dim &d = c.desc.dims[i];
      if (d.role >= QUERY)
        continue;
      for (int tensor = 0; tensor < WEFT_RT_ATTENTION_NUM_BUFFERS; ++tensor)
        base[tensor] += rest % d.size * (d.*kStrideOf[tensor]);
      rest /= d.size;
    }
    for (int64_t i = 0; i < size(QUERY); ++i) {
      scoreQuery(i);
      c.desc.backward ? backwardQuery(i) : forwardQuery(i);
    }
  }
  std::vector<double> elements;
  for (int64_t offset : offsets)
    elements.push_back(double(sums[size_t(offset)]));
  return elements;
}

} // namespace

template <class Number>
std::vector<double> evaluateAttention(const Case &c, int tensor, bool narrow) {
  return Evaluation<Number>(c, tensor, narrow).run();
}

template std::vector<double> evaluateAttention<float>(const Case &, int, bool);
template std::vector<double> evaluateAttention<double>(const Case &, int, bool);

} // namespace weft::rt::test
