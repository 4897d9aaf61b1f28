  // Where it is looked at from.
  const renderer = new THREE.WebGLRenderer({ antialias: true, alpha: false });
  renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
  renderer.setClearColor(style_colour("--paper"));
  element("stage").append(renderer.domElement);

  const wide = 30;  // degrees that the perspective camera sees, upwards
  const perspective = new THREE.PerspectiveCamera(wide, 1, 0.01 * reach, 100 * reach);
  const parallel = new THREE.OrthographicCamera(-1, 1, 1, -1, -100 * reach, 100 * reach);
  for (const one of [perspective, parallel]) one.up.set(0, 0, 1);
  const first_view = { order: shown.sponge?.order, moment, ...shown.view };
  const known_words = {
    projection: ["perspective", "orthographic"],
    section: ["none", "x", "y", "z", "diagonal"],
  };
  // The same settings may follow the page's name: #azimuth=20&section=diagonal. What cannot be read is left out.
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    const kind = typeof first_view[name];
    if (kind === "number" && text && Number.isFinite(Number(text))) first_view[name] = Number(text);
    if (kind === "boolean" && ["0", "1"].includes(text)) first_view[name] = text === "1";
    if (kind === "string" && known_words[name]?.includes(text)) first_view[name] = text;
  }
  const view = { ...first_view };
  let camera = perspective;
  const controls = new OrbitControls(perspective, renderer.domElement);
  controls.autoRotateSpeed = 3;

  // The share of the page's height that the box may take; at the sides of a narrow page there must be room for texts.
  function room() {
    const aspect = perspective.aspect || 1;
    return aspect < 1 && axis_texts.length ? 0.84 * aspect : Math.min(1, aspect);
  }

  // So far away that the box fits, whatever the page's shape.
  function fitting_distance() {
    const narrow = room();
    return (1.08 * reach) / Math.sin(Math.atan(Math.tan((wide * Math.PI) / 360) * narrow));
  }

  let waiting = false;
  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      if (controls.autoRotate) controls.update();
      render();
      if (controls.autoRotate) draw();
    });
  }

  function render() {
    near_size.value = camera === perspective ? fitting_distance() : 0;
    place_texts(camera, element("stage").clientHeight || 1);
    renderer.render(stage, camera);
  }

  function fit_to_window() {
    const width = element("stage").clientWidth || 1, height = element("stage").clientHeight || 1;
    renderer.setPixelRatio(window.devicePixelRatio || 1);
    pixels_a_point.value = renderer.getPixelRatio();
    renderer.setSize(width, height);
    perspective.aspect = width / height;
    const up = (1.08 * reach) / room();
    Object.assign(parallel, { top: up, bottom: -up, left: -up * perspective.aspect, right: up * perspective.aspect });
    perspective.updateProjectionMatrix();
    parallel.updateProjectionMatrix();
    draw();
  }

  function set_projection(name) {
    const next = name === "orthographic" ? parallel : perspective;
    view.projection = name;
    if (next === camera) return;
    const away = camera.position.clone().sub(controls.target);
    // What lies in the middle keeps its size.
    const zoom = camera === parallel ? parallel.zoom : fitting_distance() / away.length();
    next.position.copy(controls.target).add(away.setLength(next === perspective ? fitting_distance() / zoom : fitting_distance()));
    next.zoom = next === parallel ? zoom : 1;
    next.updateProjectionMatrix();
    camera = controls.object = next;
    controls.update();
  }

  function look_from(azimuth, elevation, zoom) {
    const a = (azimuth * Math.PI) / 180, e = (Math.max(-89.9, Math.min(89.9, elevation)) * Math.PI) / 180;
    const distance = camera === perspective ? fitting_distance() / zoom : fitting_distance();
    camera.position
      .set(Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e))
      .multiplyScalar(distance)
      .add(controls.target);
    if (camera === parallel) camera.zoom = zoom;
    camera.updateProjectionMatrix();
    controls.update();
  }

  // The angles and the zoom as they are.
  function present_view() {
    const away = camera.position.clone().sub(controls.target);
    const degrees = 180 / Math.PI;
    return {
      azimuth: Math.atan2(away.y, away.x) * degrees,
      elevation: Math.asin(away.z / away.length()) * degrees,
      zoom: camera === parallel ? parallel.zoom : fitting_distance() / away.length(),
    };
  }

  function turn(across, up) {
    const now = present_view();
    look_from(now.azimuth + across, now.elevation + up, now.zoom);
  }

  function zoom_by(factor) {
    const now = present_view();
    look_from(now.azimuth, now.elevation, now.zoom * factor);
  }

  function pan_by(across, up) {
    camera.updateMatrixWorld();
    const move = new THREE.Vector3(across, up, 0).multiplyScalar(reach).applyQuaternion(camera.quaternion);
    controls.target.add(move);
    camera.position.add(move);
    controls.update();
  }

  function set_wireframe(on) {
    view.wireframe = on;
    for (const apply of on_wireframe) apply(on);
  }

  const section_normals = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1], diagonal: [1, 1, 1] };
  function set_section(name, offset) {
    view.section = name;
    view.offset = Math.max(-1, Math.min(1, offset));
    const normal = section_normals[name];
    if (normal) {
      const end = normal.reduce((sum, part, i) => sum + part * half[i], 0);
      cut.value.set(...normal, view.offset * end);
    } else {
      cut.value.set(0, 0, 0, 1);
    }
    for (const apply of on_section) apply(Boolean(normal));
  }

  function set_size(size) {
    view.size = size;
    point_size.value = size || automatic_point_size(shown.points?.count ?? 0);
  }

  function reset() {
    Object.assign(view, first_view);
    controls.target.set(0, 0, 0);
    set_projection(view.projection);
    look_from(view.azimuth, view.elevation, view.zoom);
    pan_by(-view.pan[0], -view.pan[1]);
    set_wireframe(view.wireframe);
    set_section(view.section, view.offset);
    set_size(view.size);
    build_sponge(view.order);
    show_moment(view.moment);
    controls.autoRotate = view.orbit;
    set_play(view.play);
  }
