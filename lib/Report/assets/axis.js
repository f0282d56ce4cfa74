// The time axis that all drawings share: which part of the step is in view, and
// canvases that are as sharp as the screen.

const data = JSON.parse(document.getElementById("data").textContent);
const schedules = data.schedules;
const stepEnd = Math.max(1, ...schedules.map((schedule) => schedule.stepNs));
const view = { begin: 0, end: stepEnd };
const drawings = [];
let pending = false;

function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    for (const draw of drawings) draw();
  });
}

// Shows a range of the step, at least 20 ns of it.
function setView(begin, end) {
  const length = Math.min(Math.max(end - begin, 20), stepEnd);
  begin = Math.min(Math.max(begin, 0), stepEnd - length);
  view.begin = begin;
  view.end = begin + length;
  redraw();
}

function zoom(factor, at = (view.begin + view.end) / 2) {
  setView(at - (at - view.begin) * factor, at + (view.end - at) * factor);
}

const move = (share) => {
  const by = (view.end - view.begin) * share;
  setView(view.begin + by, view.end + by);
};

const colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["page", "card", "text", "muted", "line", "faint", "focus", "compute", "on-compute",
                      "gather", "reduce", "move", "on-transfer", "wait", "second"])
    colours[name] = style.getPropertyValue("--" + name).trim();
}

const font = (size) => `${size}px system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif`;

// A canvas of a given height, drawn by `paint(context, width)` in CSS pixels.
function makeDrawing(id, height, paint) {
  const canvas = document.getElementById(id);
  const context = canvas.getContext("2d");
  canvas.style.height = height + "px";
  drawings.push(() => {
    const width = canvas.clientWidth, inner = canvas.clientHeight, scale = devicePixelRatio || 1;
    const pixels = [Math.round(width * scale), Math.round(inner * scale)];
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, inner);
    paint(context, width, inner);
  });
  return canvas;
}

// Names of rows stand left of the plot; on a narrow screen they get less room.
const gutter = (width) => (width < 620 ? 92 : 150);
const toX = (ns, width) => gutter(width) + ((ns - view.begin) / (view.end - view.begin)) * (width - gutter(width));
const toTime = (x, width) => view.begin + ((x - gutter(width)) / (width - gutter(width))) * (view.end - view.begin);

// `text`, cut to a width at its end, or at its start.
function fitText(context, text, width, atStart = false) {
  const whole = context.measureText(text).width;
  if (whole <= width) return text;
  const cut = (length) => (atStart ? "\u2026" + text.slice(text.length - length) : text.slice(0, length) + "\u2026");
  let length = Math.floor((text.length * width) / whole);
  while (length > 0 && context.measureText(cut(length)).width > width) --length;
  return length > 0 ? cut(length) : "";
}

// Lines and labels of the time axis, labels at height `y`.
function paintTimeAxis(context, width, height, y) {
  const distance = niceStep(((view.end - view.begin) / (width - gutter(width))) * 100);
  context.font = font(11);
  context.textAlign = "left";
  for (let at = Math.ceil(view.begin / distance) * distance; at <= view.end; at += distance) {
    const x = Math.round(toX(at, width)) + 0.5;
    context.fillStyle = colours.faint;
    context.fillRect(x - 0.5, 0, 1, height);
    const label = formatTick(at, distance, 1000, ["ns", "\u00b5s", "ms", "s"]);
    if (y && x + context.measureText(label).width + 4 < width) {
      context.fillStyle = colours.muted;
      context.fillText(label, x + 3, y);
    }
  }
}

// The floating box beside the pointer. `lines` are [text, class] or text.
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);

function fillBox(box, lines) {
  box.replaceChildren(...lines.filter(Boolean).map((line, i) => {
    const [text, name] = Array.isArray(line) ? line : [line, ""];
    const element = document.createElement(i === 0 ? "b" : "span");
    element.textContent = text;
    if (name) element.className = name;
    return element;
  }));
}

function showTip(event, lines) {
  tip.hidden = lines.length === 0;
  if (tip.hidden) return;
  fillBox(tip, lines);
  const width = tip.offsetWidth, height = tip.offsetHeight;
  const x = event.clientX + 16 + width > innerWidth ? event.clientX - 16 - width : event.clientX + 16;
  const y = event.clientY + 16 + height > innerHeight ? event.clientY - 12 - height : event.clientY + 16;
  tip.style.left = Math.max(4, x) + "px";
  tip.style.top = Math.max(4, y) + "px";
}

const hideTip = () => { tip.hidden = true; };
