// The program of the page. The files of this folder stand one behind the other inside this function.
(async () => {
  "use strict";
  const element = (id) => document.getElementById(id);
  const shown = JSON.parse(element("scene").textContent);
  // What tests and scripts may call; filled in at the end.
  const viewer = (window.shoal_viewer = { ready: false });

  function show_still(reason) {
    if (reason) element("why").textContent = reason;
    document.body.classList.add("without");
    viewer.ready = true;
    viewer.still = true;
  }
  viewer.show_still = show_still;

  const probe = document.createElement("canvas").getContext("webgl2");
  if (!probe) {
    show_still();
    return;
  }
  probe.getExtension("WEBGL_lose_context")?.loseContext();

  const module = URL.createObjectURL(new Blob([element("three").textContent], { type: "text/javascript" }));
  const { THREE, OrbitControls } = await import(module);
  URL.revokeObjectURL(module);
  // Colours are what style sheets say: nothing is converted on the way to the screen.
  THREE.ColorManagement.enabled = false;

  function bytes_of(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; ++i) bytes[i] = letters.charCodeAt(i);
    return bytes;
  }
  const numbers_of = (Kind, text) => new Kind(bytes_of(text).buffer);

  const styles = getComputedStyle(document.documentElement);
  const style_colour = (name) => new THREE.Color(styles.getPropertyValue(name).trim());
  const group_colours = Array.from({ length: 8 }, (_, i) => style_colour(`--c${i}`));

  // The place that shows the scene; everything in it keeps to the plane of the section: dot(cut.xyz, place) <= cut.w.
  const stage = new THREE.Scene();
  const half = shown.axes.map((axis) => axis.half);
  if (shown.sponge) half.fill(1);
  const reach = Math.hypot(...half);
  const cut = { value: new THREE.Vector4(0, 0, 0, 1) };
  const half_box = { value: new THREE.Vector3(...half) };
  const pixels_a_point = { value: 1 };

  const shader_begin = `
    precision highp float;
    precision highp int;
    uniform mat4 modelViewMatrix;
    uniform mat4 projectionMatrix;
    uniform mat3 normalMatrix;
    uniform vec4 cut;
    uniform vec3 half_box;
  `;

  // A material of our own. Vertex programs set place, which the section needs.
  function make_material(vertex, fragment, uniforms, options) {
    return new THREE.RawShaderMaterial({
      glslVersion: THREE.GLSL3,
      uniforms: { cut, half_box, ...uniforms },
      vertexShader: `${shader_begin} out vec3 place; ${vertex}`,
      fragmentShader: `${shader_begin} in vec3 place; out vec4 pixel; ${fragment}`,
      ...options,
    });
  }
  const keep_to_section = "if (dot(cut.xyz, place) > cut.w) discard;";

  // Our places are made by the graphics card: the library shall not look for them in the numbers.
  function add_part(part) {
    part.frustumCulled = false;
    part.geometry.boundingSphere = new THREE.Sphere(new THREE.Vector3(), reach);
    stage.add(part);
  }

  // What each part of the scene does when wireframe is switched, and when the section is.
  const on_wireframe = [];
  const on_section = [];
