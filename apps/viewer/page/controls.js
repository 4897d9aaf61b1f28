  // Keys, buttons and sliders: each does what press() does for its key.
  let playing = 0;
  function set_play(on) {
    view.play = Boolean(on && shown.field && shown.field.times.length > 1);
    clearInterval(playing);
    if (view.play) playing = setInterval(() => (show_moment(moment + 1), refresh()), 80);
  }

  // What is on the screen as a file.
  function save_picture() {
    render();
    renderer.domElement.toBlob((file) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(file);
      link.download = `${shown.title.replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase() || "picture"}.png`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      viewer.saved = file.size;
    });
  }

  const section_order = known_words.section;
  const more = (factor) => {
    if (shown.sponge) build_sponge(order + (factor > 1 ? 1 : -1));
    else set_size(Math.max(1, Math.min(40, point_size.value * factor)));
  };
  const actions = {
    r: reset,
    w: () => set_wireframe(!view.wireframe),
    p: () => set_projection(view.projection === "perspective" ? "orthographic" : "perspective"),
    c: () => set_section(section_order[(section_order.indexOf(view.section) + 1) % section_order.length], view.offset),
    "[": () => set_section(view.section, view.offset - 0.05),
    "]": () => set_section(view.section, view.offset + 0.05),
    "+": () => more(1.25),
    "=": () => more(1.25),
    "-": () => more(0.8),
    o: () => (view.orbit = controls.autoRotate = !controls.autoRotate),
    " ": () => set_play(!view.play),
    ",": () => show_moment(moment - 1),
    ".": () => show_moment(moment + 1),
    s: save_picture,
    h: () => element("help").toggleAttribute("hidden"),
    "?": () => element("help").toggleAttribute("hidden"),
    ArrowLeft: () => turn(-5, 0),
    ArrowRight: () => turn(5, 0),
    ArrowUp: () => turn(0, 5),
    ArrowDown: () => turn(0, -5),
    PageUp: () => zoom_by(1.15),
    PageDown: () => zoom_by(1 / 1.15),
  };
  const shifted = {
    ArrowLeft: () => pan_by(0.05, 0),
    ArrowRight: () => pan_by(-0.05, 0),
    ArrowUp: () => pan_by(0, -0.05),
    ArrowDown: () => pan_by(0, 0.05),
  };

  // Shows on buttons and sliders how things are, and draws.
  function refresh() {
    const pressed = {
      w: view.wireframe,
      p: view.projection === "orthographic",
      c: view.section !== "none",
      o: controls.autoRotate,
      " ": view.play,
    };
    for (const button of document.querySelectorAll("#controls button"))
      if (button.dataset.key in pressed) button.setAttribute("aria-pressed", pressed[button.dataset.key]);
    element("section_name").textContent = view.section === "none" ? "" : view.section;
    element("offset_row").hidden = view.section === "none";
    element("offset").value = view.offset;
    if (shown.field) {
      element("moment").value = moment;
      element("moment_text").textContent = shown.field.times[moment];
    }
    draw();
  }

  function press(key, shift = false) {
    const action = (shift && shifted[key]) || actions[key.length === 1 ? key.toLowerCase() : key];
    if (!action) return false;
    action();
    refresh();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
    // A button that has the focus is pressed by the space bar.
    if (event.key === " " && event.target.tagName === "BUTTON") return;
    if (press(event.key, event.shiftKey)) event.preventDefault();
  });
  for (const button of document.querySelectorAll("#controls button[data-key]"))
    button.addEventListener("click", () => press(button.dataset.key));
  element("offset").addEventListener("input", (event) => {
    set_section(view.section, Number(event.target.value));
    refresh();
  });
  element("moment").addEventListener("input", (event) => {
    show_moment(Number(event.target.value));
    refresh();
  });

  const has = { field: shown.field?.times.length > 1, sponge: Boolean(shown.sponge), points: Boolean(shown.points) };
  for (const part of document.querySelectorAll("[data-for]"))
    part.hidden = !part.dataset.for.split(" ").some((kind) => has[kind]);
  if (has.field) element("moment").max = shown.field.times.length - 1;

  // Which colour is what.
  function add_legend(text, mark) {
    const line = document.createElement("span");
    line.append(mark, text);
    element("legend").append(line);
  }
  if (shown.groups && shown.groups.length > 1 && shown.groups.length <= 12)
    for (const group of shown.groups) {
      const dot = document.createElement("i");
      dot.className = `swatch${group.number >= 8 ? " square" : ""}`;
      dot.style.background = `var(--c${group.number % 8})`;
      add_legend(group.name, dot);
    }
  if (shown.values) {
    const bar = document.createElement("i");
    bar.className = "scale";
    bar.style.background = `linear-gradient(to right, ${shown.scale.join(", ")})`;
    add_legend(`${shown.values.low} to ${shown.values.high}`, bar);
    element("legend").prepend(`${shown.values.word}: `);
  }
