"use strict";
// Legends hide and show methods; a pointer over a plot reads its values. Values are read back from the drawing: the axes
// are attributes of the <svg>, "low high start end linear|log".

function axis(text) {
  const [low, high, start, end, kind] = text.split(" ");
  const slope = (high - low) / (end - start);
  return (place) => {
    const value = Number(low) + (place - start) * slope;
    return kind === "log" ? 10 ** value : value;
  };
}

// As many decimals as coordinates of two decimals give back, and at most four.
function decimals(text) {
  const [low, high, start, end] = text.split(" ").map(Number);
  const step = Math.abs((high - low) / (end - start)) * 0.01;
  return Math.max(0, Math.min(4, Math.floor(-Math.log10(step))));
}

function format(value, digits) {
  const text = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return Number(text) === 0 ? text.replace("-", "") : text;
}

function visibleSeries(svg) {
  return [...svg.querySelectorAll(".series:not(.hidden)")];
}

// The place of the curve that is nearest to x; a horizontal line is everywhere.
function nearest(polyline, x) {
  const points = [...polyline.points];
  if (polyline.dataset.kind === "line") return { x, y: points[0].y };
  return points.reduce((best, p) => (Math.abs(p.x - x) < Math.abs(best.x - x) ? p : best), points[0]);
}

function readCurves(svg, at) {
  const toX = axis(svg.dataset.x), toY = axis(svg.dataset.y);
  const curves = svg.querySelectorAll('.series:not(.hidden) polyline[data-kind="curve"]');
  if (curves.length === 0) return null;
  const place = nearest(curves[0], at.x);
  const lines = visibleSeries(svg).map((series) => {
    const point = nearest(series.querySelector("polyline"), place.x);
    return [toY(point.y), series.dataset.label];
  });
  lines.sort((a, b) => b[0] - a[0]);
  const digits = decimals(svg.dataset.y);
  const text = lines.map(([value, label]) => `${format(value, digits)}  ${label}`).join("\n");
  return { x: place.x, text: `at ${format(toX(place.x), 0)}\n${text}` };
}

function readMarks(svg, at) {
  let best = null;
  for (const mark of svg.querySelectorAll(".series:not(.hidden) .mark")) {
    const box = mark.getBBox();
    const x = box.x + box.width / 2, y = box.y + box.height / 2;
    const distance = Math.hypot(x - at.x, y - at.y);
    if (distance < 25 && (best === null || distance < best.distance)) {
      best = { distance, x, text: mark.querySelector("title").textContent };
    }
  }
  return best;
}

function show(figure, event) {
  const svg = figure.querySelector("svg"), output = figure.querySelector(".values"), cursor = svg.querySelector(".cursor");
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const found = svg.querySelector(".mark") ? readMarks(svg, at) : readCurves(svg, at);
  if (found === null) return hide(figure);
  output.textContent = found.text;
  output.classList.add("shown");
  const box = figure.getBoundingClientRect();
  const left = event.clientX - box.left + 14;
  const flipped = left + output.offsetWidth > box.width ? left - output.offsetWidth - 28 : left;
  output.style.left = `${Math.max(0, Math.min(flipped, box.width - output.offsetWidth))}px`;
  output.style.top = `${event.clientY - box.top + 10}px`;
  cursor.setAttribute("x1", found.x);
  cursor.setAttribute("x2", found.x);
  cursor.setAttribute("visibility", "visible");
}

function hide(figure) {
  figure.querySelector(".values").classList.remove("shown");
  figure.querySelector(".cursor").setAttribute("visibility", "hidden");
}

for (const section of document.querySelectorAll(".figure")) {
  for (const key of section.querySelectorAll(".key")) {
    key.addEventListener("click", () => {
      const shown = key.getAttribute("aria-pressed") !== "true";
      key.setAttribute("aria-pressed", String(shown));
      for (const series of section.querySelectorAll(".series")) {
        if (series.dataset.method === key.dataset.method) series.classList.toggle("hidden", !shown);
      }
    });
  }
  for (const figure of section.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg");
    svg.addEventListener("pointermove", (event) => show(figure, event));
    svg.addEventListener("pointerdown", (event) => show(figure, event));
    svg.addEventListener("pointerleave", () => hide(figure));
  }
}
