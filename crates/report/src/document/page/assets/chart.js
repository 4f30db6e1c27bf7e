/* The timeline. Text enters the page as text, never as markup. */
const lspSoak = (() => {
  const { QUANTITIES, read, highest } = lspSoakNumbers;
  const { color, own, faint, dash, element, swatch } = lspSoakLook;
  const RUG = 16, FONT = "12px system-ui, sans-serif";
  /* Phase names: space above the plot, height of a row, most rows; then the space right and left of the plot. */
  const TOP = 24, ROW = 16, ROWS = 8, BESIDE = 22, AXIS = 88;
  /* Distances of time ticks in seconds: round numbers of a clock. */
  const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, ...[1, 60].flatMap((unit) => [1, 2, 5, 10, 15, 30].map((step) => step * unit)), ...[1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * 3600)];
  const number = (value) => {
    if (value == null) return "n/a";
    const digits = value >= 1000 ? 0 : value >= 10 ? 1 : 2;
    return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  };
  const time = (seconds) => {
    return seconds < 60 ? `${+seconds.toFixed(1)} s` : clock(seconds);
  };
  /* Labels of time ticks: seconds in short runs, else a clock, with decimals for steps below a second. */
  const moments = (ticks, long) => {
    const step = ticks[1] - ticks[0], digits = step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
    if (!long) return ticks.map((tick) => `${+tick.toFixed(3)} s`);
    return ticks.map((tick) => clock(Math.floor(tick + 1e-6)) + (digits ? (tick % 1 + 1e-6).toFixed(digits).slice(1) : ""));
  };
  const clock = (seconds) => {
    const whole = Math.round(seconds), two = (value) => String(value).padStart(2, "0");
    const minutes = Math.floor(whole / 60);
    return minutes < 60 ? `${minutes}:${two(whole % 60)}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
  };

  class Chart {
    constructor(root) {
      this.root = root;
      this.data = read(root.querySelector("script").textContent);
      this.state = { key: this.data.keys[0], server: 0, runs: true, aligned: this.data.alike, shown: this.data.servers.map(() => true) };
      this.build();
      this.reserve();
      this.plot = new uPlot(this.options(), this.values(), this.frame);
      this.frame.append(this.tip);
      this.reach();
      this.keyboard();
      this.fingers();
      new ResizeObserver(() => this.resize()).observe(this.frame);
      document.addEventListener("themechange", () => { this.resize(); this.plot.redraw(false); });
      this.describe();
      root.dataset.ready = "true";
    }

    values() { return [this.data.times(this.state.aligned), ...this.data.values(this.state.key, this.state.aligned)]; }
    size() { return { width: this.frame.clientWidth, height: (window.innerWidth < 640 ? 320 : 420) + ROW * (this.rows - 1) }; }
    resize() {
      this.reserve();
      const size = this.size();
      if (size.width !== this.plot.width || size.height !== this.plot.height) this.plot.setSize(size);
    }
    /* Reserves room for all phase names, so that zooming does not move the plot. */
    reserve() {
      const width = this.frame.clientWidth - BESIDE - AXIS, part = width / this.whole()[1];
      const stretches = this.typical().stretches.map(({ name, from, to }) => ({ name, left: from * part, right: to * part }));
      const laid = lspSoakNames.lay(stretches, width, textWidth, ROWS);
      this.rows = lspSoakNames.rows(laid);
      this.unnamed = laid.filter(({ row }) => row < 0).length;
    }
    typical(server = this.state.server) { return this.data.typical(server, this.state.aligned); }
    whole() { return [0, this.data.size(this.state.aligned) * this.data.width]; }

    /* Creates the controls, the legend and the frame of the plot. */
    build() {
      const { root, data, state } = this;
      const radios = data.keys.map((key) => element("label", {},
        element("input", { type: "radio", name: `quantity-${Chart.count = (Chart.count ?? 0) + 1}`, value: key, checked: key === state.key, onchange: () => this.choose(key) }),
        element("span", {}, QUANTITIES[key].name)));
      const name = radios[0].firstChild.name;
      radios.forEach((radio) => { radio.firstChild.name = name; });
      this.controls = element("div", { class: "controls" }, element("fieldset", {}, element("legend", { class: "unseen" }, "What is drawn"), ...radios));
      if (data.servers.length > 1) {
        const select = element("select", { onchange: () => { state.server = select.selectedIndex; this.resize(); this.plot.redraw(false); this.describe(); } },
          ...data.servers.map((server) => element("option", {}, server.label)));
        this.controls.append(element("label", {}, "Phases and requests of ", select));
      }
      const several = data.servers.some((server) => server.runs.length > 1);
      const check = (name, text, change) => this.controls.append(element("label", {}, element("input", { type: "checkbox", name, checked: true, onchange: (event) => change(event.target.checked) }), text));
      if (several) check("runs", "every run", (on) => { state.runs = on; this.show(); });
      if (data.alike) check("aligned", "phases aligned", (on) => { state.aligned = on; this.again(); });
      this.controls.append(element("button", { type: "button", class: "reset", onclick: () => this.zoom(...this.whole()) }, "Whole run"));
      this.legend = element("div", { class: "legend", role: "group", "aria-label": "Servers" }, ...data.servers.map((server, place) =>
        element("button", { type: "button", "aria-pressed": "true", onclick: (event) => this.toggle(place, event.currentTarget), onpointerenter: () => this.light(place), onpointerleave: () => this.light(null), onfocus: () => this.light(place), onblur: () => this.light(null) }, swatch(server), server.label)));
      this.frame = element("div", { class: "plot" });
      this.tip = element("div", { class: "tip", hidden: true });
      this.announcement = element("p", { class: "unseen", "aria-live": "polite" });
      const mark = (sign, text, kind) => element("li", {}, element("i", kind ? { class: kind } : {}, sign), text);
      this.signs = { checkpoint: mark("◆", "checkpoint"), unsettled: mark("◇", several ? "checkpoint, not settled in every run" : "checkpoint, not settled"), highest: mark("▲", "highest point") };
      const marks = [...Object.values(this.signs), mark("┃", "requests")];
      const kinds = new Set(data.servers.flatMap((server) => server.typical.windows.map((window) => window.kind)));
      if (kinds.has("silent")) marks.push(mark("", "idle window", "silent"));
      if (kinds.has("simmer")) marks.push(mark("", "light traffic", "simmer"));
      this.note = element("p", { class: "said" });
      this.several = several;
      root.append(this.controls, this.legend, this.frame, this.announcement, element("ul", { class: "marks" }, ...marks), this.note,
        element("p", { class: "hint" }, "Drag to zoom, double-click for the whole run. With two fingers: spread to zoom; with one: move. With the keyboard: arrows move the cursor, + and − zoom, Home and End go to the ends, Escape shows the whole run."));
    }

    options() {
      const { data } = this;
      const axis = () => color("--quiet"), grid = { stroke: () => color("--rule"), width: 1 };
      const font = FONT;
      /* Wide enough for the widest label; the minimum keeps most quantities alike. */
      const beside = (_, labels) => Math.ceil(Math.max(58, ...(labels ?? []).map((label) => textWidth(label) + 22)));
      const series = data.lines.map((line, index) => ({
        label: data.servers[line.server].label,
        stroke: () => {
          const server = data.servers[line.server], lit = this.lit === line.server, stroke = own(server, lit);
          return line.run ? faint(stroke, server.rest && !lit ? 0.12 : 0.38) : stroke;
        },
        width: line.run ? 1 : data.servers[line.server].rest ? 1.5 : 2.25,
        dash: line.run ? [] : dash(data.servers[line.server].place),
        points: { show: false },
        spanGaps: false,
      }));
      return {
        ...this.size(), padding: [() => TOP + ROW * (this.rows - 1), BESIDE, 0, 0], legend: { show: false }, series: [{}, ...series],
        scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: (_, low, high) => [0, (Math.max(high ?? 0, this.highestMark()) || 1) * 1.08] } },
        axes: [
          { stroke: axis, grid: { show: false }, ticks: grid, font, size: 34, incrs: STEPS, values: (_, ticks) => moments(ticks, this.whole()[1] >= 60), space: 70 },
          { stroke: axis, grid, ticks: grid, font, size: beside, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en")) },
        ],
        cursor: { drag: { x: true, y: false, dist: 5 }, points: { show: false }, y: false, bind: { dblclick: () => () => { this.zoom(...this.whole()); return null; } } },
        hooks: { drawClear: [() => this.ground()], draw: [() => this.marks()], setCursor: [() => this.hover()], setScale: [(_, scale) => { if (scale === "x") this.describe(); }] },
      };
    }

    /* The checkpoint value of the drawn quantity. */
    checkpointValue(phase) { return phase.checkpoint == null ? null : { private: phase.private, resident: phase.resident }[this.state.key]; }

    /* A server's strong line and its highest point, -1 if the line is always 0. */
    highestPoint(server) {
      const line = this.data.values(this.state.key, this.state.aligned)[server.main];
      let best = -1;
      line.forEach((value, point) => { if (value > (line[best] ?? 0)) best = point; });
      return [line, best];
    }

    /* The highest mark; it may exceed every sample. */
    highestMark() {
      const { key, shown } = this.state, mark = { private: "private", resident: "peak" }[key];
      if (!mark) return 0;
      const marks = this.data.servers.flatMap((server, place) => (shown[place] ? server.typical.phases.map((phase) => phase[mark] ?? 0) : []));
      return Math.max(0, ...marks) * QUANTITIES[key].scale;
    }

    /* Draws phases, windows and names behind the lines. */
    ground() {
      const { ctx, bbox } = this.plot, dots = devicePixelRatio;
      const at = (seconds) => this.plot.valToPos(seconds, "x", true);
      const clip = (from, to) => [Math.max(at(from), bbox.left), Math.min(at(to), bbox.left + bbox.width)];
      const { stretches, windows } = this.typical();
      ctx.save();
      stretches.forEach(({ from, to }, place) => {
        const [left, right] = clip(from, to);
        if (right <= left) return;
        if (place % 2 === 0) { ctx.fillStyle = color("--phase"); ctx.fillRect(left, bbox.top, right - left, bbox.height); }
      });
      for (const window of windows) {
        const [left, right] = clip(window.from, window.to);
        if (right <= left) continue;
        ctx.fillStyle = window.kind === "silent" ? color("--silent") : this.hatched();
        ctx.fillRect(left, bbox.top, right - left, bbox.height);
      }
      const shown = stretches.map((one) => [one, ...clip(one.from, one.to)]).filter(([, left, right]) => right > left);
      this.names(shown.map(([{ name }, left, right]) => ({ name, left: (left - bbox.left) / dots, right: (right - bbox.left) / dots })));
      ctx.restore();
    }

    /* Draws the names above the plot, each with a line at its start. */
    names(stretches) {
      const { ctx, bbox } = this.plot, dots = devicePixelRatio;
      const laid = lspSoakNames.lay(stretches, bbox.width / dots, textWidth, this.rows);
      ctx.fillStyle = color("--rule");
      for (const { left, row } of laid) {
        const high = row < 0 ? 0 : (18 + ROW * row) * dots;
        ctx.fillRect(bbox.left + left * dots, bbox.top - high, dots, bbox.height + high);
      }
      ctx.font = FONT.replace("12", String(12 * dots));
      ctx.textBaseline = "bottom";
      ctx.textAlign = "left";
      /* A name at the right end covers the lines of earlier stretches. */
      ctx.lineWidth = 3 * dots;
      ctx.strokeStyle = color("--ground");
      ctx.fillStyle = color("--text");
      for (const { name, from, row } of laid.filter(({ row }) => row >= 0)) {
        const [x, y] = [bbox.left + from * dots, bbox.top - (4 + ROW * row) * dots];
        ctx.strokeText(name, x, y);
        ctx.fillText(name, x, y);
      }
    }

    hatched() {
      const tile = document.createElement("canvas"), side = 8 * devicePixelRatio;
      tile.width = tile.height = side;
      const ctx = tile.getContext("2d");
      ctx.strokeStyle = color("--simmer");
      ctx.lineWidth = 3 * devicePixelRatio;
      for (const shift of [-side, 0, side]) { ctx.beginPath(); ctx.moveTo(shift, side); ctx.lineTo(shift + side, 0); ctx.stroke(); }
      return this.plot.ctx.createPattern(tile, "repeat");
    }

    /* Draws checkpoints, peaks and requests in front of the lines. */
    marks() {
      const { ctx, bbox } = this.plot, dots = devicePixelRatio, { key } = this.state;
      const at = (seconds) => this.plot.valToPos(seconds, "x", true), up = (value) => this.plot.valToPos(value, "y", true);
      const { scale } = QUANTITIES[key];
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top - 14 * dots, bbox.width, bbox.height + 14 * dots);
      ctx.clip();
      ctx.setLineDash([]);
      this.data.servers.forEach((server, place) => {
        /* Marks of many servers would hide each other, so grey servers show theirs only when highlighted. */
        if (!this.state.shown[place] || (server.rest && this.lit !== place)) return;
        const { phases } = this.typical(place);
        ctx.fillStyle = ctx.strokeStyle = own(server, true);
        ctx.lineWidth = 1.5 * dots;
        for (const phase of phases) {
          if (key === "resident" && phase.peak != null) {
            ctx.setLineDash([3 * dots, 3 * dots]);
            ctx.beginPath(); ctx.moveTo(at(phase.from), up(phase.peak * scale)); ctx.lineTo(at(phase.to), up(phase.peak * scale)); ctx.stroke();
            ctx.setLineDash([]);
          }
          const value = this.checkpointValue(phase);
          if (value == null) continue;
          shape(ctx, at(phase.checkpoint), up(value * scale), 5 * dots, [[0, -1], [1, 0], [0, 1], [-1, 0]], phase.settled);
        }
        const [line, best] = this.highestPoint(server);
        if (best >= 0) shape(ctx, at(this.data.times(this.state.aligned)[best]), up(line[best]) - 8 * dots, 5 * dots, [[0, -1], [1, 0.8], [-1, 0.8]], true);
      });
      const most = Math.max(1, ...this.typical().requests.values());
      ctx.fillStyle = faint(own(this.data.servers[this.state.server], true), 0.8);
      for (const [place, count] of this.typical().requests) {
        const high = (4 + (RUG - 4) * Math.sqrt(count / most)) * dots;
        ctx.fillRect(at((place + 0.5) * this.data.width), bbox.top + bbox.height - high, dots, high);
      }
      ctx.restore();
    }

    /* Shows the values at the cursor. */
    hover() {
      const { left, idx } = this.plot.cursor;
      if (idx == null || left < 0) { this.tip.hidden = true; delete this.root.dataset.cursor; return; }
      const place = Math.floor(idx / 2), seconds = (place + 0.5) * this.data.width;
      const phase = this.typical().phases.findLast((one) => one.from <= seconds && seconds <= one.to);
      const count = this.typical().requests.get(place);
      const head = [time(seconds), phase?.name, count ? `${count} request${count > 1 ? "s" : ""}` : null].filter(Boolean).join(" · ");
      const rows = this.data.servers.map((server, index) => {
        if (!this.state.shown[index]) return null;
        const lines = this.data.values(this.state.key, this.state.aligned);
        const value = number(highest(lines[server.main], place));
        let range = "";
        if (server.runs.length > 1) {
          const all = server.runs.map((_, run) => highest(lines[server.first + run], place)).filter((one) => one != null);
          if (all.length) range = ` (runs ${number(Math.min(...all))}–${number(Math.max(...all))})`;
        }
        return { server, label: server.label, text: `${value} ${QUANTITIES[this.state.key].unit}${range}` };
      }).filter(Boolean);
      this.tip.replaceChildren(element("div", {}, element("strong", {}, head)),
        ...rows.map((row) => element("div", {}, swatch(row.server), row.label, element("span", { class: "value" }, row.text))));
      this.tip.hidden = false;
      const over = this.plot.over, width = this.tip.offsetWidth, x = over.offsetLeft + left;
      /* A phone has no room beside the cursor: the values go below the chart. */
      const beneath = this.frame.clientWidth < 2 * width;
      const side = x + 14 + width > this.frame.clientWidth ? x - width - 14 : x + 14;
      this.tip.style.left = `${beneath ? 0 : side}px`;
      this.tip.style.top = `${beneath ? this.frame.clientHeight + 4 : over.offsetTop + 8}px`;
      this.root.dataset.cursor = seconds.toFixed(2);
      this.cursorText = [head, ...rows.map((row) => `${row.label} ${row.text}`)].join(", ");
    }

    keyboard() {
      const { over } = this.plot;
      over.tabIndex = 0;
      over.setAttribute("role", "application");
      over.setAttribute("aria-label", "Timeline: arrow keys move the cursor, plus and minus zoom, Escape shows the whole run");
      over.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const { min, max } = this.plot.scales.x, [first, last] = this.whole(), step = Math.max(this.data.width, (max - min) / 200) * (event.shiftKey ? 10 : 1);
        const now = this.plot.cursor.left >= 0 ? this.plot.posToVal(this.plot.cursor.left, "x") : (min + max) / 2;
        /* Past an edge the chart scrolls. */
        const go = (seconds) => {
          const to = Math.min(last, Math.max(first, seconds)), shift = Math.min(0, to - min) + Math.max(0, to - max);
          if (shift) this.zoom(min + shift, max + shift);
          this.point(to);
        };
        /* The cursor keeps its place on the screen. */
        const zoom = (part) => { const before = (now - min) * part; this.zoom(now - before, now - before + (max - min) * part); this.point(now); };
        const keys = {
          ArrowLeft: () => go(now - step), ArrowRight: () => go(now + step), Home: () => go(first), End: () => go(last),
          "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Escape: () => this.zoom(first, last),
        };
        if (!keys[event.key]) return;
        event.preventDefault();
        keys[event.key]();
      });
      over.addEventListener("blur", () => this.plot.setCursor({ left: -10, top: -10 }));
    }

    point(seconds) {
      this.plot.setCursor({ left: this.plot.valToPos(seconds, "x"), top: this.plot.over.clientHeight / 2 });
      this.announcement.textContent = this.cursorText ?? "";
    }

    /* Two fingers zoom, one moves a zoomed chart; the touched times stay under the fingers. Vertical moves scroll the page. */
    fingers() {
      const { over } = this.plot;
      let touched = [];
      const at = (touch) => touch.clientX - over.getBoundingClientRect().left;
      const hold = (event) => { touched = [...event.targetTouches].slice(0, 2).map((touch) => this.plot.posToVal(at(touch), "x")); };
      for (const name of ["touchstart", "touchend", "touchcancel"]) over.addEventListener(name, hold, { passive: true });
      over.addEventListener("touchmove", (event) => {
        const { min, max } = this.plot.scales.x, wide = over.clientWidth, [one, other] = [...event.targetTouches].map(at);
        const two = touched.length > 1 && other !== undefined && (touched[1] - touched[0]) * (other - one) > 0;
        const span = two ? (touched[1] - touched[0]) / (other - one) * wide : max - min;
        const low = touched[0] - one / wide * span;
        if (two || span < this.whole()[1]) this.zoom(low, low + span); else this.point(this.plot.posToVal(one, "x"));
      }, { passive: true });
    }

    /* Shows this range, limited to the run. */
    zoom(min, max) {
      const [first, last] = this.whole(), span = Math.min(last - first, Math.max(max - min, 2 * this.data.width));
      const low = Math.min(last - span, Math.max(first, min));
      /* In a batch, which applies at once: callers read positions right after. */
      this.plot.batch(() => this.plot.setScale("x", { min: low, max: low + span }));
    }

    /* New times make the old zoom meaningless, so show the whole run. */
    again() {
      this.resize();
      this.plot.batch(() => { this.plot.setData(this.values(), false); this.reach(); });
      this.describe();
    }

    choose(key) {
      this.state.key = key;
      const { min, max } = this.plot.scales.x;
      this.plot.batch(() => { this.plot.setData(this.values(), false); this.plot.setScale("x", { min, max }); });
      this.describe();
    }

    /* Highlights a server in its full colour. */
    light(place) {
      this.lit = place;
      if (this.data.servers.some((server) => server.rest)) this.plot.redraw(false);
    }

    /* Scales x to the whole grid, even if all lines end earlier. */
    reach() { const [min, max] = this.whole(); this.plot.setScale("x", { min, max }); }

    toggle(place, button) {
      this.state.shown[place] = !this.state.shown[place];
      button.setAttribute("aria-pressed", String(this.state.shown[place]));
      this.show();
    }

    show() {
      this.plot.batch(() => this.data.lines.forEach((line, index) => {
        const show = this.state.shown[line.server] && (!line.run || this.state.runs);
        if (this.plot.series[index + 1].show !== show) this.plot.setSeries(index + 1, { show });
      }));
      this.describe();
    }

    /* Writes the note below the chart, and the state as attributes for tests. */
    describe() {
      if (!this.plot) return;
      const { min, max } = this.plot.scales.x, quantity = QUANTITIES[this.state.key];
      Object.assign(this.root.dataset, { lines: this.plot.series.slice(1).filter((one) => one.show).length, from: (min ?? 0).toFixed(2), to: (max ?? 0).toFixed(2), quantity: this.state.key });
      const phases = this.data.servers.flatMap((server) => server.typical.phases).filter((phase) => this.checkpointValue(phase) != null);
      const drawn = { checkpoint: phases.some((phase) => phase.settled), unsettled: phases.some((phase) => !phase.settled), highest: this.data.servers.some((server) => this.highestPoint(server)[1] >= 0) };
      for (const [sign, item] of Object.entries(this.signs)) item.hidden = !drawn[sign];
      const kind = this.state.key === "private" ? sampled(this.data.exact, phases.length > 0) : quantity.note;
      const note = [`${quantity.name}, ${quantity.unit}${kind ? `, ${kind}` : ""}.`];
      if (this.several) note.push("The strong line is the median of the runs at each moment, the faint ones are the runs.");
      if (this.data.servers.some((server) => server.rest)) note.push("The default, what is chosen and the front, seven at most, are drawn strongly and the others near grey: pointing at a name gives its lines their colour and their marks.");
      if (this.state.aligned) note.push("Each phase is as long as it was at the median of all runs, so that the same work stands under itself; without that, time is the time of each run.");
      const signs = [phases.length ? "◆ is at the median of the runs' checkpoints" : "", drawn.highest ? "▲ at the highest point of the strong line" : ""].filter(Boolean);
      if (this.several && signs.length) note.push(`${signs.join(", ").replace(/^▲ at/, "▲ is at")}.`);
      note.push(`Windows and requests as they were in ${this.typical().run}${this.several ? ", the run of median length" : ""}.`);
      if (this.unnamed) note.push(`No room for the ${this.unnamed > 1 ? `names of ${this.unnamed} phases` : "name of a phase"}; the cursor tells ${this.unnamed > 1 ? "them" : "it"}.`);
      this.note.textContent = note.join(" ");
    }
  }

  /* The accuracy of the private line: Linux's cheap counters include shared and lazily freed memory. */
  const sampled = (exact, marked) => (exact ? `sampled, an upper bound${marked ? "; ◆ exact" : ""}` : "sampled");
  const ruler = document.createElement("canvas").getContext("2d");
  const textWidth = (text) => {
    ruler.font = FONT;
    return ruler.measureText(text).width;
  };
  const shape = (ctx, x, y, size, corners, filled) => {
    ctx.beginPath();
    corners.forEach(([right, down], corner) => ctx[corner ? "lineTo" : "moveTo"](x + right * size, y + down * size));
    ctx.closePath();
    if (filled) ctx.fill(); else { ctx.save(); ctx.fillStyle = color("--ground"); ctx.fill(); ctx.restore(); }
    ctx.stroke();
  };
  return { Chart, element };
})();
