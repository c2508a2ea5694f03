/* Draws the charts of a loomlab page from its data block, with uPlot. Text only
   ever enters the page as textContent. */
(function () {
  "use strict";
  const root = document.documentElement;
  const byID = (id) => document.getElementById(id);
  const data = JSON.parse(byID("data").textContent);
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif';
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [4, 2, 1, 2], [1, 3], [6, 2, 2, 2, 2, 2]];
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const color = (i) => css("--s" + (i % DASHES.length));
  const hidden = new Set(); // keys of what was switched off
  const drawn = new Map(); // element → {plot, build}
  let printing = false;

  /* ---- words ---- */
  function digits(v) {
    const size = Math.abs(v);
    const n = size === 0 || size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3;
    return String(Number(v.toFixed(n)));
  }
  function grouped(v) {
    const text = digits(v);
    return Math.abs(v) >= 10000 ? text.replace(/\B(?=(\d{3})+$)/g, "\u202f") : text;
  }
  function percentile(x) {
    if (x <= 1) return "p0";
    const p = 100 * (1 - 1 / x);
    const nines = Math.max(0, Math.ceil(Math.log10(x)) - 1);
    return "p" + Number(p.toFixed(nines));
  }
  function clockText(seconds) {
    return Math.floor(seconds / 60) + ":" + String(Math.floor(seconds % 60)).padStart(2, "0");
  }

  /* ---- small pieces of the page ---- */
  function element(name, attributes, ...children) {
    const e = document.createElement(name);
    for (const key in attributes || {}) e.setAttribute(key, attributes[key]);
    e.append(...children);
    return e;
  }
  function svgElement(name, attributes, ...children) {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    e.append(...children);
    return e;
  }
  function sample(dash, stroke, mark, hollow) { // a piece of a line, for its key
    const svg = svgElement("svg", { width: 30, height: 12, "aria-hidden": "true", focusable: "false" },
      svgElement("path", { d: "M1 6H29", fill: "none", "stroke-width": 2, "stroke-dasharray": dash.join(" "), style: "stroke:" + stroke }));
    if (mark !== null) {
      svg.append(svgElement("use", { href: "#m" + mark, x: 9, y: 0, width: 12, height: 12,
        style: hollow ? "fill:var(--paper);stroke:" + stroke : "fill:" + stroke }));
    }
    return svg;
  }
  function toggle(into, key, text, picture, redraw) {
    const button = element("button", { type: "button", "aria-pressed": String(!hidden.has(key)) }, picture, text);
    button.addEventListener("click", () => {
      if (!hidden.delete(key)) hidden.add(key);
      button.setAttribute("aria-pressed", String(!hidden.has(key)));
      redraw();
    });
    into.append(button);
  }

  /* ---- what is pointed at ---- */
  const tip = byID("tip"), said = byID("said");
  function showTip(u, title, rows) {
    tip.replaceChildren(element("b", {}, title));
    const table = element("table", { role: "presentation" });
    for (const [name, text, stroke] of rows) {
      const dot = svgElement("svg", { width: 10, height: 10 }, svgElement("circle", { cx: 5, cy: 5, r: 4, style: "fill:" + stroke }));
      table.append(element("tr", {}, element("td", {}, dot), element("td", {}, name), element("td", {}, text)));
    }
    tip.append(table);
    const over = u.over.getBoundingClientRect();
    placeTip(over.left + u.cursor.left, over.top + u.cursor.top);
  }
  function placeTip(left, top) { // beside a point of the window, and inside it
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    let x = left + 14, y = top + 14;
    if (x + box.width > innerWidth - 8) x = Math.max(8, left - box.width - 14);
    if (y + box.height > innerHeight - 8) y = Math.max(8, top - box.height - 14);
    tip.style.left = x + "px";
    tip.style.top = y + "px";
  }
  const hideTip = () => { tip.hidden = true; };
  addEventListener("scroll", hideTip, { passive: true });

  /* read makes a chart say what is at the cursor: by mouse, and by arrow keys for
     those who have none. at(u) is the index that is meant, count how many there are,
     place(i) its x, tell(i) its title and rows. */
  function readable(el, label) {
    el.tabIndex = 0;
    el.setAttribute("role", "img");
    el.setAttribute("aria-label", label + " Arrow keys read its values; they are in a table as well.");
    let i = -1;
    el.addEventListener("keydown", (e) => {
      const d = drawn.get(el);
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9, PageUp: -10, PageDown: 10 }[e.key];
      if (e.key === "Escape") return hideTip();
      if (!d || step === undefined) return;
      e.preventDefault();
      const n = d.reader.count();
      i = Math.min(n - 1, Math.max(0, i < 0 && step < 0 ? 0 : i + step));
      d.byKey = true;
      d.plot.setCursor({ left: d.plot.valToPos(d.reader.place(i), "x"), top: d.plot.over.clientHeight / 3 });
      d.byKey = false;
      const [title, rows] = d.reader.tell(i);
      said.textContent = title + ": " + rows.map((r) => r[0] + " " + r[1]).join(", ");
    });
    el.addEventListener("blur", hideTip);
    el.addEventListener("mouseleave", hideTip);
  }
  function followCursor(el, reader) {
    return (u) => {
      const d = drawn.get(el);
      if (!d || d.plot !== u || !(el.matches(":hover") || d.byKey)) return;
      if (u.cursor.left < 0) return hideTip();
      const i = reader.at(u);
      if (i === null || i < 0) return hideTip();
      const [title, rows] = reader.tell(i);
      if (rows.length) showTip(u, title, rows); else hideTip();
    };
  }

  /* ---- drawing ---- */
  function marker(ctx, i, x, y, r) {
    ctx.beginPath();
    const path = (...p) => { p.forEach(([a, b], n) => (n ? ctx.lineTo : ctx.moveTo).call(ctx, x + a * r, y + b * r)); ctx.closePath(); };
    switch (i % 8) {
      case 0: ctx.arc(x, y, r, 0, 7); break;
      case 1: path([-.9, -.9], [.9, -.9], [.9, .9], [-.9, .9]); break;
      case 2: path([0, -1.2], [1.15, .85], [-1.15, .85]); break;
      case 3: path([0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]); break;
      case 4: path([0, 1.2], [-1.15, -.85], [1.15, -.85]); break;
      case 5: path([-.4, -1.1], [.4, -1.1], [.4, -.4], [1.1, -.4], [1.1, .4], [.4, .4], [.4, 1.1], [-.4, 1.1], [-.4, .4], [-1.1, .4], [-1.1, -.4], [-.4, -.4]); break;
      case 6: path([0, -1.2], [1.15, -.37], [.7, 1], [-.7, 1], [-1.15, -.37]); break;
      default: path([-1.15, -.5], [1.15, -.5], [1.15, .5], [-1.15, .5]);
    }
  }
  function axis(more) {
    return Object.assign({
      stroke: css("--soft"), font: "12px " + FONT, gap: 6,
      grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid"), width: 1, size: 4 },
    }, more);
  }
  function yAxis(more) {
    return axis(Object.assign({ size: 58, space: 38, values: (u, v) => v.map((n) => (n === null ? "" : grouped(n))) }, more));
  }
  /* The marks of a logarithmic axis: 1, 2 and 5 times the powers of ten; uPlot's own
     begin at the end of the scale. */
  function decades(u, axis, min, max) {
    const marks = [];
    for (let unit = Math.pow(10, Math.floor(Math.log10(min))); unit <= max; unit *= 10) {
      [1, 2, 5].forEach((n) => { if (n * unit >= min && n * unit <= max) marks.push(n * unit); });
    }
    return marks;
  }
  function unitLabel(u, text) {
    const ctx = u.ctx, r = uPlot.pxRatio;
    ctx.save();
    ctx.font = 11.5 * r + "px " + FONT;
    ctx.fillStyle = css("--soft");
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    ctx.fillText(text, u.bbox.left, u.bbox.top - 5 * r);
    ctx.restore();
  }
  /* spaced blanks the labels that would run into one another. */
  function spaced(u, splits, text) {
    let end = -1e9;
    return splits.map((v) => {
      const label = text(v), x = u.valToPos(v, "x"), half = 3.6 * label.length + 4;
      if (x - half < end) return "";
      end = x + half;
      return label;
    });
  }
  function draw(el, width) {
    const old = drawn.get(el);
    if (!old) return;
    if (old.plot) old.plot.destroy();
    const { options, data: series, reader } = old.build(el);
    options.width = width || el.clientWidth;
    options.height = el.clientHeight;
    options.legend = { show: false };
    old.reader = reader;
    options.hooks = Object.assign({ setCursor: [followCursor(el, reader)] }, options.hooks);
    old.plot = null;
    old.plot = new uPlot(options, series, el);
  }
  function chart(el, label, build) {
    drawn.set(el, { build, plot: null });
    readable(el, label);
    draw(el);
    new ResizeObserver(() => {
      const d = drawn.get(el);
      if (!printing && d.plot && el.clientWidth > 0 && (d.plot.width !== el.clientWidth || d.plot.height !== el.clientHeight)) {
        d.plot.setSize({ width: el.clientWidth, height: el.clientHeight });
      }
    }).observe(el);
  }
  const drawAll = () => drawn.forEach((_, el) => draw(el));

  /* ---- throughput against connections ---- */
  const sideDash = (s) => (s.side === "old" ? [5, 4] : s.side === "new" ? [] : DASHES[s.color % DASHES.length]);
  function between(xs, log) { // more x between the rungs, for lines that bend on logarithmic axes; on straight ones from 0 on
    const out = log || !xs.length ? [] : [0];
    xs.forEach((x, i) => {
      out.push(x);
      if (i + 1 < xs.length) for (let k = 1; k < 16; k++) out.push(x * Math.pow(xs[i + 1] / x, k / 16));
    });
    return out;
  }
  function interpolate(xs, ys, grid) {
    return grid.map((x) => {
      if (x < xs[0] && ys[0] !== null) return ys[ys.length - 1] > 1.2 * ys[0] ? ys[0] * x / xs[0] : ys[0];
      for (let i = 0; i + 1 < xs.length; i++) {
        if (x >= xs[i] && x <= xs[i + 1] && ys[i] !== null && ys[i + 1] !== null) {
          return ys[i] + (ys[i + 1] - ys[i]) * (x - xs[i]) / (xs[i + 1] - xs[i]);
        }
      }
      const at = xs.indexOf(x);
      return at < 0 ? null : ys[at];
    });
  }
  function ladderChart(el) {
    const L = data.ladder, rungs = L.x, log = hidden.has("ladder linear"), grid = between(rungs, log);
    const at = (ys) => grid.map((x) => { const i = rungs.indexOf(x); return i < 0 ? null : ys[i]; });
    const shown = L.series.filter((s) => !hidden.has("ladder " + s.name));
    const isShown = new Set(shown.map((s) => s.color));
    const ceilings = hidden.has("ladder ceilings") ? [] : L.ceilings.filter((c) => c.color < 0 || isShown.has(c.color));
    const published = hidden.has("ladder published") ? [] : shown.filter((s) => s.published.some((v) => v !== null));
    const series = [{}], columns = [grid];
    const line = (label, ys, stroke, width, dash) => {
      series.push({ label, stroke, width, dash, spanGaps: true, points: { show: false } });
      columns.push(ys);
    };
    ceilings.forEach((c) => line(c.label, interpolate(rungs, c.y, grid), c.color < 0 ? css("--soft") : color(c.color), 1.2, [3, 4]));
    published.forEach((s) => line(s.name + ", published", at(s.published), color(s.color), 1, [1, 4]));
    shown.forEach((s) => line(s.name, at(s.y), color(s.color), 2.2, sideDash(s)));
    const reader = {
      count: () => rungs.length,
      place: (i) => rungs[i],
      at: (u) => rungs.reduce((best, x, i) => Math.abs(u.valToPos(x, "x") - u.cursor.left) < Math.abs(u.valToPos(rungs[best], "x") - u.cursor.left) ? i : best, 0),
      tell: (i) => [rungs[i] + (rungs[i] === 1 ? " connection" : " connections"), shown.filter((s) => s.y[i] !== null || s.published[i] !== null).map((s) => {
        let text = s.y[i] === null ? "–" : grouped(s.y[i]) + "/s";
        if (s.low[i] !== null && s.low[i] !== s.high[i]) text += " (" + grouped(s.low[i]) + "…" + grouped(s.high[i]) + ")";
        if (s.published[i] !== null && !hidden.has("ladder published")) text += ", published " + grouped(s.published[i]);
        return [s.name, text, color(s.color)];
      })],
    };
    const ends = [rungs[0], rungs[rungs.length - 1]];
    return {
      reader, data: columns,
      options: {
        padding: [26, 18, 0, 0],
        cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
        scales: {
          x: { time: false, distr: log ? 3 : 1, range: () => (log ? [ends[0] / 1.25, ends[1] * 1.25] : [0, ends[1] * 1.05]) },
          y: { distr: log ? 3 : 1, range: () => (log ? [lowest(L) / 1.4, (L.most || 1) * 1.4] : [0, (L.most || 1) * 1.06]) },
        },
        axes: [axis({ splits: () => rungs, filter: (u, v) => v, values: (u, v) => spaced(u, v, grouped), size: 44, label: "connections", labelSize: 18, labelGap: 0, labelFont: "12px " + FONT }), yAxis(log ? { splits: decades, filter: (u, v) => v } : {})],
        series,
        hooks: { draw: [(u) => { unitLabel(u, "requests/s"); ladderMarks(u, shown, published, ceilings, rungs); }] },
      },
    };
  }
  function lowest(L) {
    const all = L.series.flatMap((s) => s.low.concat(s.published)).filter((v) => v !== null && v > 0);
    return all.length ? Math.min(...all) : 1;
  }
  function ladderMarks(u, shown, published, ceilings, rungs) {
    const ctx = u.ctx, r = uPlot.pxRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left - 8 * r, u.bbox.top - 4 * r, u.bbox.width + 16 * r, u.bbox.height + 12 * r);
    ctx.clip();
    ctx.setLineDash([]);
    ctx.lineWidth = 1.5 * r;
    const each = (ys, f) => ys.forEach((y, i) => { if (y !== null) f(u.valToPos(rungs[i], "x", true), u.valToPos(y, "y", true), i); });
    published.forEach((s) => each(s.published, (x, y) => {
      marker(ctx, s.color, x, y, 4.5 * r);
      ctx.fillStyle = css("--paper");
      ctx.strokeStyle = color(s.color);
      ctx.fill();
      ctx.stroke();
    }));
    shown.forEach((s) => each(s.y, (x, y, i) => {
      ctx.strokeStyle = ctx.fillStyle = color(s.color);
      if (s.low[i] !== null && s.high[i] > s.low[i]) {
        const top = u.valToPos(s.high[i], "y", true), bottom = u.valToPos(s.low[i], "y", true);
        ctx.beginPath();
        ctx.moveTo(x, top); ctx.lineTo(x, bottom);
        ctx.moveTo(x - 5 * r, top); ctx.lineTo(x + 5 * r, top);
        ctx.moveTo(x - 5 * r, bottom); ctx.lineTo(x + 5 * r, bottom);
        ctx.stroke();
      }
      marker(ctx, s.color, x, y, 4.5 * r);
      if (s.side === "old") ctx.fillStyle = css("--paper");
      ctx.fill();
      ctx.stroke();
    }));
    ctx.restore();
    ceilingLabels(u, ceilings, rungs);
  }
  function ceilingLabels(u, ceilings, rungs) {
    const ctx = u.ctx, r = uPlot.pxRatio;
    ctx.save();
    ctx.font = "italic " + 11.5 * r + "px " + FONT;
    ctx.textBaseline = "bottom";
    ceilings.forEach((c) => {
      ctx.fillStyle = c.color < 0 ? css("--soft") : color(c.color);
      const first = c.y.findIndex((v) => v !== null);
      const last = c.y.length - 1 - c.y.slice().reverse().findIndex((v) => v !== null);
      if (first < 0) return;
      if (c.y[last] > u.scales.y.max || c.y[last] > 1.2 * c.y[first]) { // it rises: beside where it leaves the plot
        const grid = between(rungs, true), ys = interpolate(rungs, c.y, grid);
        let k = ys.findIndex((v) => v !== null && v > .93 * u.scales.y.max);
        if (k < 0) k = ys.length - 1;
        ctx.textAlign = "right";
        ctx.fillText(c.label, u.valToPos(grid[k], "x", true) - 10 * r, Math.max(u.bbox.top + 14 * r, u.valToPos(Math.min(ys[k], u.scales.y.max), "y", true) + 16 * r));
        return;
      }
      ctx.textAlign = "right";
      ctx.fillText(c.label, u.valToPos(rungs[last], "x", true) - 12 * r, u.valToPos(c.y[last], "y", true) - 5 * r);
    });
    ctx.restore();
  }
  function setUpLadder() {
    const el = byID("ladder-chart"), keys = byID("ladder-keys");
    if (!el) return;
    chart(el, "Chart: throughput against connections.", ladderChart);
    const redraw = () => draw(el);
    data.ladder.series.forEach((s) => toggle(keys, "ladder " + s.name, s.name,
      sample(sideDash(s), "var(--s" + s.color % 8 + ")", s.color % 8, s.side === "old"), redraw));
    if (data.ladder.series.some((s) => s.published.some((v) => v !== null))) {
      toggle(keys, "ladder published", "published", sample([1, 4], "var(--soft)", 0, true), redraw);
    }
    if (data.ladder.ceilings.length) toggle(keys, "ladder ceilings", "ceilings", sample([3, 4], "var(--soft)", null), redraw);
    /* Straight axes show a ceiling as what it is, a straight line; a ladder over two
       decades and more needs logarithms, else its lower rungs fall together. */
    const rungs = data.ladder.x;
    if (rungs.length < 2) return;
    if (data.ladder.log) hidden.add("ladder linear");
    const button = element("button", { type: "button", class: "choice", "aria-pressed": String(data.ladder.log) }, "logarithmic");
    button.addEventListener("click", () => {
      if (!hidden.delete("ladder linear")) hidden.add("ladder linear");
      button.setAttribute("aria-pressed", String(hidden.has("ladder linear")));
      redraw();
    });
    keys.append(button);
    if (data.ladder.log) redraw();
  }

  /* ---- latency by percentile ---- */
  const NINES = [1, 2, 10, 100, 1000, 1e4, 1e5, 1e6];
  function latencyChart(el) {
    const rung = data.latency.rungs[Number(el.dataset.index)];
    const shown = rung.series.filter((s) => !hidden.has("latency " + s.name));
    const longest = Math.max(2, ...shown.map((s) => s.ms.length));
    const x = data.latency.x.slice(0, longest);
    const fill = (ms) => x.map((_, i) => (i < ms.length ? ms[i] : null));
    const all = shown.flatMap((s) => s.ms);
    const low = Math.min(...all), high = Math.max(...all);
    const log = high / low > 40;
    const range = () => {
      if (!all.length) return [0, 1];
      if (log) return [low / 1.2, high * 1.2];
      return high / low < 2 ? [Math.max(0, low - (high - low) * .15 - .05), high + (high - low) * .08 + .05] : [0, high * 1.06];
    };
    const reader = {
      count: () => x.length,
      place: (i) => x[i],
      at: (u) => u.cursor.idx,
      tell: (i) => [percentile(x[i]), shown.filter((s) => i < s.ms.length).map((s) => [s.name, grouped(s.ms[i]) + " ms", color(s.color)])],
    };
    return {
      reader, data: [x, ...shown.map((s) => fill(s.ms))],
      options: {
        padding: [26, 24, 0, 0],
        cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 } },
        scales: { x: { time: false, distr: 3, range: () => [1, x[x.length - 1]] }, y: { distr: log ? 3 : 1, range } },
        axes: [
          axis({ splits: () => NINES.filter((n) => n <= x[x.length - 1] * 1.001), filter: (u, v) => v, size: 28,
            values: (u, v) => spaced(u, v, percentile) }),
          yAxis(log ? { splits: decades, filter: (u, v) => v } : {}),
        ],
        series: [{}, ...shown.map((s) => ({ label: s.name, stroke: color(s.color), width: 2, dash: sideDash(s), points: { show: false } }))],
        hooks: { draw: [(u) => {
          unitLabel(u, "ms");
          const r = uPlot.pxRatio;
          u.ctx.setLineDash([]);
          shown.forEach((s) => NINES.slice(1).forEach((n) => {
            const i = x.findIndex((v) => v >= n * .999);
            if (i < 0 || i >= s.ms.length || s.ms[i] === null) return;
            marker(u.ctx, s.color, u.valToPos(x[i], "x", true), u.valToPos(s.ms[i], "y", true), 3.6 * r);
            u.ctx.fillStyle = s.side === "old" ? css("--paper") : color(s.color);
            u.ctx.fill();
            u.ctx.strokeStyle = color(s.color);
            u.ctx.lineWidth = r;
            u.ctx.stroke();
          }));
        }] },
      },
    };
  }
  function setUpLatency() {
    const keys = byID("latency-keys");
    if (!keys) return;
    const charts = [...document.querySelectorAll('[data-chart="latency"]')];
    charts.forEach((el) => chart(el, "Chart: latency by percentile at " + data.latency.rungs[Number(el.dataset.index)].title + ".", latencyChart));
    const seen = new Set();
    data.latency.rungs.forEach((rung) => rung.series.forEach((s) => {
      if (seen.has(s.name)) return;
      seen.add(s.name);
      toggle(keys, "latency " + s.name, s.name, sample(sideDash(s), "var(--s" + s.color % 8 + ")", s.color % 8, s.side === "old"), () => charts.forEach((el) => draw(el)));
    }));
  }

  /* ---- over time ---- */
  let current = 0; // index of the process shown
  const LINES = [[[], 1.8], [[6, 4], 1.6], [[2, 3], 1.8]];
  const lineColor = (process, i) => (i === 0 ? "var(--s" + process.color % 8 + ")" : i === 1 ? "var(--s5)" : "var(--soft)");
  const solid = (stroke) => css(stroke.slice(4, -1));
  function inWindow(process, i) {
    const s = i * process.step;
    return process.windows.find((w) => s >= w.from && s <= w.to);
  }
  /* The scale of a panel is that of the windows, of this process or of all: a cold
     start may run off the top. */
  function top(panel, process) {
    let most = 0, all = 0;
    (hidden.has("time own scale") ? data.time.processes : [process]).forEach((p) => panel.lines.forEach((line) => (p.lines[line.name] || []).forEach((v, i) => {
      if (v === null) return;
      all = Math.max(all, v);
      if (inWindow(p, i)) most = Math.max(most, v);
    })));
    return (most || all || 1) * 1.12;
  }
  function timeChart(el) {
    const index = Number(el.dataset.index), panel = data.time.panels[index], process = data.time.processes[current];
    const shown = panel.lines.map((line, i) => ({ line, i })).filter(({ line }) => process.lines[line.name] && !hidden.has("time " + index + " " + line.name));
    const pauses = panel.unit === "ms" && !hidden.has("time pauses") ? process.pauses : [];
    const n = Object.values(process.lines).reduce((most, v) => Math.max(most, v.length), 2);
    const x = Array.from({ length: n }, (_, i) => i * process.step);
    const reader = {
      count: () => n,
      place: (i) => x[i],
      at: (u) => u.cursor.idx,
      tell: (i) => {
        const w = inWindow(process, i);
        const where = w ? (w.rung === "equal rate" ? "equal rate" : w.rung + " connections, round " + w.round) : "outside the windows";
        const rows = shown.filter(({ line }) => process.lines[line.name][i] !== null).map(({ line, i: k }) =>
          [line.label, grouped(process.lines[line.name][i]) + " " + panel.unit, lineColor(process, k)]);
        pauses.filter((p) => p.at >= x[i] && p.at < x[i] + process.step).slice(0, 4).forEach((p) => rows.push(["GC: " + p.what, grouped(p.ms) + " ms", "var(--bad)"]));
        return [clockText(x[i]) + " · " + where, rows];
      },
    };
    return {
      reader, data: [x, ...shown.map(({ line }) => process.lines[line.name])],
      options: {
        padding: [18, 12, 0, 0],
        cursor: { drag: { x: false, y: false }, y: false, points: { size: 6 }, sync: { key: "time" } },
        scales: { x: { time: false, range: () => [0, Math.max(1, x[n - 1])] }, y: { range: () => [0, top(panel, process)] } },
        axes: [axis({ values: (u, v) => v.map(clockText), size: 26, space: 56, incrs: [1, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600] }), yAxis({ space: 28 })],
        series: [{}, ...shown.map(({ line, i }) => ({ label: line.label, stroke: solid(lineColor(process, i)), width: LINES[i % 3][1], dash: LINES[i % 3][0], spanGaps: true, points: { show: false } }))],
        hooks: { drawClear: [(u) => shade(u, process)], draw: [(u) => stems(u, pauses)] },
      },
    };
  }
  function shade(u, process) {
    const ctx = u.ctx, r = uPlot.pxRatio;
    ctx.save();
    ctx.fillStyle = css("--shade");
    const edge = (s) => Math.min(u.bbox.left + u.bbox.width, Math.max(u.bbox.left, u.valToPos(s, "x", true)));
    process.windows.forEach((w) => ctx.fillRect(edge(w.from), u.bbox.top, Math.max(r, edge(w.to + 1) - edge(w.from)), u.bbox.height));
    ctx.font = 10.5 * r + "px " + FONT;
    ctx.fillStyle = css("--soft");
    ctx.textAlign = "center";
    ctx.textBaseline = "bottom";
    let group = null, last = -1e9;
    const label = () => {
      if (!group) return;
      const x = (edge(group.from) + edge(group.to + 1)) / 2, half = ctx.measureText(group.rung).width / 2;
      if (x - half > last) { ctx.fillText(group.rung, x, u.bbox.top - 3 * r); last = x + half + 4 * r; }
    };
    process.windows.forEach((w) => {
      if (group && group.rung === w.rung) { group.to = w.to; return; }
      label();
      group = { from: w.from, to: w.to, rung: w.rung };
    });
    label();
    ctx.restore();
  }
  /* A pause stands where it began, as high as it was long: a request that it met took
     that much longer. */
  function stems(u, pauses) {
    const ctx = u.ctx, r = uPlot.pxRatio, foot = u.valToPos(0, "y", true);
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css("--bad");
    ctx.lineWidth = 1.4 * r;
    pauses.forEach((p) => {
      const x = u.valToPos(p.at, "x", true), y = Math.max(u.bbox.top, Math.min(foot - 3 * r, u.valToPos(p.ms, "y", true)));
      ctx.beginPath();
      ctx.moveTo(x, foot);
      ctx.lineTo(x, y);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x, y, 2.2 * r, 0, 7);
      ctx.fill();
    });
    ctx.restore();
  }
  function setUpTime() {
    const box = byID("time-charts");
    if (!box) return;
    const charts = [...box.querySelectorAll('[data-chart="time"]')];
    charts.forEach((el) => chart(el, "Chart over time: " + data.time.panels[Number(el.dataset.index)].title + ".", timeChart));
    const redraw = () => { charts.forEach((el) => draw(el)); panelKeys(charts); dataTable(); };
    chooser(byID("time-keys"), redraw);
    panelKeys(charts);
    byID("time-data").addEventListener("toggle", dataTable);
  }
  function panelKeys(charts) {
    const process = data.time.processes[current];
    data.time.panels.forEach((panel, index) => {
      const keys = byID("time-keys-" + index);
      keys.replaceChildren();
      panel.lines.forEach((line, i) => {
        if (process.lines[line.name]) toggle(keys, "time " + index + " " + line.name, line.label, sample(LINES[i % 3][0], lineColor(process, i), null), () => draw(charts[index]));
      });
      if (panel.unit === "ms" && process.pauses.length) {
        const stem = svgElement("svg", { width: 10, height: 12, "aria-hidden": "true", focusable: "false" },
          svgElement("path", { d: "M5 12V3", style: "stroke:var(--bad)", "stroke-width": 1.4 }), svgElement("circle", { cx: 5, cy: 3, r: 2.4, style: "fill:var(--bad)" }));
        toggle(keys, "time pauses", "GC pauses", stem, () => draw(charts[index]));
      }
    });
  }
  function chooser(keys, redraw) {
    const processes = data.time.processes, suts = [...new Set(processes.map((p) => p.sut))];
    const forks = (sut) => processes.filter((p) => p.sut === sut).map((p) => p.fork);
    const buttons = [];
    let sut = processes[0].sut, fork = processes[0].fork;
    const select = element("select", { id: "time-fork" });
    const label = element("label", { for: "time-fork" }, "fork ", select);
    const show = () => {
      const list = forks(sut);
      if (!list.includes(fork)) fork = list[0];
      select.replaceChildren(...list.map((f) => element("option", f === fork ? { value: f, selected: "" } : { value: f }, String(f))));
      label.hidden = list.length < 2 && !processes.some((p) => p.fork > 1);
      buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.sut === sut)));
      current = processes.findIndex((p) => p.sut === sut && p.fork === fork);
    };
    suts.forEach((name) => {
      const c = processes.find((p) => p.sut === name).color % 8;
      const b = element("button", { type: "button", class: "choice", "aria-pressed": "false", "data-sut": name }, sample([], "var(--s" + c + ")", c), name);
      b.addEventListener("click", () => { sut = name; show(); redraw(); });
      buttons.push(b);
      keys.append(b);
    });
    select.addEventListener("change", () => { fork = Number(select.value); show(); redraw(); });
    keys.append(label);
    if (processes.length > 1) {
      const same = element("button", { type: "button", class: "choice", "aria-pressed": "false" }, "same scales for all");
      same.addEventListener("click", () => {
        if (!hidden.delete("time own scale")) hidden.add("time own scale");
        same.setAttribute("aria-pressed", String(hidden.has("time own scale")));
        redraw();
      });
      keys.append(same);
    }
    show();
  }
  function dataTable() { // made when it is asked for: it has thousands of cells
    const details = byID("time-data"), process = data.time.processes[current];
    if (!details.open) return;
    const lines = data.time.panels.flatMap((p) => p.lines.map((l) => ({ name: l.name, label: l.label + ", " + p.unit }))).filter((l) => process.lines[l.name]);
    const table = element("table", { class: "plain" }, element("caption", {}, process.sut + ", fork " + process.fork + ", " + process.step + " s a line"),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "time"), element("th", { scope: "col" }, "window"), ...lines.map((l) => element("th", { scope: "col" }, l.label)))));
    const body = element("tbody", {});
    for (let i = 0; i < process.lines[lines[0].name].length; i++) {
      const w = inWindow(process, i);
      body.append(element("tr", {}, element("th", { scope: "row" }, clockText(i * process.step)), element("td", {}, w ? w.rung + " · " + w.round : ""),
        ...lines.map((l) => element("td", {}, process.lines[l.name][i] === null ? "" : digits(process.lines[l.name][i])))));
    }
    table.append(body);
    details.querySelector(".scroll").replaceChildren(table);
  }

  /* ---- flame graphs ---- */
  const FLAME_ROW = 18, FLAME_LETTER = 6.62;
  function setUpFlames() {
    document.querySelectorAll("[data-flames]").forEach((keys) => {
      const graphs = keys.dataset.flames.split(" ").map((i) => data.flames.graphs[i]), box = keys.nextElementSibling;
      const state = { graph: graphs[0], root: 0, at: 0 };
      const redraw = () => drawFlame(box, state);
      const buttons = graphs.map((g) => {
        const b = element("button", { type: "button", class: "choice", "aria-pressed": String(g === state.graph) }, g.label);
        b.addEventListener("click", () => {
          Object.assign(state, { graph: g, root: 0, at: 0 });
          buttons.forEach((other, i) => other.setAttribute("aria-pressed", String(graphs[i] === g)));
          redraw();
        });
        return b;
      });
      const whole = element("button", { type: "button", class: "whole" }, "whole graph");
      whole.addEventListener("click", () => { state.root = state.at = 0; redraw(); });
      keys.append(...buttons, whole);
      state.shown = () => { whole.disabled = state.root === 0; };
      const kinds = element("p", { class: "kinds" });
      state.kinds = kinds;
      box.after(kinds);
      box.tabIndex = 0;
      box.setAttribute("role", "img");
      readFlame(box, state, redraw);
      redraw();
      new ResizeObserver(() => { if (!printing && box.clientWidth && box.clientWidth !== state.width) redraw(); }).observe(box);
      flames.push((width) => drawFlame(box, state, width));
    });
  }
  const flames = []; // redraw each in a width
  const flameText = (g, i) => {
    const w = g.boxes[i][2], frames = g.boxes[i].slice(3).map((f) => data.flames.frames[f]), share = w / 1000;
    const part = digits(share) + " %" + (g.samples ? ", " + Math.round(g.samples * w / 1e5) + " of " + g.samples + " samples" : " by estimate");
    return { frames, part, last: frames[frames.length - 1] };
  };
  const flameKind = (frameIDs) => data.flames.kinds[frameIDs[frameIDs.length - 1]];
  /* A frame's own name without its package; the tooltip has all of it. */
  function shortFrame(name) {
    if (name.startsWith("new ")) return "new " + name.slice(4).split(".").pop();
    const parts = name.split(" ")[0].split(".");
    return parts.slice(-2).join(".");
  }
  function drawFlame(box, state, width) {
    const g = state.graph, boxes = g.boxes, [depth0, x0, w0] = boxes[state.root];
    state.width = width || box.clientWidth;
    const scale = state.width / w0;
    box.setAttribute("aria-label", g.title + ". Arrow keys walk through it, Enter looks closer, Escape goes back; the busiest methods are in a table as well.");
    const svg = svgElement("svg", { width: state.width, "aria-hidden": "true", focusable: "false" });
    let deepest = 0;
    boxes.forEach(([depth, x, w, ...frameIDs], i) => {
      const inside = depth >= depth0 && x >= x0 - 1 && x + w <= x0 + w0 + 2, above = depth < depth0 && x <= x0 + 1 && x + w >= x0 + w0 - 1;
      const left = above ? 0 : (x - x0) * scale, wide = above ? state.width : w * scale;
      if (!(inside || above) || wide < .6) return;
      deepest = Math.max(deepest, depth);
      const { frames, last } = flameText(g, i), room = Math.floor((wide - 8) / FLAME_LETTER);
      let text = shortFrame(last);
      if (frames.length > 1 && text.length + 3 <= room) text += " +" + (frames.length - 1);
      if (text.length > room) text = room < 3 ? "" : text.slice(0, room - 1) + "…";
      const group = svgElement("g", { class: "k" + (i === 0 ? "all" : flameKind(frameIDs)) + (above ? " above" : "") + (i === state.at ? " at" : ""), "data-i": i },
        svgElement("rect", { x: left.toFixed(1), y: depth * FLAME_ROW, width: Math.max(.5, wide - .6).toFixed(1), height: FLAME_ROW - 1, rx: 1.5 }));
      if (text) group.append(svgElement("text", { x: (left + 4).toFixed(1), y: depth * FLAME_ROW + 12.5 }, text));
      svg.append(group);
    });
    svg.setAttribute("height", (deepest + 1) * FLAME_ROW);
    svg.setAttribute("viewBox", "0 0 " + state.width + " " + (deepest + 1) * FLAME_ROW);
    box.replaceChildren(svg);
    const present = new Set(boxes.slice(1).map((b) => flameKind(b.slice(3))));
    state.kinds.replaceChildren(...[...present].sort().map((k) => element("span", { class: "k" + k }, byID("inside").dataset.kinds.split("|")[k])));
    state.shown();
  }
  function readFlame(box, state, redraw) {
    const show = (i, left, top) => {
      const { frames, part } = flameText(state.graph, i);
      const more = frames.length > 9 ? frames.slice(0, 4).concat("… " + (frames.length - 8) + " more …", frames.slice(-4)) : frames;
      tip.replaceChildren(element("b", {}, part), ...more.map((f) => element("div", { class: "frame" }, f)));
      placeTip(left, top);
    };
    const hit = (e) => { const g = e.target.closest("g"); return g ? Number(g.dataset.i) : -1; };
    box.addEventListener("mousemove", (e) => { const i = hit(e); if (i < 0) hideTip(); else show(i, e.clientX, e.clientY); });
    box.addEventListener("mouseleave", hideTip);
    box.addEventListener("blur", hideTip);
    box.addEventListener("click", (e) => { const i = hit(e); if (i >= 0) { state.root = state.at = i; hideTip(); redraw(); } });
    box.addEventListener("keydown", (e) => {
      const boxes = state.graph.boxes, [depth, x, w] = boxes[state.at], within = (i) => boxes[i][1] >= boxes[state.root][1] - 1 && boxes[i][1] < boxes[state.root][1] + boxes[state.root][2];
      const find = (wanted) => boxes.reduce((best, b, i) => (wanted(b) && within(i) && (best < 0 || Math.abs(b[1] - x) < Math.abs(boxes[best][1] - x)) ? i : best), -1);
      let next = -1;
      switch (e.key) {
        case "ArrowDown": next = find((b) => b[0] === depth + 1 && b[1] >= x - 1 && b[1] + b[2] <= x + w + 2); break;
        case "ArrowUp": next = depth === 0 ? -1 : boxes.findIndex((b) => b[0] === depth - 1 && b[1] <= x + 1 && b[1] + b[2] >= x + w - 2); break;
        case "ArrowLeft": next = find((b) => b[0] === depth && b[1] < x); break;
        case "ArrowRight": next = find((b) => b[0] === depth && b[1] > x); break;
        case "Enter": state.root = next = state.at; break;
        case "Escape": if (tip.hidden) state.root = next = 0; hideTip(); break;
        default: return;
      }
      e.preventDefault();
      if (next < 0) return;
      state.at = next;
      redraw();
      const rect = box.querySelector(".at rect");
      if (!rect) return;
      const r = rect.getBoundingClientRect(), { part, last } = flameText(state.graph, next);
      show(next, Math.max(8, r.left), r.bottom - 10);
      said.textContent = last + ": " + part;
    });
  }

  /* ---- theme and print ---- */
  function setUpTheme() {
    const button = byID("theme"), words = ["auto", "light", "dark"];
    let stored = null;
    try { stored = localStorage.getItem("loomlab-theme"); } catch (e) { /* a page from a file may have no storage */ }
    const set = (word) => {
      if (word === "auto") delete root.dataset.theme; else root.dataset.theme = word;
      button.querySelector("span").textContent = word;
      try { localStorage.setItem("loomlab-theme", word); } catch (e) { /* as above */ }
    };
    set(words.includes(stored) ? stored : "auto");
    button.hidden = false;
    button.addEventListener("click", () => {
      set(words[(words.indexOf(button.querySelector("span").textContent) + 1) % 3]);
      drawAll();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  }
  function setUpPrint() { // on white paper, as wide as paper is
    let theme;
    addEventListener("beforeprint", () => {
      printing = true;
      theme = root.dataset.theme;
      root.dataset.theme = "light";
      hideTip();
      drawn.forEach((d, el) => draw(el, el.dataset.chart === "time" ? 335 : 690));
      flames.forEach((redraw) => redraw(690));
    });
    addEventListener("afterprint", () => {
      printing = false;
      if (theme === undefined) delete root.dataset.theme; else root.dataset.theme = theme;
      drawAll();
      flames.forEach((redraw) => redraw());
    });
  }

  setUpTheme();
  setUpLadder();
  setUpLatency();
  setUpTime();
  setUpFlames();
  setUpPrint();
})();
