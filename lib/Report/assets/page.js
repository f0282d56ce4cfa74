// Puts the page together: drawings, pointers, keys, and the fragment of the
// address: #zoom=BEGIN,END in nanoseconds, #flow=SCHEDULE.FLOW for a collective.

schedules.forEach(prepare);
const timelineHeight = layOutRows();
const exposedWaits = schedules.flatMap((schedule) => schedule.items)
  .filter((item) => item.kind === waitKind && item.end > item.begin).sort((a, b) => a.begin - b.begin);

const overview = makeDrawing("overview", 14 * schedules.length + 8, paintOverview);
makeDrawing("timeline-canvas", timelineHeight, paintTimeline);
const memoryCanvas = makeDrawing("memory-canvas", memoryHeight, paintMemory);
const arenaCanvas = makeDrawing("arena-canvas", arenaHeight, paintArena);

// The whole step in a narrow strip: exposed waits, and what is in view.
function paintOverview(context, width, height) {
  const left = gutter(width), toStrip = (ns) => left + (ns / stepEnd) * (width - left);
  schedules.forEach((schedule, index) => {
    context.fillStyle = colours.line;
    context.fillRect(left, 4 + 14 * index, toStrip(schedule.stepNs) - left, 10);
  });
  context.fillStyle = colours.wait;
  for (const item of exposedWaits) {
    const x = toStrip(item.begin), length = toStrip(item.end) - x, top = 4 + 14 * item.schedule.index;
    if (length < 1) context.fillRect(x, top + 6, 1, 4);
    else context.fillRect(x, top, length, 10);
  }
  context.strokeStyle = colours.focus;
  context.lineWidth = 2;
  const begin = toStrip(view.begin);
  context.strokeRect(begin + 1, 1, Math.max(toStrip(view.end) - begin - 2, 2), height - 2);
  context.font = font(11);
  context.fillStyle = colours.muted;
  context.fillText("whole step", 8, 13);
}

const place = (event) => {
  const box = event.currentTarget.getBoundingClientRect();
  return { x: event.clientX - box.left - event.currentTarget.clientLeft, y: event.clientY - box.top - event.currentTarget.clientTop,
           width: event.currentTarget.clientWidth, height: event.currentTarget.clientHeight };
};

// Wheel: zoom at the pointer; sideways, or with shift: move. Zooming out of the
// whole step scrolls the page.
function onWheel(event) {
  const { x, width } = place(event);
  const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.shiftKey ? event.deltaY : 0;
  if (!sideways && event.deltaY > 0 && view.end - view.begin >= stepEnd) return;
  event.preventDefault();
  if (sideways) move(sideways / width);
  else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), toTime(Math.max(x, gutter(width)), width));
}

// A drag in progress: { x, begin, end, isRange, hasMoved }.
let drag = null;
const touches = new Map();

function onDown(event) {
  const { x, y, width } = place(event);
  touches.set(event.pointerId, x);
  event.currentTarget.setPointerCapture(event.pointerId);
  const isRange = event.shiftKey || (event.currentTarget === timelineCanvas && y < axisHeight);
  drag = { x, from: toTime(x, width), begin: view.begin, end: view.end, isRange, hasMoved: false };
}

function onDrag(event) {
  const { x, width } = place(event);
  if (touches.size === 2 && touches.has(event.pointerId)) {
    const [a, b] = touches.values(), before = Math.abs(a - b);
    touches.set(event.pointerId, x);
    const [c, d] = touches.values();
    drag.hasMoved = true;
    if (before > 4 && Math.abs(c - d) > 4) zoom(before / Math.abs(c - d), toTime((c + d) / 2, width));
    return;
  }
  if (Math.abs(x - drag.x) > 3) drag.hasMoved = true;
  if (!drag.hasMoved || drag.isRange) return;
  event.currentTarget.classList.add("moving");
  const by = ((drag.x - x) / (width - gutter(width))) * (drag.end - drag.begin);
  setView(drag.begin + by, drag.end + by);
}

// Ends a drag; returns whether it was a click.
function onUp(event) {
  const { x, width } = place(event), wasDrag = drag && drag.hasMoved;
  if (wasDrag && drag.isRange) {
    const to = toTime(x, width);
    setView(Math.min(drag.from, to), Math.max(drag.from, to));
  }
  touches.delete(event.pointerId);
  drag = null;
  event.currentTarget.classList.remove("moving");
  return !wasDrag;
}

function listen(canvas, hover, click) {
  canvas.addEventListener("wheel", onWheel, { passive: false });
  canvas.addEventListener("pointerdown", onDown);
  canvas.addEventListener("pointermove", (event) => (drag ? onDrag(event) : hover(event, place(event))));
  canvas.addEventListener("pointerup", (event) => {
    if (onUp(event)) click(event, place(event));
  });
  canvas.addEventListener("pointercancel", onUp);
  canvas.addEventListener("pointerleave", () => {
    hovered = hoveredOwner = memoryAt = null;
    hideTip();
    redraw();
  });
}

listen(timelineCanvas, (event, { x, y, width }) => {
  hovered = sliceAt(x, y, width);
  showTip(event, hovered ? describe(hovered) : []);
  redraw();
}, (event, { x, y, width }) => select(sliceAt(x, y, width)));
timelineCanvas.addEventListener("dblclick", (event) => {
  const { x, y, width } = place(event), item = sliceAt(x, y, width);
  if (item) reveal(item);
});

listen(memoryCanvas, (event, { x, width }) => {
  memoryAt = x < gutter(width) ? null : Math.round(toTime(x, width));
  showTip(event, memoryAt === null ? [] : describeMemory(memoryAt));
  redraw();
}, (event, { x, width }) => listOwners(Math.round(toTime(x, width))));

listen(arenaCanvas, (event, { x, y, width, height }) => {
  hoveredOwner = ownerAt(x, y, width, height);
  showTip(event, hoveredOwner === null ? [] : describeOwner(hoveredOwner));
  redraw();
}, () => {});

overview.addEventListener("pointerdown", (event) => overview.setPointerCapture(event.pointerId));
for (const type of ["pointerdown", "pointermove"])
  overview.addEventListener(type, (event) => {
    if (!event.buttons) return;
    const { x, width } = place(event), half = (view.end - view.begin) / 2;
    const at = ((x - gutter(width)) / (width - gutter(width))) * stepEnd;
    setView(at - half, at + half);
  });

function onTimelineKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = {
    "+": () => zoom(0.5, selected ? selected.begin : undefined), "=": () => zoom(0.5, selected ? selected.begin : undefined),
    "-": () => zoom(2), 0: () => setView(0, stepEnd), e: goNextExposed, E: goNextExposed, Escape: () => select(null),
    ArrowLeft: () => (event.shiftKey ? move(-0.2) : step(-1, 0)), ArrowRight: () => (event.shiftKey ? move(0.2) : step(1, 0)),
    ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1), Enter: () => selected && reveal(selected),
  };
  if (!(event.key in actions)) return;
  event.preventDefault();
  actions[event.key]();
}
timelineCanvas.addEventListener("keydown", onTimelineKey);

let memoryKeyAt = 0;
memoryCanvas.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key];
  if (by) memoryAt = memoryKeyAt = Math.round(Math.min(Math.max(memoryKeyAt + by * (view.end - view.begin), view.begin), view.end));
  else if (event.key !== "Enter") return;
  event.preventDefault();
  if (event.key === "Enter") listOwners(memoryKeyAt);
  redraw();
});

const onClick = (id, action) => document.getElementById(id).addEventListener("click", action);
onClick("zoom-in", () => zoom(0.5));
onClick("zoom-out", () => zoom(2));
onClick("zoom-all", () => setView(0, stepEnd));
onClick("next-exposed", goNextExposed);
document.getElementById("next-exposed").disabled = exposedWaits.length === 0;
document.getElementById("timeline-tools").hidden = false;
if (schedules.length > 1 || !schedules[0].owners.offset.some((offset) => offset >= 0)) arenaCanvas.hidden = true;
else document.getElementById("arena-heading").hidden = false;

// Goes where the fragment says.
function follow(fragment) {
  const range = /^#zoom=(\d+),(\d+)$/.exec(fragment), flow = /^#flow=([01])\.(\d+)$/.exec(fragment);
  if (range) setView(Number(range[1]), Number(range[2]));
  if (!flow || !schedules[flow[1]]) return;
  const found = schedules[flow[1]].flows.get(Number(flow[2]));
  if (!found) return;
  reveal(exposedTime(found) > 0 ? found.wait : found.collective || found.wait);
  document.getElementById("timeline").scrollIntoView({ block: "start" });
}
addEventListener("hashchange", () => follow(location.hash));
// A link to the place that is shown already is no change of the fragment.
document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("a[href^='#flow=']");
  if (!link) return;
  event.preventDefault();
  if (location.hash !== link.hash) location.hash = link.hash;
  else follow(link.hash);
  timelineCanvas.focus({ preventScroll: true });
});

addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  redraw();
});
readColours();
follow(location.hash);
redraw();
