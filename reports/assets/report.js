// The dynamic parts of the page: charts drawn when they are first visible, links that open their target, copying, printing.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const chartData = new Map(JSON.parse(document.getElementById("chart-data").textContent).map((run) => [run.run, run]));
  const drawn = new Map(); // element of a run's charts -> its uPlot instances
  const AXIS_WIDTH = 58;
  const STRIP_ROW = 22;
  const PRINT_WIDTH = 700;

  const seconds = (value, digits = 2) => (value == null ? "" : value.toFixed(digits) + " s");
  const rate = (u, value) => (value == null ? "" : String(+value.toFixed(2)));
  const length = (value) => {
    if (value == null) return "";
    return value < 1 ? Math.round(value * 1000) + " ms" : +value.toFixed(value < 10 ? 2 : 1) + " s";
  };

  const stripHeight = (run) => (run.faults.length + 1) * STRIP_ROW + 8;

  function palette() {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue("--" + name).trim();
  }

  // Faults and phases, behind every chart

  function shadeFaults(run, colour) {
    return (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      for (const fault of run.faults) {
        if (fault.begun == null || fault.bit == null) continue;
        const end = run.edges[run.edges.length - 1];
        const x = (at) => u.valToPos(at, "x", true);
        const lifted = fault.ended ?? fault.healed ?? end;
        ctx.fillStyle = colour("band");
        ctx.fillRect(x(fault.begun), bbox.top, Math.max(x(lifted) - x(fault.begun), 2), bbox.height);
        ctx.fillStyle = colour("band-soft");
        ctx.fillRect(x(lifted), bbox.top, x(fault.healed ?? end) - x(lifted), bbox.height);
        dashed(u, fault.bit, colour("red"));
      }
      for (const phase of run.phases) if (phase.at > 0) dashed(u, phase.at, colour("grey"));
      ctx.restore();
    };
  }

  function dashed(u, at, stroke) {
    const { ctx, bbox } = u;
    const x = Math.round(u.valToPos(at, "x", true)) + 0.5;
    ctx.strokeStyle = stroke;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  function drawStrip(run, colour) {
    return (u) => {
      const { ctx, bbox } = u;
      const x = (at) => u.valToPos(at, "x", true);
      const row = (index) => bbox.top + (index + 0.5) * (bbox.height / (run.faults.length + 1));
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
      ctx.clip();
      ctx.font = 12 * devicePixelRatio + "px system-ui, sans-serif";
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      ctx.fillStyle = colour("muted");
      let free = bbox.left; // a name that would overlap the previous name or the border is not drawn; its dashed line is
      for (const phase of run.phases) {
        const left = x(phase.at) + 5 * devicePixelRatio;
        const right = left + ctx.measureText(phase.name).width;
        if (left < free || right > bbox.left + bbox.width) continue;
        ctx.fillText(phase.name, left, row(0));
        free = right + 5 * devicePixelRatio;
      }
      run.faults.forEach((fault, index) => drawFaultBar(u, run, fault, row(index + 1), colour));
      ctx.restore();
    };
  }

  function drawFaultBar(u, run, fault, y, colour) {
    if (fault.begun == null) return;
    const { ctx, bbox } = u;
    const end = run.edges[run.edges.length - 1];
    const from = u.valToPos(fault.begun, "x", true);
    const lifted = u.valToPos(fault.ended ?? fault.healed ?? end, "x", true);
    const to = u.valToPos(fault.healed ?? end, "x", true);
    const half = 5 * devicePixelRatio;
    if (fault.bit == null) {
      ctx.strokeStyle = colour("grey");
      ctx.lineWidth = devicePixelRatio;
      ctx.strokeRect(from, y - half, lifted - from, 2 * half);
    } else {
      ctx.fillStyle = colour("red");
      ctx.fillRect(from, y - half, Math.max(lifted - from, 2 * devicePixelRatio), 2 * half);
      ctx.globalAlpha = 0.4;
      ctx.fillRect(lifted, y - half, to - lifted, 2 * half);
      ctx.globalAlpha = 1;
    }
    const gap = 6 * devicePixelRatio;
    const drawnTo = fault.bit == null ? lifted : to;
    const roomLeft = from - bbox.left;
    const roomRight = bbox.left + bbox.width - drawnTo;
    let text = fault.letter + " " + fault.label + (fault.bit == null ? " (not seen to take effect)" : "");
    if (ctx.measureText(text).width + gap > Math.max(roomLeft, roomRight)) text = fault.letter;
    const width = ctx.measureText(text).width;
    const left = width + gap <= roomRight ? drawnTo + gap : from - gap - width;
    ctx.fillStyle = colour("page");
    ctx.fillRect(left - 2, y - half - 2, width + 4, 2 * half + 4);
    ctx.fillStyle = colour("text");
    ctx.fillText(text, left, y);
  }

  function markNever(run, colour) {
    return (u) => {
      const { ctx, bbox } = u;
      const arm = 4 * devicePixelRatio;
      ctx.save();
      ctx.strokeStyle = colour("red");
      ctx.lineWidth = 1.5 * devicePixelRatio;
      for (const at of run.latency.never) {
        const x = u.valToPos(at, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        const y = bbox.top + 2 * arm;
        ctx.beginPath();
        ctx.moveTo(x - arm, y - arm);
        ctx.lineTo(x + arm, y + arm);
        ctx.moveTo(x + arm, y - arm);
        ctx.lineTo(x - arm, y + arm);
        ctx.stroke();
      }
      ctx.restore();
    };
  }

  // The options of each chart for uPlot

  function axes(colour, y) {
    const look = { stroke: colour("muted"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    return [
      { ...look, size: 26, values: (u, splits) => splits.map((value) => +value.toFixed(3) + " s") },
      { ...look, size: AXIS_WIDTH, ...y },
    ];
  }

  function options(run, colour, width, height, { series, y = {}, axis = {}, draw }) {
    return {
      width,
      height,
      padding: [8, 12, 0, 0],
      scales: { x: { time: false }, y },
      axes: axes(colour, axis),
      series: [{ label: "at", value: (u, value) => seconds(value) }, ...series],
      cursor: { sync: { key: run.run, scales: ["x", null] }, y: false, points: { show: false } },
      hooks: { drawClear: [shadeFaults(run, colour)], draw: draw ? [draw] : [] },
    };
  }

  const fromZero = { range: { min: { pad: 0, hard: 0, mode: 1 }, max: { pad: 0.1, soft: 1, mode: 1 } } };
  const stepped = () => uPlot.paths.stepped({ align: 1 });
  const line = (label, stroke, more = {}) => ({ label, stroke, width: 1.5, points: { show: false }, value: rate, ...more });

  const plots = {
    strip(run, colour, width) {
      const made = options(run, colour, width, stripHeight(run), {
        series: [{ show: true, stroke: "transparent" }],
        y: { range: () => [0, 1] },
        axis: { values: () => [], grid: { show: false } },
        draw: drawStrip(run, colour),
      });
      made.axes[0] = { show: false };
      made.legend = { show: false };
      return [made, [run.edges, run.edges.map(() => null)]];
    },
    submissions(run, colour, width) {
      const { sent, acknowledged, not_acknowledged: not } = run.rates;
      const series = [
        line("sent", colour("grey"), { paths: stepped(), dash: [3, 3] }),
        line("acknowledged", colour("blue"), { paths: stepped() }),
        line("failed or unanswered", colour("red"), { paths: stepped() }),
      ];
      const data = [run.edges, [...sent, null], [...acknowledged, null], [...not, null]];
      return withoutEmpty([options(run, colour, width, 150, { series, y: fromZero }), data], 2);
    },
    effects(run, colour, width) {
      const { effects, refused, completed, failed } = run.rates;
      const series = [
        line("attempts completed", colour("grey"), { paths: stepped(), dash: [3, 3] }),
        line("effects accepted", colour("teal"), { paths: stepped() }),
        line("effects refused", colour("amber"), { paths: stepped() }),
        line("attempts failed", colour("red"), { paths: stepped() }),
      ];
      const data = [run.edges, [...completed, null], [...effects, null], [...refused, null], [...failed, null]];
      return withoutEmpty([options(run, colour, width, 170, { series, y: fromZero }), data], 2);
    },
    latency(run, colour, width) {
      const { latency, edges } = run;
      const floor = latency.range[0];
      const raise = (value) => (value == null ? null : Math.max(value, floor));
      const shared = {
        y: { distr: 3, range: () => latency.range },
        axis: { values: (u, splits) => splits.map((value) => (Number.isInteger(+Math.log10(value).toFixed(6)) ? length(value) : null)) },
        draw: markNever(run, colour),
      };
      if (latency.at.length) {
        const value = (u, shown, series, index) =>
          index == null || latency.task[index - 1] == null ? "" : length(latency.took[index - 1]) + ", " + latency.task[index - 1];
        const dots = { label: "task", stroke: colour("blue"), paths: () => null, points: { show: true, size: 4, width: 0, fill: colour("blue") }, value };
        // A point without a value at either end gives this chart the same span of time as the others.
        const data = [[0, ...latency.at, edges[edges.length - 1]], [null, ...latency.took.map(raise), null]];
        return [options(run, colour, width, 200, { series: [dots], ...shared }), data];
      }
      const text = (u, value) => length(value);
      const series = [
        line("median", colour("blue"), { value: text, paths: stepped() }),
        line("95 %", colour("teal"), { value: text, paths: stepped() }),
        line("worst", colour("amber"), { value: text, paths: stepped() }),
      ];
      const data = [edges, ...[latency.median, latency.p95, latency.worst].map((values) => [...values.map(raise), null])];
      return [options(run, colour, width, 200, { series, ...shared }), data];
    },
    open(run, colour, width) {
      const series = [line("open", colour("blue"), { fill: colour("area"), paths: stepped() })];
      return [options(run, colour, width, 150, { series, y: fromZero }), [run.edges, run.open]];
    },
  };

  // Lines that are zero everywhere (nothing refused, nothing failed) are left out: they would only cover the axis.
  function withoutEmpty([made, data], always) {
    const keep = data.map((values, index) => index <= always || values.some((value) => value > 0));
    made.series = made.series.filter((_, index) => keep[index]);
    return [made, data.filter((_, index) => keep[index])];
  }

  function draw(charts, width) {
    const run = chartData.get(charts.dataset.run);
    for (const chart of drawn.get(charts) ?? []) chart.destroy();
    const colour = palette();
    drawn.set(
      charts,
      all("[data-plot]", charts).map((place) => {
        const caption = place.parentElement.querySelector("figcaption")?.textContent ?? "Faults and phases";
        place.setAttribute("role", "img");
        place.setAttribute("aria-label", caption.replace(/\s+/g, " ").trim() + "; the figures are in the table below the charts");
        const [made, data] = plots[place.dataset.plot](run, colour, width ?? place.clientWidth);
        return new uPlot(made, data, place);
      }),
    );
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting && !drawn.has(entry.target)) draw(entry.target);
  }, { rootMargin: "400px" });
  const sized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const width = target.clientWidth;
      for (const chart of drawn.get(target) ?? []) if (width && chart.width !== width) chart.setSize({ width, height: chart.height });
    }
  });
  for (const charts of all(".charts")) {
    // The style sheet reserves the space of the other charts, so that the page does not move when they are drawn.
    charts.querySelector("[data-plot=strip]").style.minHeight = stripHeight(chartData.get(charts.dataset.run)) + "px";
    seen.observe(charts);
    sized.observe(charts);
  }
  const redraw = () => [...drawn.keys()].forEach((charts) => draw(charts));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // The same figures as a table, built when it is opened

  const columns = [
    ["sent", "sent /s"], ["acknowledged", "acknowledged /s"], ["not_acknowledged", "failed or unanswered /s"], ["completed", "attempts completed /s"],
    ["effects", "effects accepted /s"], ["refused", "effects refused /s"], ["failed", "attempts failed /s"],
  ];

  function fillTable(details) {
    const run = chartData.get(details.closest(".charts").dataset.run);
    const place = details.querySelector(".scroll");
    if (!details.open || place.firstChild) return;
    const table = document.createElement("table");
    const heads = table.createTHead().insertRow();
    for (const text of ["from", ...columns.map((column) => column[1]), "open tasks"]) {
      const head = document.createElement("th");
      head.scope = "col";
      head.textContent = text;
      heads.append(head);
    }
    const body = table.createTBody();
    run.edges.slice(0, -1).forEach((edge, index) => {
      const row = body.insertRow();
      row.insertCell().textContent = seconds(edge, 1);
      for (const [name] of columns) row.insertCell().textContent = run.rates[name][index];
      row.insertCell().textContent = run.open[index];
    });
    place.append(table);
  }
  for (const details of all("details.numbers")) details.addEventListener("toggle", () => fillTable(details));

  // Links open the boxes around their target

  function reveal(hash) {
    const target = document.getElementById(decodeURIComponent(hash.slice(1)));
    if (!target) return;
    for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  }
  addEventListener("hashchange", () => reveal(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) reveal(link.hash);
  });
  if (location.hash) reveal(location.hash);

  // Copying

  async function copy(command) {
    try {
      await navigator.clipboard.writeText(command.textContent);
      return true;
    } catch {
      // No clipboard for this page (an old browser, a page from plain http): select the text and ask for a copy the old way.
      getSelection().selectAllChildren(command);
      return document.execCommand("copy");
    }
  }
  for (const button of all(".copy")) {
    button.addEventListener("click", async () => {
      const copied = await copy(button.parentElement.querySelector(".command"));
      button.textContent = copied ? "Copied" : "Press Ctrl+C";
      document.getElementById("announcement").textContent = copied ? "The command is copied." : "The command is selected.";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // On paper: light colours, charts as wide as the page, and the first journeys open; boxes that were opened before printing stay open

  let opened = [];
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    opened = all(".run-body > details.journey:not([open])").filter((box) => !box.closest("details.run:not([open])"));
    for (const box of opened) box.open = true;
    for (const charts of all(".charts")) if (!charts.closest("details.run:not([open])")) draw(charts, PRINT_WIDTH);
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    for (const box of opened) box.open = false;
    redraw();
  });
})();
