// Numbers as people read them: the same text as in the tables.

const space = "\u00a0";

function formatScaled(value, step, units) {
  if (value < 0) return "\u2212" + formatScaled(-value, step, units);
  if (value < step) return Math.round(value) + space + units[0];
  let unit = 0;
  while (value >= step - 0.05 && unit + 1 < units.length) {
    value /= step;
    ++unit;
  }
  return value.toFixed(value < 9.9995 ? 3 : value < 99.995 ? 2 : 1) + space + units[unit];
}

const formatTime = (ns) => formatScaled(ns, 1000, ["ns", "\u00b5s", "ms", "s"]);
const formatBytes = (bytes) => formatScaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const formatCount = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

function formatShare(part, whole) {
  if (part === 0 || whole <= 0) return "0" + space + "%";
  if (part === whole) return "100" + space + "%";
  const hundredths = Math.trunc((part / whole) * 10000);
  return (hundredths === 0 ? "under 0.01" : (hundredths / 100).toFixed(2)) + space + "%";
}

// A label of an axis: no more digits than the distance of two labels needs.
function formatTick(value, distance, step, units) {
  if (Math.abs(value) < distance / 2) return "0";
  let unit = 0, scale = 1;
  while (value >= scale * step && unit + 1 < units.length) {
    scale *= step;
    ++unit;
  }
  let decimals = 0;
  for (let d = distance / scale; decimals < 6 && Math.abs(d - Math.round(d)) > 1e-6; d *= 10) ++decimals;
  return (value / scale).toFixed(decimals) + space + units[unit];
}

// The first of 1, 2, 5, 10, 20, ... that is at least `value`.
function niceStep(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  for (const factor of [1, 2, 5]) if (factor * power >= value) return factor * power;
  return 10 * power;
}

// The first index of sorted `list` whose key is above `value`.
function upperBound(list, value, key) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
