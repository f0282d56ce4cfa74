// Memory over time, and the arena: whose bytes lie where, and when.

const memoryHeight = 170, arenaHeight = 150;
const memoryTop = axisHeight + 4;
const memoryCeiling = Math.max(1, ...schedules.map((schedule) =>
  Math.max(schedule.peakBytes, schedule.memoryLimit && schedule.memoryLimit < 1.5 * schedule.peakBytes ? schedule.memoryLimit : 0))) * 1.08;
let memoryAt = null;
let hoveredOwner = null;

const toMemoryY = (bytes, height) => height - 4 - (bytes / memoryCeiling) * (height - 4 - memoryTop);

// The curve is a staircase: the value at a point holds until the next one.
function bytesAt(schedule, ns) {
  const index = upperBound(schedule.memory.ns, ns, (at) => at) - 1;
  return index < 0 ? 0 : schedule.memory.bytes[index];
}

// The corners of the curve in view: per pixel the highest value, so that a peak
// is never lost.
function memoryCorners(schedule, width) {
  const { ns, bytes } = schedule.memory, corners = [];
  let index = Math.max(0, upperBound(ns, view.begin, (at) => at) - 1);
  let last = -1;
  for (; index < ns.length && ns[index] <= view.end; ++index) {
    const x = Math.max(toX(ns[index], width), gutter(width)), pixel = Math.floor(x);
    if (pixel === last && corners.length) corners[corners.length - 1].high = Math.max(corners[corners.length - 1].high, bytes[index]);
    else corners.push({ x, high: bytes[index], after: 0 });
    corners[corners.length - 1].after = bytes[index];
    last = pixel;
  }
  return corners;
}

function paintCurve(context, schedule, width, height, colour, isFilled) {
  const corners = memoryCorners(schedule, width), end = Math.min(toX(schedule.stepNs, width), width);
  if (!corners.length) return;
  const stairs = new Path2D(), first = corners[0], last = corners[corners.length - 1];
  stairs.moveTo(first.x, toMemoryY(first.high, height));
  corners.forEach((corner, i) => {
    if (i > 0) stairs.lineTo(corner.x, toMemoryY(corners[i - 1].after, height));
    stairs.lineTo(corner.x, toMemoryY(corner.high, height));
    if (corner.high !== corner.after) stairs.lineTo(corner.x + 1, toMemoryY(corner.after, height));
  });
  stairs.lineTo(end, toMemoryY(last.after, height));
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  context.stroke(stairs);
  if (!isFilled) return;
  stairs.lineTo(end, toMemoryY(0, height));
  stairs.lineTo(first.x, toMemoryY(0, height));
  context.globalAlpha = 0.35;
  context.fill(stairs);
  context.globalAlpha = 1;
}

function paintLevel(context, bytes, label, width, height, colour, atLeft = false) {
  const y = Math.round(toMemoryY(bytes, height)) + 0.5;
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.setLineDash([5, 4]);
  context.beginPath();
  context.moveTo(gutter(width), y);
  context.lineTo(width, y);
  context.stroke();
  context.setLineDash([]);
  context.font = font(11);
  context.textAlign = atLeft ? "left" : "right";
  context.fillStyle = colours.text;
  context.fillText(label, atLeft ? gutter(width) + 6 : width - 6, y - 4);
  context.textAlign = "left";
}

function paintMemoryAxis(context, width, height) {
  const power = 1024 ** Math.floor(Math.log(memoryCeiling) / Math.log(1024));
  const distance = Math.max(1, niceStep(memoryCeiling / power / 4) * power);
  context.font = font(11);
  context.textAlign = "right";
  for (let at = 0; at < memoryCeiling; at += distance) {
    const y = Math.round(toMemoryY(at, height));
    context.fillStyle = colours.faint;
    context.fillRect(gutter(width), y, width, 1);
    context.fillStyle = colours.muted;
    context.fillText(formatTick(at, distance, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]), gutter(width) - 8, y + 4);
  }
  context.textAlign = "left";
}

const curveColour = (index) => (index === 0 ? colours.gather : colours.second);

function paintMemory(context, width, height) {
  paintTimeAxis(context, width, height, 15);
  paintMemoryAxis(context, width, height);
  schedules.forEach((schedule, i) => paintCurve(context, schedule, width, height, curveColour(i), i === 0));
  schedules.forEach((schedule, i) => {
    const of = schedules.length > 1 ? schedule.policy + ": " : "";
    paintLevel(context, schedule.peakBytes, `${of}peak ${formatBytes(schedule.peakBytes)}`, width, height, curveColour(i), i > 0);
  });
  const limit = schedules[0].memoryLimit;
  if (limit && limit < memoryCeiling) paintLevel(context, limit, `limit ${formatBytes(limit)}`, width, height, colours.wait, true);
  if (memoryAt !== null) {
    const x = toX(memoryAt, width);
    context.fillStyle = colours.text;
    if (x >= gutter(width)) context.fillRect(Math.round(x), memoryTop, 1, height);
  }
}

// The buffers that live at a time, the largest first.
function ownersAt(schedule, ns) {
  const { begin, end, bytes } = schedule.owners, alive = [];
  for (let i = 0; i < begin.length; ++i) if (begin[i] <= ns && ns < end[i]) alive.push(i);
  return alive.sort((a, b) => bytes[b] - bytes[a]);
}

function describeMemory(ns) {
  const lines = [formatTime(ns)];
  for (const schedule of schedules) {
    const total = bytesAt(schedule, ns), owners = ownersAt(schedule, ns);
    lines.push([`${schedules.length > 1 ? schedule.policy + ": " : ""}${formatBytes(total)} alive in ${formatCount(owners.length)} buffers`, "why"]);
    if (schedules.length > 1) continue;
    for (const i of owners.slice(0, 8)) lines.push(`${formatBytes(schedule.owners.bytes[i])} ${schedule.names[schedule.owners.name[i]]}`);
    if (owners.length > 8) lines.push(`and ${formatCount(owners.length - 8)} smaller ones`);
  }
  return lines;
}

// Fills the table below the curve with the buffers that live at a time.
function listOwners(ns) {
  const table = document.getElementById("owners"), schedule = schedules[0];
  if (!table) return;
  const total = bytesAt(schedule, ns), { name, bytes, begin, end, offset } = schedule.owners;
  let rest = total;
  const addRow = (cells) => {
    const row = document.createElement("tr");
    cells.forEach((text, i) => {
      const cell = document.createElement(i === 0 ? "th" : "td");
      if (i === 0) cell.scope = "row";
      else cell.className = "number";
      cell.textContent = text;
      row.append(cell);
    });
    return row;
  };
  const list = ownersAt(schedule, ns).map((i) => {
    rest -= bytes[i];
    return addRow([schedule.names[name[i]], formatBytes(bytes[i]), formatShare(bytes[i], total), formatTime(begin[i]),
                   formatTime(end[i]), offset[i] < 0 ? "" : formatCount(offset[i])]);
  });
  if (rest > 0) list.push(addRow(["arguments and results", formatBytes(rest), formatShare(rest, total), formatTime(0), formatTime(schedule.stepNs), ""]));
  table.tBodies[0].replaceChildren(...list);
  table.caption.textContent = `Alive at ${formatTime(ns)}: ${formatBytes(total)}`;
}

const arenaSize = (schedule) => schedule.arenaBytes ||
  schedule.owners.offset.reduce((size, offset, i) => Math.max(size, offset < 0 ? 0 : offset + schedule.owners.bytes[i]), 1);

// Buffers that start as gathered or reduced data have the colour of their row.
function ownerColour(name) {
  if (/gather/.test(name)) return "gather";
  return /reduce/.test(name) ? "reduce" : "compute";
}

function paintArena(context, width, height) {
  const schedule = schedules[0], { name, bytes, begin, end, offset } = schedule.owners, size = arenaSize(schedule);
  paintTimeAxis(context, width, height, 0);
  context.save();
  context.beginPath();
  context.rect(gutter(width), 0, width, height);
  context.clip();
  let last = "";
  for (let i = 0; i < begin.length; ++i) {
    if (offset[i] < 0 || end[i] < view.begin || begin[i] > view.end) continue;
    const x = toX(begin[i], width), right = toX(end[i], width), y = 2 + (offset[i] / size) * (height - 4);
    // Owners of one offset follow each other: many may share a pixel.
    const here = `${Math.floor(x)} ${Math.floor(y)}`;
    if (right - x < 1 && here === last) continue;
    last = here;
    const tall = (bytes[i] / size) * (height - 4);
    context.fillStyle = colours[ownerColour(schedule.names[name[i]])];
    context.globalAlpha = i === hoveredOwner ? 1 : 0.6;
    context.fillRect(x, y, Math.max(right - x - (right - x > 3 ? 1 : 0), 1), Math.max(tall - (tall > 3 ? 1 : 0), 0.5));
  }
  context.restore();
  context.font = font(11);
  context.textAlign = "right";
  context.fillStyle = colours.muted;
  context.fillText("0", gutter(width) - 8, 12);
  context.fillText(formatBytes(size), gutter(width) - 8, height - 5);
  context.textAlign = "left";
}

function ownerAt(x, y, width, height) {
  if (x < gutter(width)) return null;
  const { bytes, begin, end, offset } = schedules[0].owners, ns = toTime(x, width);
  const byte = ((y - 2) / (height - 4)) * arenaSize(schedules[0]);
  for (let i = 0; i < begin.length; ++i)
    if (begin[i] <= ns && ns < end[i] && offset[i] <= byte && byte < offset[i] + bytes[i]) return i;
  return null;
}

function describeOwner(i) {
  const { name, bytes, begin, end, offset } = schedules[0].owners;
  return [schedules[0].names[name[i]], `${formatBytes(bytes[i])} at offset ${formatCount(offset[i])}`,
          `alive from ${formatTime(begin[i])} to ${formatTime(end[i])}`];
}
