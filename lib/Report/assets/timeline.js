// The timeline: a row for each stream, drawn so that 40,000 slices take a few
// milliseconds: only what is in view, and one rectangle for each pixel.

const computeKind = 0, collectiveKind = 1, waitKind = 2;
const axisHeight = 22, rowHeight = 26, groupHeight = 22;
const rows = [];
let hovered = null, selected = null;

// Prepares a schedule: its slices as objects, its rows, what belongs together.
function prepare(schedule, index) {
  const columns = schedule.slices;
  schedule.items = columns.begin.map((begin, i) => ({
    schedule, name: schedule.names[columns.name[i]], stream: columns.stream[i], begin,
    end: begin + columns.length[i], kind: columns.kind[i], bytes: columns.bytes[i], flow: columns.flow[i],
    started: columns.started[i],
  }));
  schedule.flows = new Map();
  schedule.why = new Map();
  schedule.byName = new Map(schedule.items.filter((item) => item.kind !== waitKind).map((item) => [item.name, item]));
  for (const [name, text] of schedule.remarks) {
    const key = schedule.names[name];
    if (!schedule.why.has(key)) schedule.why.set(key, text);
  }
  for (const item of schedule.items) {
    if (item.flow < 0) continue;
    const flow = schedule.flows.get(item.flow) || {};
    if (item.kind === waitKind) flow.wait = item;
    else if (item.kind === collectiveKind) flow.collective = item;
    schedule.flows.set(item.flow, flow);
  }
  const first = rows.length;
  schedule.streams.forEach((name) => rows.push({ schedule, name, items: [], isFirst: false }));
  for (const item of schedule.items) {
    item.row = first + item.stream;
    rows[item.row].items.push(item);
  }
  for (let i = first; i < rows.length; ++i) rows[i].items.sort((a, b) => a.begin - b.begin || a.end - b.end);
  if (rows[first]) rows[first].isFirst = true;
  schedule.index = index;
}

function layOutRows() {
  let y = axisHeight;
  for (const row of rows) {
    if (row.isFirst && schedules.length > 1) y += groupHeight;
    row.y = y;
    y += rowHeight;
  }
  return y + 6;
}

const transferColours = { all_gather: "gather", reduce_scatter: "reduce", all_reduce: "reduce" };
function colourOf(item) {
  if (item.kind === waitKind) return "wait";
  if (item.kind === computeKind) return "compute";
  return transferColours[item.name.split(" ", 1)[0]] || "move";
}

const exposedTime = (flow) => (flow && flow.wait ? flow.wait.end - flow.wait.begin : 0);

function paintRow(context, row, width) {
  const left = gutter(width), top = row.y + 2, height = rowHeight - 4;
  let last = -1, lastIsWait = false;
  for (let i = Math.max(0, upperBound(row.items, view.begin, (item) => item.begin) - 2); i < row.items.length; ++i) {
    const item = row.items[i];
    if (item.begin > view.end) break;
    if (item.end < view.begin || item.end === item.begin) continue;
    const begin = Math.max(toX(item.begin, width), left), end = Math.min(toX(item.end, width), width);
    const isWait = item.kind === waitKind;
    if (end - begin < 1) {
      const pixel = Math.floor(begin);
      if (pixel === last && (lastIsWait || !isWait)) continue;
      last = pixel;
      lastIsWait = isWait;
      context.fillStyle = colours[colourOf(item)];
      // A short mark: at full height these waits would look longer than they are.
      if (isWait) context.fillRect(pixel, top + height - 7, 1, 7);
      else context.fillRect(pixel, top, 1, height);
      continue;
    }
    paintSlice(context, item, begin, end, top, height);
  }
}

function paintSlice(context, item, begin, end, top, height) {
  context.fillStyle = colours[colourOf(item)];
  context.fillRect(begin, top, Math.max(end - begin - (end - begin > 4 ? 1 : 0), 1), height);
  const exposed = item.kind === collectiveKind ? exposedTime(item.schedule.flows.get(item.flow)) : 0;
  if (exposed > 0) {
    context.fillStyle = colours.wait;
    context.fillRect(begin, top + height - 4, Math.max(end - begin - 1, 1), 4);
  }
  if (end - begin < 34) return;
  context.font = font(11);
  context.textAlign = "left";
  context.fillStyle = item.kind === computeKind ? colours["on-compute"] : colours["on-transfer"];
  // Of a weight's name the end tells it from others.
  const name = shortName(item), label = fitText(context, name, end - begin - 8, name.includes("."));
  context.fillText(label, begin + 4, top + height / 2 + 3.5);
}

// Within a row the kind of a collective says little.
function shortName(item) {
  if (item.kind === waitKind) return "wait";
  return item.kind === collectiveKind ? item.name.slice(item.name.indexOf(" ") + 1) : item.name;
}

function outline(context, item, width, colour) {
  const left = gutter(width), begin = toX(item.begin, width), end = toX(item.end, width);
  if (end < left || begin > width) return;
  context.strokeStyle = colour;
  context.lineWidth = 2;
  const x = Math.max(begin, left);
  context.strokeRect(x - 1, rows[item.row].y + 1, Math.max(Math.min(end, width) - x, 1) + 2, rowHeight - 2);
}

// An arrow between two places, with an edge that keeps it apart from slices.
function paintArrow(context, x0, y0, x1, y1) {
  const bend = Math.max(14, Math.abs(x1 - x0) / 3), line = new Path2D(), head = new Path2D();
  line.moveTo(x0, y0);
  line.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 6, y1);
  head.moveTo(x1, y1);
  head.lineTo(x1 - 7, y1 - 4);
  head.lineTo(x1 - 7, y1 + 4);
  head.closePath();
  context.strokeStyle = colours.card;
  context.lineWidth = 4;
  context.stroke(line);
  context.stroke(head);
  context.strokeStyle = context.fillStyle = colours.text;
  context.lineWidth = 1.5;
  context.stroke(line);
  context.fill(head);
}

// From the place where compute starts a collective to it, and from its end to
// the place where compute goes on with what it brought.
function paintFlow(context, item, width) {
  const { wait, collective } = item.schedule.flows.get(item.flow) || {};
  if (!wait || !collective) return;
  const middle = (row) => rows[row].y + rowHeight / 2;
  context.save();
  context.beginPath();
  context.rect(gutter(width), 0, width, 1e5);
  context.clip();
  if (collective.started >= 0)
    paintArrow(context, toX(collective.started, width), middle(wait.row), toX(collective.begin, width), middle(collective.row));
  paintArrow(context, toX(collective.end, width), middle(collective.row), toX(wait.end, width), middle(wait.row));
  context.restore();
}

function paintMarks(context, width) {
  for (const [item, colour] of [[selected, colours.focus], [hovered, colours.text]]) {
    if (!item) continue;
    const flow = item.schedule.flows.get(item.flow) || {};
    for (const mate of [item, flow.wait, flow.collective]) if (mate) outline(context, mate, width, colour);
    for (const other of schedules) {
      const twin = other === item.schedule ? null : other.byName.get(item.name);
      if (twin) outline(context, twin, width, colour);
    }
    paintFlow(context, item, width);
  }
}

function paintTimeline(context, width, height) {
  paintTimeAxis(context, width, height, 15);
  for (const row of rows) {
    if (row.isFirst && schedules.length > 1) {
      context.font = "600 " + font(12);
      context.textAlign = "left";
      context.fillStyle = colours.text;
      context.fillText(row.schedule.policy, 8, row.y - 6);
    }
    context.font = font(width < 620 ? 11 : 12);
    context.fillStyle = colours.muted;
    context.fillText(fitText(context, row.name, gutter(width) - 14), 8, row.y + 17);
    paintRow(context, row, width);
    const end = toX(row.schedule.stepNs, width);
    context.fillStyle = colours.line;
    context.fillRect(0, row.y + rowHeight - 0.5, width, 1);
    if (end <= width) context.fillRect(end, row.y, 1, rowHeight);
  }
  paintMarks(context, width);
}

// What a slice is, in words.
function describe(item) {
  const flow = item.schedule.flows.get(item.flow) || {};
  const collective = item.kind === waitKind ? flow.collective : item;
  const lines = [item.kind === waitKind ? "wait for " + (collective ? collective.name : item.name) : item.name];
  if (schedules.length > 1) lines.push("in schedule " + item.schedule.policy);
  lines.push(`${formatTime(item.begin)} to ${formatTime(item.end)}, takes ${formatTime(item.end - item.begin)}`);
  if (item.kind !== computeKind && collective && collective.bytes > 0) lines.push(`receives ${formatBytes(collective.bytes)} on ${item.schedule.streams[collective.stream]}`);
  if (collective && collective.started >= 0 && collective.started < collective.begin)
    lines.push(`started at ${formatTime(collective.started)}, ${formatTime(collective.begin - collective.started)} before it runs`);
  if (flow.wait && flow.collective) {
    const exposed = exposedTime(flow), slack = flow.wait.end - flow.collective.end;
    lines.push(exposed > 0 ? [`compute waits ${formatTime(exposed)} for it`, "why"] : `hidden; needed ${formatTime(slack)} after its end`);
  }
  const why = item.schedule.why.get(collective ? collective.name : item.name);
  if (why) lines.push([why, "why"]);
  return lines;
}

const detail = document.getElementById("detail");
function select(item) {
  selected = item;
  detail.hidden = !item;
  if (item) fillBox(detail, describe(item));
  redraw();
}

// Shows a slice with some of its surroundings.
function reveal(item) {
  const flow = item.schedule.flows.get(item.flow) || {};
  const parts = [item, flow.wait, flow.collective].filter(Boolean);
  const begin = Math.min(...parts.map((part) => part.begin)), end = Math.max(...parts.map((part) => part.end));
  const room = Math.max((end - begin) * 1.5, 200);
  setView(begin - room, end + room);
  select(item);
}

const timelineCanvas = document.getElementById("timeline-canvas");

// The slice at a place, or one at most 3 pixels beside it; waits first.
function sliceAt(x, y, width) {
  const row = rows.find((candidate) => y >= candidate.y && y < candidate.y + rowHeight);
  if (!row || x < gutter(width)) return null;
  const near = (toTime(3, width) - toTime(0, width)), at = toTime(x, width);
  let best = null, bestDistance = near;
  const end = upperBound(row.items, at + near, (item) => item.begin);
  for (let i = end - 1; i >= 0 && i > end - 40; --i) {
    const item = row.items[i];
    if (item.end === item.begin) continue;
    const distance = at < item.begin ? item.begin - at : at > item.end ? at - item.end : 0;
    if (distance < bestDistance || (distance === bestDistance && item.kind === waitKind)) [best, bestDistance] = [item, distance];
  }
  return best;
}

function goNextExposed() {
  const after = selected ? selected.begin : -1;
  const waits = exposedWaits.filter((item) => !selected || item.schedule === selected.schedule);
  const next = waits.find((item) => item.begin > after) || waits[0];
  if (next) reveal(next);
}

// Steps to the next slice of the row, or to the one below or above.
function step(by, rowBy) {
  if (!selected) {
    const row = rows.find((candidate) => candidate.items.length);
    const first = row && row.items.find((item) => item.end > view.begin);
    if (first) select(first);
    return;
  }
  let next = null;
  if (rowBy) {
    for (let at = selected.row + rowBy; rows[at] && !next; at += rowBy) {
      const index = upperBound(rows[at].items, selected.begin, (item) => item.begin);
      next = rows[at].items[Math.max(0, index - 1)] || null;
    }
  } else {
    const items = rows[selected.row].items;
    for (let at = items.indexOf(selected) + by; items[at] && !next; at += by) if (items[at].end > items[at].begin) next = items[at];
  }
  if (!next) return;
  if (next.begin > view.end || next.end < view.begin) {
    const length = view.end - view.begin;
    setView(next.begin - length / 4, next.begin + (length * 3) / 4);
  }
  select(next);
}
